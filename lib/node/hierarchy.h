/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our cgroup of a controller, and those around it, as far as they are mounted:
 * a limit of any of them is one of ours (kernel documentation,
 * admin-guide/cgroup-v2.rst and cgroup-v1/).
 */
#ifndef RI_NODE_HIERARCHY_H
#define RI_NODE_HIERARCHY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cgroup.h"
#include "base/host.h"

struct ri_hierarchy {
	struct ri_host *host;
	struct ri_arena *arena;
	const char *controller;		/* "cpu", "memory", "pids" */
	/* Called for each, the innermost first; folder is of at most RI_CGROUP_PATH bytes. */
	void (*visit)(void *context, const char *folder, bool v2);
	void *context;
};

void ri_hierarchy_walk(const struct ri_hierarchy *hierarchy);

/* A number that such a cgroup may have in a file of its own. */
struct ri_group_limit {
	uint64_t number;		/* UINT64_MAX: none is set */
	char path[RI_CGROUP_PATH];	/* the file that says so; empty: none does */
};

/*
 * The smallest of them: memory.max or memory.limit_in_bytes, and pids.max. False
 * where no such file is there.
 */
bool ri_memory_limit_find(struct ri_group_limit *out, struct ri_host *host,
	struct ri_arena *arena);
bool ri_pids_limit_find(struct ri_group_limit *out, struct ri_host *host,
	struct ri_arena *arena);

#endif
