/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a simulated job: how each node ended, and what the platform makes of it. */
#ifndef RI_SHIM_PLAY_SUMMARY_H
#define RI_SHIM_PLAY_SUMMARY_H

#include "play/play_job.h"

/* Say it; status is that of the first failure. Returns the exit status of the job. */
int ri_play_job_tell(const struct ri_play_job *job, int status);

#endif
