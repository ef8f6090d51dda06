/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the ranks of this node run: the CPUs of each, its GPU, and how many
 * threads it may start; and for that how the CPUs that are ours belong
 * together in NUMA nodes.
 */
#ifndef RI_NODE_PLACE_H
#define RI_NODE_PLACE_H

#include "node/node.h"

/* How much of the machine's CPUs is ours: those we may run on, and our time on them. */
struct ri_budget {
	struct ri_cpus cpus;	/* where we may run; never empty */
	size_t count;		/* how many these are */
	struct ri_group_limit quota;
	uint64_t usable;	/* whole CPUs within both, at least 1 */
};

/* Returns 0, or -1 with RI_CODE_CPU_UNKNOWN. */
int ri_budget_find(struct ri_budget *out, const struct ri_node *node, struct ri_error *err);

enum ri_bind {
	RI_BIND_NONE,
	RI_BIND_NUMA,	/* the NUMA node of the rank's GPU; without one, nodes in turn */
};

enum ri_gpu_bind {
	RI_GPU_BIND_NONE,
	RI_GPU_BIND_SINGLE,	/* a rank sees the GPU of its local rank, and no other */
};

enum ri_omp_threads {
	RI_OMP_AUTO,	/* CPUs by ranks, where ranks are started here, by default */
	RI_OMP_KEEP,
	RI_OMP_STATED,
};

/* What the user wants, with the names to blame for it; all zero: the defaults. */
struct ri_place_wish {
	enum ri_bind bind;
	enum ri_gpu_bind gpu_bind;
	enum ri_omp_threads omp;
	uint64_t threads;		/* stated */
	const char *bind_subject;	/* "--bind-to" or its twin */
	const char *gpu_subject;
	const char *omp_subject;
};

/* The ranks of this node. */
struct ri_place_ranks {
	uint64_t count;
	bool ours;	/* started here; else each by a launcher, and we are one of them */
};

struct ri_place {
	struct ri_cpus cpus;
	bool bound;		/* to cpus; else it stays where we are */
	const char *gpu;	/* value of CUDA_VISIBLE_DEVICES; NULL: as it is */
};

struct ri_placement {
	struct ri_place *list;	/* by local rank; NULL: all stay where we are */
	size_t count;
	const char *threads;	/* value of OMP_NUM_THREADS; NULL: as it is */
};

/* Does the wish take a look at the machine? */
bool ri_placement_asks(const struct ri_place_wish *wish, const struct ri_place_ranks *ranks);

/*
 * Place the ranks within the CPUs and GPUs that are ours. Returns 0, or -1:
 * RI_CODE_PLACEMENT_REFUSED where there is too little of something, and what
 * counting CPUs and GPUs gives. What cannot be done for a rank is a warning
 * RI_CODE_PLACEMENT_KEPT; how many threads there shall be, and why, is a note
 * RI_CODE_OMP_THREADS.
 */
int ri_placement_find(struct ri_placement *out, const struct ri_place_wish *wish,
	const struct ri_place_ranks *ranks, const struct ri_node *node, struct ri_error *err);

/* The rank's own place, or NULL. */
const struct ri_place *ri_placement_of(const struct ri_placement *placement, uint64_t local_rank);

/* Add OMP_NUM_THREADS and CUDA_VISIBLE_DEVICES of this rank. */
int ri_placement_write(const struct ri_placement *placement, uint64_t local_rank,
	struct ri_env_edits *edits, struct ri_arena *arena, struct ri_error *err);

#endif
