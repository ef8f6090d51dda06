/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong in a simulated job, while the loop watches over it. */
#ifndef RI_SHIM_PLAY_FAULTS_H
#define RI_SHIM_PLAY_FAULTS_H

#include "play/play_members.h"
#include "watch/supervise.h"

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

#endif
