/* SPDX-License-Identifier: Apache-2.0 */
/* What the cgroup of the container grants, which free(1) and nproc(1) do not tell. */

#include "base/cgroup.h"
#include "check/check.h"
#include "node/budget.h"
#include "node/hierarchy.h"

#define RANK_MEMORY ((uint64_t)2 << 30)

static const char mem_hint[] =
	"outside the image: docker run --memory; Kubernetes: resources.limits.memory; Slurm: --mem";

static void check_mem(struct ri_checking *checking)
{
	uint64_t least = checking->ranks * RANK_MEMORY;
	struct ri_group_limit limit;
	char found[RI_SIZE_TEXT], wanted[RI_SIZE_TEXT];

	if (!ri_memory_limit_find(&limit, checking->host, checking->arena)) {
		ri_check_unknown(checking, RI_CODE_CG_MEM_UNKNOWN, "memory",
			"no cgroup shows a memory limit");
	} else if (limit.number >= least) {
		ri_check_pass(checking, "memory", "%s", ri_size_show(found, limit.number));
	} else {
		ri_check_lack(checking, RI_CODE_CG_MEM_SMALL, "memory",
			"all processes together may use %s", ri_size_show(found, limit.number));
		ri_check_expected(checking, "at least %s for %llu rank%s",
			ri_size_show(wanted, least), (unsigned long long)checking->ranks,
			checking->ranks == 1 ? "" : "s");
	}
}

const struct ri_check ri_check_cg_mem = {
	.id = "cg.mem",
	.summary = "how much memory all processes here may use",
	.reads = "memory.max or memory.limit_in_bytes of this cgroup and of those around it (Linux "
		"admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst)",
	.fails = "it is less than 2 GiB for each rank here",
	.advice = mem_hint,
	.run = check_mem,
};

static void check_oom(struct ri_checking *checking)
{
	struct ri_cgroup_oom file;
	uint64_t kills;

	if (ri_cgroup_oom_find(checking->host, &file, &kills) < 0) {
		ri_check_unknown(checking, RI_CODE_CG_OOM_UNKNOWN, "oom_kill",
			"no cgroup counts out-of-memory kills");
	} else if (kills == 0) {
		ri_check_pass(checking, "oom_kill", "no out-of-memory kills so far");
	} else {
		ri_check_lack(checking, RI_CODE_CG_OOM_KILLS, "oom_kill",
			"%llu process%s %s killed here already because memory ran out",
			(unsigned long long)kills, kills == 1 ? "" : "es",
			kills == 1 ? "was" : "were");
		ri_check_hint(checking, "what ran here before needed more memory than this "
			"container may use; %s", mem_hint);
	}
}

const struct ri_check ri_check_cg_oom = {
	.id = "cg.oom",
	.summary = "whether memory ran out here before",
	.reads = "oom_kill in memory.events or memory.oom_control of this cgroup (Linux "
		"admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst)",
	.fails = "processes were killed already, in an earlier job or attempt",
	.advice = mem_hint,
	.run = check_oom,
};

static void check_cpu(struct ri_checking *checking)
{
	const struct ri_node node = {
		.host = checking->host, .env = checking->env, .arena = checking->arena,
	};
	struct ri_quota quota;

	ri_quota_find(&quota, &node);
	if (quota.milli == 0 && !ri_host_has(checking->host, "proc/self/cgroup")) {
		ri_check_unknown(checking, RI_CODE_CG_CPU_UNKNOWN, "cpu",
			"no cgroup shows a CPU limit");
	} else if (quota.milli == 0) {
		ri_check_pass(checking, "cpu", "no quota");
	} else if (quota.milli >= checking->ranks * 1000) {
		ri_check_pass(checking, "cpu", "CPU time of %.1f CPUs", (double)quota.milli / 1000);
	} else {
		ri_check_lack(checking, RI_CODE_CG_CPU_SMALL, "cpu", "CPU time of %.1f CPUs for "
			"all",
			(double)quota.milli / 1000);
		ri_check_expected(checking, "at least one CPU for each of %llu rank%s",
			(unsigned long long)checking->ranks, checking->ranks == 1 ? "" : "s");
	}
}

const struct ri_check ri_check_cg_cpu = {
	.id = "cg.cpu",
	.summary = "how much CPU time all processes here may use",
	.reads = "cpu.max or cpu.cfs_quota_us of this cgroup and of those around it (Linux "
		"admin-guide/cgroup-v2.rst, scheduler/sched-bwc.rst)",
	.fails = "it is less than one CPU for each rank here",
	.advice = "outside the image: docker run --cpus; Kubernetes: resources.limits.cpu; "
		"inside: --omp-threads, because programs count the CPUs of the machine and not "
		"the CPU time granted",
	.run = check_cpu,
};
