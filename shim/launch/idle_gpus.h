/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs that no rank of this node will use, where the platform means one rank for each. */
#ifndef RI_SHIM_LAUNCH_IDLE_GPUS_H
#define RI_SHIM_LAUNCH_IDLE_GPUS_H

#include "model/context.h"
#include "model/topology.h"

/*
 * RI_CODE_GPUS_IDLE, a warning, where a program sees several whole NVIDIA GPUs, and
 * PET_NPROC_PER_NODE=1 alone has torchrun start one rank, or the command is a Python program
 * and by torch's own names the one rank of its node. Counts GPUs in these two cases only.
 */
void ri_idle_gpus_judge(const struct ri_topology *topology, const struct ri_context *context);

#endif
