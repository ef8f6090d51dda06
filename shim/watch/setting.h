/* SPDX-License-Identifier: Apache-2.0 */
/* What the loop is told, and what it tells. */
#ifndef RI_SHIM_WATCH_SETTING_H
#define RI_SHIM_WATCH_SETTING_H

#include "check/machine.h"
#include "launch/children.h"
#include "launch/launch.h"
#include "launch/terminal.h"
#include "link/job.h"
#include "options/options.h"
#include "pump/output.h"
#include "report/outcome.h"
#include "watch/obituary.h"
#include "watch/timetable.h"

/* What became of all of them together. */
struct ri_supervised {
	struct ri_stop stop;	/* that came from outside */
	struct ri_interrupt interrupt;	/* that the first failure may have ended of */
	bool interrupted;	/* by SIGHUP, SIGINT or SIGQUIT, at any time */
	bool ordered;		/* the ranks were stopped for another node's failure */
	bool oom;		/* the cgroup counted an out-of-memory kill meanwhile */
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
