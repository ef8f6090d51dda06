/* SPDX-License-Identifier: Apache-2.0 */
/* How the ranks ended, of all that PID 1 knows and they wrote. */
#ifndef RI_SHIM_ENDS_H
#define RI_SHIM_ENDS_H

#include "run.h"

/* What is known by now, without what files have. */
struct ri_outcome ri_ends_so_far(struct ri_run *run);

/*
 * All that is known when all is over. *first is the child whose status is that of the job, by its
 * index; -1: nobody's is. What the other nodes made of it, and what the exit status is, the caller
 * adds.
 */
struct ri_outcome ri_ends_gather(struct ri_run *run, int32_t *first);

/* What there is to tell where nothing was started, and rankinit ends with this status, and why. */
struct ri_outcome ri_ends_of_none(struct ri_run *run, int status, enum ri_retry retry);

#endif
