/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roll call of a job without --link: if the nodes do not meet, one line says what is seen of
 * it here, long before a framework's own time-out. At its time a process looks at the sockets,
 * asks the name service and node 0's port, and ends: PID 1 sleeps as before, and prints the line.
 * A job that has met when it is looked at first hears nothing, and is not looked at again.
 */
#ifndef RI_SHIM_LINK_ROLL_CALL_H
#define RI_SHIM_LINK_ROLL_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "launch/children.h"
#include "link/part.h"

struct ri_roll_call {
	struct ri_rendezvous place;
	int64_t first_ms;	/* after the start; then twice, four times and so on as long */
	const char *const *hosts;	/* one for each node, by the job's own list, or NULL */
	const struct ri_children *children;	/* none is missed where one of them has ended */
	const bool *stopped;			/* or where a stop came */
	/* The rest starts as zeroes. */
	int64_t begun;		/* CLOCK_MONOTONIC ms */
	unsigned looks, lines;
	bool over;		/* there is no more to look at */
	struct ri_roll_answer *answer;	/* shared with the process that looks */
};

/* The first call: the ranks were started. */
void ri_roll_call_begin(struct ri_roll_call *roll);

/* As init/supervise.h has timetables; the context is the roll call. */
int64_t ri_roll_call_due(void *roll);
void ri_roll_call_act(void *roll);
void ri_roll_call_take(void *roll);

/* The last line that was printed of it; NULL: none was. */
const char *ri_roll_call_said(void);

/* All is over: no process looks any more. */
void ri_roll_call_end(void);

#endif
