/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong in a simulated job, while the loop watches over it. */
#ifndef RI_SHIM_PLAY_FAULTS_H
#define RI_SHIM_PLAY_FAULTS_H

#include "launch/children.h"
#include "play/simulation.h"
#include "watch/supervise.h"

struct ri_faults {
	const struct ri_simulation *simulation;
	const struct ri_children *children;
	const size_t *places;	/* of each child among the members: see member.h */
	size_t next;
	int64_t began_ms;	/* CLOCK_MONOTONIC */
};

/* The faults in the order of their times: due and act of struct ri_timetable. */
int64_t ri_faults_due(void *faults);
void ri_faults_act(void *faults);

/* After the end: a warning for each rank's fault that the job did not live to see. */
void ri_faults_tell(const struct ri_faults *faults);

#endif
