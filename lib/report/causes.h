/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words for why a job ended and what to do with it next (causes.def), and which of them is true
 * of an end. What explains an end to people is struct ri_cause (report/outcome.h).
 */
#ifndef RI_REPORT_CAUSES_H
#define RI_REPORT_CAUSES_H

#include "report/verdict.h"

struct ri_outcome;

/* Of a stop from outside; where nothing is known, or nothing failed. */
extern const struct ri_why ri_why_stopped, ri_why_unknown;

/* "oom_host" */
const char *ri_cause_word_name(enum ri_cause_word word);

/* The word of this name; RI_CAUSE_UNKNOWN where there is none, or the name is NULL. */
enum ri_cause_word ri_cause_word_of(const char *name);

/* "never", "same", "other_node" */
const char *ri_retry_name(enum ri_retry retry);

/* The one of this name; that of the cause's row where there is none, or the name is NULL. */
enum ri_retry ri_retry_of(const char *name, enum ri_cause_word cause);

/*
 * Why the command or the ranks of this node ended; RI_CAUSE_UNKNOWN also where nothing failed. Why
 * the job did report/brief.h says.
 */
struct ri_why ri_why_find(const struct ri_outcome *outcome);

/* Why nothing was started: of an error that ends rankinit with this exit status, 122 to 127. */
struct ri_why ri_why_of_refusal(int status);

/*
 * --exit-class: what a scheduler that reads nothing but exit statuses may know of a failure.
 *
 * Kubeflow's policy ExitCode starts again what ends with 128 or more and gives up below
 * (training-operator pkg/util/train/train_util.go, IsRetryableExitCode). Slurm's srun ends with
 * the highest status of its tasks (srun(1), RETURN VALUE). So the more hope there is, the
 * higher is the status, and none is one of rankinit's own (122 to 127) or 128 + a signal (up to
 * 192).
 */
enum ri_exit_class {
	RI_EXIT_NEVER = 120,
	RI_EXIT_SAME = 220,
	RI_EXIT_OTHER_NODE = 230,
};

/*
 * The class of what would else end with this status; 0 stays 0. A healthy node that the link
 * stopped (122) is no reason to take another one, whatever the job failed of.
 */
int ri_exit_class(int status, enum ri_retry retry);

#endif
