/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slurm's variables are there in every process of a job: in its batch script
 * and in a shell of salloc as well, where they describe the job, and below
 * launchers that srun started, where they describe these. Only a task of a
 * step is a rank.
 */
#ifndef RI_FROM_SLURM_H
#define RI_FROM_SLURM_H

#include <stdbool.h>

#include "base/env.h"

/*
 * Does the environment describe a task that srun started? Look-ups alone: for
 * detect functions. Batch scripts, interactive shells and the external step
 * have the numbers above the last one of a step, or none.
 */
bool ri_slurm_is_task(const struct ri_env *env);

#endif
