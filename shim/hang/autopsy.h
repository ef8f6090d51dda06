/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The autopsy as PID 1 has it: a process beside it looks at the ranks, leaves its lines in memory
 * that both share, and ends. PID 1 never waits for it, and there is one at a time. Without
 * ri_autopsy_plan the functions below do nothing; without a request they make no system call.
 */
#ifndef RI_SHIM_HANG_AUTOPSY_H
#define RI_SHIM_HANG_AUTOPSY_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "launch/children.h"
#include "options/options.h"

enum ri_autopsy_why {
	RI_AUTOPSY_ASKED,	/* by --autopsy-signal */
	RI_AUTOPSY_STOP,	/* a silent job is about to be stopped */
	RI_AUTOPSY_LOSS,	/* a rank lost another one, or did not wait any longer */
	RI_AUTOPSY_STALL,	/* --stall */
	RI_AUTOPSY_WATCH,	/* --stall: has a rank moved? */
	RI_AUTOPSY_JOB,		/* all nodes of the job look */
	RI_AUTOPSY_JOB_SOON,	/* ... since one of them is about to be stopped */
};

/* Do these options ask for one while the job runs? Each job may get one before a stop. */
bool ri_autopsy_is_wanted(const struct ri_options *options);

/*
 * Must each rank admit rankinit, or the process beside PID 1 may not look at it? So it is where
 * kernel.yama.ptrace_scope is 1: then ancestors may look at a process, and that one is a sibling.
 */
bool ri_autopsy_needs_admission(const struct ri_options *options);

/*
 * Before the first rank is started. All three last as long as the job. stop: one from outside,
 * if it comes; has_link: other nodes may want to know what is seen.
 */
void ri_autopsy_plan(const struct ri_options *options, const struct ri_children *children,
	const struct ri_stop *stop, bool has_link);

/* The ranks run: with --stall the watching begins. */
void ri_autopsy_begin(void);

/* Begin to look. False: one looks already, or the kernel refuses a process, which is a warning. */
bool ri_autopsy_ask(enum ri_autopsy_why why);

/* --autopsy-signal came: look, once in ten seconds. False: forward it (no ri_autopsy_plan). */
bool ri_autopsy_ask_again(const siginfo_t *info);

/* Was the job silent for --autopsy-after? False where that cannot be known. */
bool ri_autopsy_is_silent(void);

/* Does a process look before the stop? */
bool ri_autopsy_is_looking(void);

/* Does one look because all nodes do? If a stop comes, ri_autopsy_ask makes it the stop's. */
bool ri_autopsy_is_together(void);

/* With a link: all nodes of the job look. Does this one? A look that goes on will do. */
bool ri_autopsy_look_together(bool soon);

/*
 * What the last look saw, for the other nodes (hang/together.h), once; "" where it had no answer.
 * NULL: there was none since the last call.
 */
const char *ri_autopsy_take_groups(void);

/*
 * With a link: has --stall found since the last call that no rank moves, and what the others do is
 * not known, or has --autopsy-signal begun a look? Its own look follows.
 */
bool ri_autopsy_wants_others(bool known);

/* As init/supervise.h has timetables; the context is not used. */
int64_t ri_autopsy_due(void *context);
void ri_autopsy_act(void *context);
void ri_autopsy_take(void *context);

/* The job is over: end the process that looks. */
void ri_autopsy_end(void);

/* What was seen after a loss, as lines, and the last autopsy as JSON; NULL: there is none. */
const char *ri_autopsy_of_loss(void);
const char *ri_autopsy_document(void);

#endif
