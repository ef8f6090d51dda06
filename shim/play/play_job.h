/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated job, from the start of its members to what the platform makes of their ends.
 */
#ifndef RI_SHIM_PLAY_PLAY_JOB_H
#define RI_SHIM_PLAY_PLAY_JOB_H

#include "play/faults.h"

struct ri_play_job {
	struct ri_members *members;
	struct ri_options *options;	/* become those of the loop when the members have theirs */
	struct ri_children *children;
	struct ri_output *output;
	struct ri_supervised *supervised;
	/* made by ri_play_job_prepare */
	struct ri_output_rank *numbers;	/* of each child */
	struct ri_launch launch;
	struct ri_faults faults;
};

/* All that can fail before a member is started. Returns 0, or -1. */
int ri_play_job_prepare(struct ri_play_job *job, struct ri_error *err);

/*
 * Start the members and watch over them: those that run end where one cannot be started, and *err
 * is why, which is printed. Returns as ri_supervise_run().
 */
int ri_play_job_run(struct ri_play_job *job, struct ri_error *err);

/*
 * After the end: how each node ended, and the job; status is that of the first failure. Returns
 * the exit status of the job.
 */
int ri_play_job_tell(const struct ri_play_job *job, int status);

#endif
