/* SPDX-License-Identifier: Apache-2.0 */
/* This node as one of its job's: what the link, and the roll call without it, know of it. */
#ifndef RI_SHIM_LINK_JOB_H
#define RI_SHIM_LINK_JOB_H

#include "base/error.h"
#include "launch/children.h"
#include "link/message.h"
#include "link/part.h"
#include "options/options.h"
#include "report/outcome.h"
#include "report/restarts.h"
#include "system/mask.h"

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
