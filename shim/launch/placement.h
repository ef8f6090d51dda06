/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --nproc-per-node, --bind-to, --gpu-bind and --omp-threads: how many ranks the GPUs and CPUs of
 * this node are for, and what each of them gets, are worked out before the first is started.
 */
#ifndef RI_SHIM_LAUNCH_PLACEMENT_H
#define RI_SHIM_LAUNCH_PLACEMENT_H

#include <stdint.h>

#include "model/explain.h"
#include "options/options.h"

/* What the ranks of this node get, and which of them is the first that we start. */
struct ri_placing {
	struct ri_placement placement;
	uint64_t own;	/* its local rank */
};

/*
 * Ask the kernel which CPUs are ours, into mask, for code that counts CPUs of
 * this machine. Nothing of a recorded one.
 */
void ri_placing_look(struct ri_node *node, struct ri_cpus *mask);

/*
 * Place the ranks started here, or the one that the topology speaks of. Does
 * nothing where the command is a launcher: all of its ranks would share what
 * one gets; a wish for it is then a warning.
 */
int ri_placing_prepare(struct ri_placing *out, const struct ri_place_wish *asked,
	const struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err);

/* The CPUs that the rank with this index among those started here is bound to, or NULL. */
const struct ri_cpus *ri_placing_cpus(const struct ri_placing *placing, uint64_t index);

/* What --explain shows of it. */
void ri_placing_explain(const struct ri_placing *placing, uint64_t index,
	struct ri_explained_rank *rank, struct ri_arena *arena);

/*
 * --nproc-per-node in words: how many ranks gpu, cpu and auto come to here, to wishes.nproc_count.
 * RI_CODE_NPROC_NONE where there is no GPU, and what counting GPUs and CPUs gives (node/node.h).
 */
int ri_nproc_count(struct ri_options *options, const struct ri_context *context,
	struct ri_error *err);

/*
 * RI_CODE_GPUS_IDLE, a warning, where a program sees several whole NVIDIA GPUs, and
 * PET_NPROC_PER_NODE=1 alone has torchrun start one rank, or the command is a Python program
 * and by torch's own names the one rank of its node, or alone in a shell of srun --pty or salloc.
 * Counts GPUs in these cases only.
 */
void ri_idle_gpus_judge(const struct ri_topology *topology, const struct ri_context *context);

#endif
