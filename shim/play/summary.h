/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a simulated job: how each node ended, and what the platform makes of it. */
#ifndef RI_SHIM_PLAY_SUMMARY_H
#define RI_SHIM_PLAY_SUMMARY_H

#include "launch/children.h"
#include "play/simulation.h"

struct ri_job_account {
	const struct ri_simulation *simulation;
	const struct ri_children *children;
	const size_t *places;	/* of each child among the members */
	int report;		/* where the nodes wrote their reports, one after the other; -1 */
	bool stopped;		/* from outside, or by a fault */
	bool quiet;		/* a good end is not told */
	int status;		/* of the first that ended with another one than 0 */
};

/* Say it. Returns the job's exit status. */
int ri_job_account_tell(const struct ri_job_account *account);

#endif
