/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link of this node as PID 1 has it: a process beside it, the helper, and a socket. PID 1
 * never waits for the helper but at its own end. A signal (SIGIO) wakes it when there is something
 * to hear; it polls for nothing.
 *
 * One for a process. Before ri_link_begin, and where that failed, the functions of link.c have no
 * effect. Without a link, the roll call says who has not come.
 */
#ifndef RI_SHIM_LINK_LINK_H
#define RI_SHIM_LINK_LINK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"
#include "launch/children.h"
#include "link/message.h"
#include "link/part.h"
#include "link/wire.h"
#include "options/options.h"
#include "report/outcome.h"
#include "report/restarts.h"
#include "system/mask.h"

/* This node as one of its job's: what the link, and the roll call without it, know of it. */
struct ri_link_job {
	const struct ri_options *options;
	const struct ri_topology *topology;
	const struct ri_context *context;
	const char *host;		/* of this node; NULL: not known, or there is no link */
	const struct ri_children *children;
	const struct ri_stop *stop;	/* that came from outside */
	const bool *interrupted;	/* SIGHUP, SIGINT or SIGQUIT has come */
	const bool *ordered;		/* the ranks were stopped for another node's failure */
	struct ri_carried *before;	/* what the attempt before this one left; or NULL */
	struct ri_link_part part;	/* of this node; take_part.c finds it, where it matters */
	uint64_t restarts;	/* that may follow, with the other nodes; 0: none */
};

/* Its name, as the kernel has it. */
#define RI_LINK_HELPER "rankinit-link"

/* What the helper leaves for the report, in a page that it shares with PID 1: no wake-up. */
struct ri_link_noted {
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
	struct ri_link_noted *noted;	/* NULL: there is no memory for it */
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
const struct ri_link_noted *ri_link_noted(void);

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
 * stop in the queue of which the others do not know ends it: the helper has a tenth of a second
 * then, to tell what it knows. It is gone afterwards.
 */
void ri_link_finish(int64_t most_ms);

/*
 * roll_call.c: the roll call of a job without --link. If the nodes do not meet, one line says what
 * is seen of it here, long before a framework's own time-out. At its time a process looks at the
 * sockets, asks the name service and node 0's port, and ends: PID 1 sleeps as before, and prints
 * the line. A job that has met when it is looked at first hears nothing, and is not looked at
 * again.
 */
struct ri_roll_call {
	struct ri_rendezvous place;
	int64_t first_ms;	/* after the start; then twice, four times and so on as long */
	const char *const *hosts;	/* one for each node, by the job's own list, or NULL */
	const struct ri_children *children;	/* none is missed where one of them has ended */
	const struct ri_stop *stop;	/* or where one came */
	int64_t begun;		/* when the ranks were started, CLOCK_MONOTONIC ms */
	/* The rest starts as zeroes. */
	unsigned looks, lines;
	bool over;		/* there is no more to look at */
	struct ri_roll_answer *answer;	/* shared with the process that looks */
};

/* As init/supervise.h has timetables; the context is the roll call. */
int64_t ri_roll_call_due(void *roll);
void ri_roll_call_act(void *roll);
void ri_roll_call_take(void *roll);

/* The last line that was printed of it; NULL: none was. */
const char *ri_roll_call_said(void);

/* All is over: no process looks any more. */
void ri_roll_call_end(void);

/*
 * take_part.c: --link. Begin, where this node takes part; a link that cannot be is a warning.
 * Returns 0, or -1 where its key cannot be used.
 */
int ri_link_join(struct ri_link_job *job, struct ri_error *err);

/* Without a link, is it missed here if the nodes do not meet? Then *roll is about that. */
bool ri_link_calls_roll(struct ri_link_job *job, struct ri_roll_call *roll);

/*
 * Print a verdict that came before there were ranks. When the job starts again wait until all nodes
 * can, and none was stopped. Returns 0, or -1 with RI_CODE_LINK_STOPPED: then none is started.
 */
int ri_link_permit(const struct ri_link_job *job, struct ri_error *err);

/*
 * tell_others.c: what the others are told, and the verdict on the job. Without a link none is told,
 * and there is none.
 */

/*
 * No rank is started: the others are to know why, and the helper ends. reasons: of
 * RI_CODE_CHECK_UNFIT, as ri_check_reasons has them.
 */
void ri_link_refuse(const struct ri_link_job *job, const struct ri_error *err, const char *reasons);

/* There is a verdict: print it, and why the ranks of this node run on, if they do. */
void ri_link_print_verdict(const struct ri_link_job *job);

/* A stop by this signal came before there were ranks: the same. */
void ri_link_stop(const struct ri_link_job *job, int number);

/*
 * All is over, and the last word is said: wait a little for the verdict; where the ranks may start
 * again wait for the other nodes, and then ri_link_key has an answer. gone: nothing is left of the
 * ranks here. Returns whether there is a verdict.
 */
bool ri_link_conclude(const struct ri_link_job *job, int status, bool gone);

/* Tell the others how this node ends, just now, with these lines. */
void ri_link_say(const struct ri_link_job *job, enum ri_class class, struct ri_why why,
	const char *lines);

/* That a stop from outside by this signal ends it. */
void ri_link_say_stop(const struct ri_link_job *job, int number);

/* The same as a struct, without saying it. */
void ri_link_make_stop(const struct ri_link_job *job, int number, struct ri_link_end *out);

#endif
