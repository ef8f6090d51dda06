/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated job, from the start of its members to what the platform makes of their ends.
 */
#ifndef RI_SHIM_PLAY_PLAY_JOB_H
#define RI_SHIM_PLAY_PLAY_JOB_H

#include "play/play_members.h"
#include "watch/supervise.h"

/* What goes wrong in it, while the loop watches over it: faults.c. */
struct ri_faults {
	const struct ri_members *members;	/* each is a child */
	const struct ri_children *children;
	size_t next;
	int64_t began_ms;	/* CLOCK_MONOTONIC */
};

/* The faults in the order of their times: due and act of struct ri_timetable. */
int64_t ri_faults_due(void *faults);
void ri_faults_act(void *faults);

/* After the end: a warning for each rank's fault that the job did not live to see. */
void ri_faults_tell(const struct ri_faults *faults);

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
