/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link of this node as PID 1 has it: a process beside it, the helper, and a socket. PID 1
 * never waits for the helper but at its own end. A signal (SIGIO) wakes it when there is something
 * to hear; it polls for nothing.
 *
 * One for a process. Before ri_link_begin, and where that failed, the functions below have no
 * effect.
 */
#ifndef RI_SHIM_LINK_LINK_H
#define RI_SHIM_LINK_LINK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "link/job.h"
#include "link/wire.h"

/* Its name, as the kernel has it. */
#define RI_LINK_HELPER "rankinit-link"

/* What the helper leaves for the report, in a page that it shares with PID 1: no wake-up. */
struct ri_link_sight {
	bool compared;		/* this node's clock with that of node 0: */
	int64_t ahead_us, error_us;	/* it goes so far before that, give or take */
	char roll_call[RI_LINK_TEXT];	/* what was said last of the nodes, or "" */
	char unproved[RI_LINK_TEXT];	/* the same, where there is no key */
	uint64_t lines;		/* by PID 1: that its first rank has printed */
};

/* What the helper begins with: it alone touches the network and the key. */
struct ri_link_setup {
	const struct ri_link_job *job;
	struct ri_wire_keys keys;
	bool orders;		/* ranks may be stopped: there is a secret, and it is not tell */
	uint16_t meeting;	/* the port of node 0 at which the ranks meet; 0: not known */
	int64_t wait_ms;	/* --restarts: for a node that does not come */
	int64_t end_ms;		/* more for one whose ranks end: --link-grace */
	/* The rest ri_link_begin fills in. */
	struct ri_link_sight *sight;	/* NULL: there is no memory for it */
	int inner;		/* a SOCK_SEQPACKET socket; its packets are messages */
	int place;		/* open until there is a verdict (link.c); -1: there is none */
	/*
	 * A socket pair. The helper sends a member's connection with node 0 into the second, and
	 * PID 1 has the first open, and reads nothing of it: so the kernel ends the connection with
	 * PID 1, as with its container, but not with a helper that is killed alone.
	 */
	int kept[2];
};

/*
 * Be the helper until PID 1 has closed its end of inner, and what it said last was heard, or it is
 * too late for that. The context is a struct ri_link_setup.
 */
void ri_link_help(void *context);

/*
 * Start the helper, which gets a copy of all that setup points to.
 * Returns 0, or -1 and errno where there can be none; EADDRINUSE: another rankinit of this network
 * is this node of the job.
 */
int ri_link_begin(struct ri_link_setup *setup);

/* What the helper has left for the report, once it is gone; NULL: nothing. */
const struct ri_link_sight *ri_link_sight(void);

bool ri_link_is_on(void);

/* Is this the signal by which the helper wakes us? A SIGIO of another process is not. */
bool ri_link_is_ours(const siginfo_t *info);

/* How far the ranks are. */
void ri_link_reach(enum ri_link_phase phase);

/* How this node ended, or what stops it. */
void ri_link_end(const struct ri_link_end *end);

/* Take what the helper has said. Returns true where the verdict was among it, or a late order. */
bool ri_link_hear(void);

/* Has the centre asked since the last call whether something of this node is unheard? */
bool ri_link_was_asked(void);

/* Does it wait for the answer that there is nothing? That goes out with ri_link_answer(). */
bool ri_link_owes_answer(void);
void ri_link_answer(void);

/* All nodes shall look at what their ranks do; soon: a stop waits for it. */
void ri_link_look(bool soon);

/* Has the centre said so since the last call? Then ri_link_groups() is the answer. */
bool ri_link_is_to_look(bool *soon);

/*
 * What the ranks of this node do, as hang/together.h has it; "": it cannot be said. It may come
 * before the centre asks, and is good for a moment.
 */
void ri_link_groups(const char *text);

/* Print what a look of all nodes has found since the last call. */
void ri_link_print_found(void);

/*
 * What the last of these has found, or the last that named a rank, and when it was heard; NULL:
 * nothing. It lasts.
 */
const struct ri_link_found *ri_link_found(struct timespec *at);

/* The verdict on the job, or NULL as long as there is none. It lasts. */
const struct ri_link_decision *ri_link_decision(void);

/* Where the lines are counted that the first rank prints, for the helper; or NULL. */
uint64_t *ri_link_lines(void);

/*
 * This node can take a step that all take together (link/centre.h); or why it cannot, in a line,
 * which also tells them of the stops that wait in the queue by now.
 */
void ri_link_vote(enum ri_link_step step, const char *why_not);

/*
 * Wait until all nodes take a step of which this one has said that it can, or none does; also until
 * that cannot be any more, most_ms are over, or a stop of which the others do not know waits in the
 * queue. Returns whether they take it.
 */
bool ri_link_await(enum ri_link_step step, int64_t most_ms);

/* Why they do not, as lines, where node 0 has said so; or NULL. */
const char *ri_link_why_not(enum ri_link_step step);

/* All leave this attempt: the key of the next one; else NULL. */
const unsigned char *ri_link_key(void);

/* The descriptor of the name that this node has in its network, for the next attempt; 0: none. */
int ri_link_place(void);

/*
 * All was said: wait until the helper is done, as long as it thinks fit and at most so long. A
 * stop in the queue of which the others do not know ends it. The helper is gone afterwards.
 */
void ri_link_finish(int64_t most_ms);

#endif
