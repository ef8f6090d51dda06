/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine that is asked, and what it has for ranks: CPUs that may be used
 * and GPUs that can be seen. Only findings and arena are written to.
 */
#ifndef RI_NODE_NODE_H
#define RI_NODE_NODE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/env.h"
#include "base/error.h"
#include "base/finding.h"
#include "base/host.h"
#include "node/cpus.h"

struct ri_node {
	struct ri_host *host;
	const struct ri_env *env;
	struct ri_arena *arena;
	struct ri_findings *findings;
	/* sched_getaffinity(2) of this machine; NULL: what the recorded one says */
	const struct ri_cpus *affinity;
};

/*
 * For --nproc-per-node=cpu: the CPUs that may be used, at least 1.
 * RI_CODE_CPU_UNKNOWN where the machine does not say.
 */
int ri_cpus_count(const struct ri_node *node, uint64_t *count, struct ri_error *err);

/*
 * For --nproc-per-node=gpu and auto: the GPUs that a program would see, which
 * may be none. RI_CODE_ENV_VALUE for a CUDA_VISIBLE_DEVICES that cannot be
 * used, RI_CODE_GPU_UNKNOWN for GPUs that are there and cannot be counted.
 */
int ri_gpus_count(const struct ri_node *node, uint64_t *count, struct ri_error *err);

#endif
