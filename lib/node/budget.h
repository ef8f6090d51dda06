/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of the machine's CPUs is ours: the ones we may run on, and the
 * time that the cgroup grants us on them.
 */
#ifndef RI_NODE_BUDGET_H
#define RI_NODE_BUDGET_H

#include "base/cgroup.h"
#include "node/node.h"

/* A quota of CPU time; none where milli is 0. */
struct ri_quota {
	uint64_t milli;			/* thousandths of a CPU */
	char path[RI_CGROUP_PATH];	/* the file that says so */
};

struct ri_budget {
	struct ri_cpus cpus;	/* where we may run; never empty */
	size_t count;		/* how many these are */
	struct ri_quota quota;
	uint64_t usable;	/* whole CPUs within both, at least 1 */
};

/*
 * The smallest quota of our cgroup and those around it, as far as they are
 * mounted: cpu.max of version 2 (kernel documentation,
 * admin-guide/cgroup-v2.rst), cpu.cfs_quota_us and cpu.cfs_period_us of
 * version 1 (scheduler/sched-bwc.rst).
 */
void ri_quota_find(struct ri_quota *out, const struct ri_node *node);

/*
 * Cpus_allowed_list of a process, from its status file (proc(5)); what is
 * offline may be in it.
 */
bool ri_cpus_read_allowed(struct ri_host *host, const char *path, struct ri_cpus *out);

/* Returns 0, or -1 with RI_CODE_CPU_UNKNOWN. */
int ri_budget_find(struct ri_budget *out, const struct ri_node *node, struct ri_error *err);

#endif
