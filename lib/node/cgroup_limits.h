/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What our cgroup grants. A limit of any cgroup around it is one of ours, as far as these are
 * mounted (kernel documentation, admin-guide/cgroup-v2.rst and cgroup-v1/).
 */
#ifndef RI_NODE_CGROUP_LIMITS_H
#define RI_NODE_CGROUP_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cgroup.h"
#include "base/host.h"

enum ri_group_kind {
	RI_GROUP_CPU,		/* thousandths of a CPU, at least 1 */
	RI_GROUP_MEMORY,	/* bytes */
	RI_GROUP_PIDS,		/* processes and threads */
};

struct ri_group_limit {
	uint64_t number;		/* UINT64_MAX: none is set */
	char path[RI_CGROUP_PATH];	/* the file that says so; empty: none does */
};

/* The smallest of a kind. False where no such file is there, or none of the CPU says a number. */
bool ri_group_limit_find(struct ri_group_limit *out, enum ri_group_kind kind,
	struct ri_host *host, struct ri_arena *arena);

#endif
