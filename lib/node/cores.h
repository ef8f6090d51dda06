/* SPDX-License-Identifier: Apache-2.0 */
/* How the CPUs that are ours belong together: NUMA nodes, and whole cores. */
#ifndef RI_NODE_CORES_H
#define RI_NODE_CORES_H

#include "node/node.h"

/* The NUMA nodes that have some of our CPUs, by number. */
struct ri_numa {
	struct ri_cpus *list;	/* what is ours of each */
	size_t count;		/* 0: the machine does not say */
};

/*
 * Kernel documentation, ABI/stable/sysfs-devices-node. Returns 0, or -1 with
 * RI_CODE_MEMORY.
 */
int ri_numa_find(struct ri_numa *out, const struct ri_node *node, const struct ri_cpus *ours,
	struct ri_error *err);

/* Our CPUs in an order in which those of a core, and then those of a NUMA node, are neighbours. */
struct ri_cores {
	uint16_t *cpus;
	uint16_t *starts;	/* core i is cpus[starts[i]] up to cpus[starts[i + 1]] */
	size_t count;
};

/*
 * Kernel documentation, admin-guide/cputopology.rst. A CPU of which nothing is
 * known is a core. Returns 0, or -1 with RI_CODE_MEMORY.
 */
int ri_cores_find(struct ri_cores *out, const struct ri_node *node, const struct ri_cpus *ours,
	struct ri_error *err);

/* The CPUs of the cores first..last-1. */
void ri_cores_take(const struct ri_cores *cores, size_t first, size_t last, struct ri_cpus *out);

#endif
