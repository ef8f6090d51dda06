/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The autopsy as PID 1 has it: a process beside it that looks at the ranks, leaves its lines in a
 * page that both share, and ends. PID 1 never waits for it. One at a time; before ri_autopsy_plan
 * nothing below does anything, and none of it costs anything as long as nobody asks.
 */
#ifndef RI_SHIM_HANG_AUTOPSY_H
#define RI_SHIM_HANG_AUTOPSY_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/children.h"

enum ri_autopsy_why {
	RI_AUTOPSY_ASKED,	/* by --autopsy-signal */
	RI_AUTOPSY_STOP,	/* a silent job is about to be stopped */
	RI_AUTOPSY_LOSS,	/* a rank lost another one, or did not wait any longer */
	RI_AUTOPSY_STALL,	/* --stall */
	RI_AUTOPSY_WATCH,	/* --stall: has a rank moved? */
};

struct ri_autopsy_plan {
	const struct ri_children *children;
	const bool *stopped;		/* whether a stop came from outside */
	uint64_t after_ms;		/* --autopsy-after; 0: not before a stop */
	uint64_t stall_ms;		/* --stall; 0: never */
	bool hides_output;		/* it goes to files alone: silence means nothing */
	bool reports;			/* somebody wants it as JSON, too */
};

/* Before the first rank is started. It lasts. */
void ri_autopsy_plan(const struct ri_autopsy_plan *plan);

/* The ranks run: with --stall the watching begins. */
void ri_autopsy_begin(void);

/*
 * Begin to look. Returns false where that cannot be: one looks already, or the kernel refuses a
 * process, which is a warning once.
 */
bool ri_autopsy_ask(enum ri_autopsy_why why);

/*
 * For a signal that --autopsy-signal names: ten seconds after the last one, or later. Returns
 * false where nothing was planned: somebody else looks.
 */
bool ri_autopsy_ask_again(const siginfo_t *info);

/* Has nothing been printed for --autopsy-after? False where that cannot be known. */
bool ri_autopsy_is_silent(void);

/* Is somebody looking, before the stop? */
bool ri_autopsy_is_looking(void);

/* As watch/timetable.h has them; the context is not used. */
int64_t ri_autopsy_due(void *context);
void ri_autopsy_act(void *context);
bool ri_autopsy_took(void *context, const siginfo_t *info);

/* The process that looks just now, which is none of the command's; 0: there is none. */
pid_t ri_autopsy_helper(void);

/* All is over: no process looks any more. */
void ri_autopsy_end(void);

/* What was seen after a loss, as lines, and the last autopsy as JSON; NULL: there is none. */
const char *ri_autopsy_of_loss(void);
const char *ri_autopsy_document(void);

#endif
