/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saying what happened: the verdict on stderr and for Kubernetes, the report
 * of --report. Whatever fails here after the job is a warning at most.
 */
#ifndef RI_SHIM_SAY_REPORT_FILE_H
#define RI_SHIM_SAY_REPORT_FILE_H

#include <stdbool.h>

#include "base/arena.h"
#include "check/runner.h"
#include "options/options.h"
#include "report/outcome.h"

struct ri_report_plan {
	const struct ri_options *options;
	const struct ri_topology *topology;
	size_t ranks;		/* that start here, at least 1 */
	uint64_t attempt;	/* by --restarts; 0: the first */
};

/*
 * Look at where the report of --report goes. RI_CODE_OPTION_VALUE,
 * REPORT_REFUSED or MEMORY.
 */
int ri_report_prepare(const struct ri_report_plan *plan, struct ri_arena *arena,
	struct ri_error *err);

/*
 * The last thing before the first rank starts: reserve the memory that the
 * report and torch's files take. Nothing is done for one rank without
 * --report. RI_CODE_MEMORY.
 */
int ri_report_reserve(const struct ri_report_plan *plan, struct ri_error *err);

/* Does the verdict know more than what became of one process? Only then it is printed. */
bool ri_report_says_more(const struct ri_outcome *outcome);

/* The verdict on the whole job has come: print it, before anything of it happens here. */
void ri_report_job(const char *verdict);

/* The descriptor of --report stays open in what this process executes. */
void ri_report_hand_on(void);

/*
 * When all is over: set outcome->printed, and make the verdict, which is printed where it says more
 * than the line about the end of one command does, if it is to be printed at all.
 */
void ri_report_say(struct ri_outcome *outcome, bool prints);

/*
 * After that: write what it has said to /dev/termination-log, or in a job of SageMaker's to
 * /opt/ml/output/failure, unless the command has done so, and the report.
 * checked is what the checks found, or NULL. Where outcome->goes_on a descriptor, a device and
 * these two are left to the last attempt.
 */
void ri_report_leave(const struct ri_outcome *outcome, const struct ri_check_report *checked);

/* Nothing was started, for what checks found, and that was printed already: write it there. */
void ri_report_refuse(const struct ri_outcome *outcome, const struct ri_check_report *checked,
	const struct ri_error *why);

/* The container ends before anything was looked at: write why to those two, and the last line. */
void ri_report_leave_refusal(const struct ri_error *why, const char *last_line);

#endif
