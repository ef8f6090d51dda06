/* SPDX-License-Identifier: Apache-2.0 */
/* What the loop is told, and what it tells. */
#ifndef RI_SHIM_INIT_SETTING_H
#define RI_SHIM_INIT_SETTING_H

#include "check/machine.h"
#include "launch/children.h"
#include "init/output.h"
#include "init/terminal.h"
#include "launch/launch.h"
#include "link/job.h"
#include "options/options.h"
#include "report/outcome.h"
#include "system/mask.h"

/* What another part of rankinit has to do at its time, while the loop runs. */
struct ri_timetable {
	int64_t (*due)(void *context);	/* CLOCK_MONOTONIC ms; INT64_MAX: never */
	void (*act)(void *context);	/* it must not wait */
	void (*take)(void *context);	/* its helper may have ended; NULL: it has none */
	void *context;
	const struct ri_timetable *next;	/* another part's; NULL: there is none */
};

/* These take NULL for no timetable. */

static inline int64_t ri_timetable_due(const struct ri_timetable *table)
{
	int64_t first = INT64_MAX, due;

	for (; table != NULL; table = table->next)
		if ((due = table->due(table->context)) < first)
			first = due;
	return first;
}

static inline void ri_timetable_act(const struct ri_timetable *table, int64_t now)
{
	for (; table != NULL; table = table->next)
		if (table->due(table->context) <= now)
			table->act(table->context);
}

/* One signal may stand for several helpers, so each part looks for its own. */
static inline void ri_timetable_take(const struct ri_timetable *table)
{
	for (; table != NULL; table = table->next)
		if (table->take != NULL)
			table->take(table->context);
}

/* What became of all of them together. */
struct ri_supervised {
	struct ri_stop stop;	/* that came from outside */
	struct ri_interrupt interrupt;	/* that the first failure may have ended of */
	bool interrupted;	/* by SIGHUP, SIGINT or SIGQUIT, at any time */
	bool ordered;		/* the ranks were stopped for another node's failure */
	int64_t settle_ms;	/* how long the judge lets an exception end its rank */
	bool knows_shm;
	struct ri_space shm;	/* /dev/shm, when the first failure was a SIGBUS */
};

struct ri_supervise {
	const struct ri_launch *launch;
	const struct ri_options *options;
	const struct ri_terminal *terminal;
	int64_t rank;		/* of the command, where the job has others elsewhere; else -1 */
	struct ri_output *output;	/* the loop looks after it as well, where it is active */
	struct ri_supervised *result;
	const struct ri_timetable *timetable;	/* NULL: there is none */
	const struct ri_link_job *job;	/* NULL: the link is off */
	bool has_others;	/* the command may start ranks of its own */
	bool may_be_ray;	/* it is a program of Python's, and may start some by Ray */
	bool words_alone;	/* stderr is kept for the words of its failure alone */
	bool goes_on;		/* where one child failed the others are not stopped */
	bool silent;		/* the caller tells how a single child ended */
};

#endif
