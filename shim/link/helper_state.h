/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the helper, one for the process that it is, which its files share. link_helper.c has
 * its loop, and lets callers in at node 0; lines.c hears and sends messages, calls node 0 and looks
 * whether the ranks have met.
 */
#ifndef RI_SHIM_LINK_HELPER_STATE_H
#define RI_SHIM_LINK_HELPER_STATE_H

#include <sys/epoll.h>

#include "base/arena.h"
#include "hang/together.h"
#include "link/centre.h"
#include "link/link.h"
#include "link/look_up.h"
#include "link/member.h"

enum { RI_HELPER_STRANGERS = 256 };	/* callers at once that have not proved the key */

/* A wire, and whose it is: at the centre, of a node. */
struct ri_line {
	struct ri_wire wire;
	int64_t node;		/* -1: it has not said hello */
	int64_t asked_us;	/* of a caller: when it asked for the time, by CLOCK_BOOTTIME */
	uint32_t watched;	/* what its wire is polled for; 0: it is not */
	bool doomed;		/* it is one of those to be buried */
	size_t next;		/* of these, or of those that are free; 0: none */
};

struct ri_helper {
	const struct ri_link_setup *setup;
	struct ri_arena arena;
	bool is_centre;
	int inner;		/* to PID 1 */
	int listener;		/* -1: none */
	int64_t listen_at;	/* not before: what called could not be taken */
	struct ri_line *lines;	/* line n is session n; 0 is unused */
	size_t count;
	size_t open;		/* lines that are not free */
	size_t free, dead;	/* the first of each; 0: none */
	int lines_fd;		/* polls all lines at once (epoll(7)) */
	struct epoll_event *events;	/* of these */
	int64_t lines_due;	/* no line is given up before */
	struct ri_wires wires;
	size_t strangers[RI_HELPER_STRANGERS], stranger_count;	/* lines of theirs */
	size_t joined;		/* a member's line to the centre; 0: none */
	size_t current;		/* the line of which something is handled */
	struct ri_member member;
	struct ri_centre centre;
	struct ri_together *together;	/* what the nodes said in the round that goes on, or NULL */
	struct ri_arena groups;		/* its memory */
	struct ri_look_up look_up;
	bool calling;		/* some line calls */
	int64_t call_at;
	int64_t quick_ms;	/* between the first calls of a later attempt */
	int64_t ran_at;		/* since when the ranks run; 0: they do not */
	struct ri_addresses found;	/* that were called last */
	uint16_t rank_port;	/* our end of a rank's connection, at the last look; or 0 */
	int64_t rank_port_at;	/* when that was */
	int64_t alone_at;	/* since when a member has no line to the centre */
	bool at_odds;		/* that was said */
	bool closing;		/* PID 1 has said all of how its ranks ended, */
	bool left;		/* and all that it had to say */
	bool hurries;		/* PID 1 does not wait for it any more */
	bool closed;		/* and the helper lets go of its connections */
	int64_t close_at;
	int64_t passed_at, due;	/* when all nodes were looked at, and are to be again */
	int64_t now;
};

extern struct ri_helper ri_helper;

/* This node as a member of its job, and the centre where it is node 0. */
void ri_helper_begin_member(void);
void ri_helper_begin_centre(void);

/* How far does the wall clock go before CLOCK_BOOTTIME now? */
void ri_helper_look_at_clocks(void);

/* A line that was free, or 0. */
size_t ri_helper_take_line(void);

/* After each call that may change a wire: poll for what it waits for now, or bury it later. */
void ri_helper_tend(size_t session);

/* Of each line that is dead tell the centre or the member so, and free the line. */
void ri_helper_bury_dead(void);

/* Call node 0 when it is time to, and drop what was called in vain. */
void ri_helper_look_after_calls(void);

/* The look-up of node 0's name has ended, or its time is over. */
void ri_helper_end_look_up(void);

#endif
