/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What processes here may use: by the cgroup of the container, which free(1) and nproc(1) do not
 * tell, and by limits that ranks inherit from the program that started it.
 */
#include "check/lookups.h"
#include "check/machine.h"

#define RANK_MEMORY ((uint64_t)2 << 30)

static const char mem_hint[] =
	"outside the image: docker run --memory; Kubernetes: resources.limits.memory; Slurm: --mem";

static void check_mem(struct ri_checking *checking)
{
	uint64_t least = checking->ranks * RANK_MEMORY;
	struct ri_group_limit limit;

	if (!ri_group_limit_find(&limit, RI_GROUP_MEMORY, checking->host, checking->arena)) {
		ri_check_unknown(checking, RI_CODE_CG_MEM_UNKNOWN, "memory",
			"no cgroup shows a memory limit");
	} else if (limit.number >= least) {
		ri_check_pass(checking, "memory", "%s", RI_SIZE_SHOWN(limit.number));
	} else {
		ri_check_lack(checking, RI_CODE_CG_MEM_SMALL, "memory",
			"all processes together may use %s", RI_SIZE_SHOWN(limit.number));
		ri_check_expected(checking, "at least %s for %llu rank%s",
			RI_SIZE_SHOWN(least), (unsigned long long)checking->ranks,
			checking->ranks == 1 ? "" : "s");
	}
}

const struct ri_check ri_check_cg_mem = {
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
	/* so the kubelet has it for each pod: no reason to refuse one */
	if (ri_cgroup_oom_kills_all(checking->host, &file)) {
		ri_check_note(checking, RI_CODE_CG_OOM_GROUP, "memory.oom.group",
			"where memory runs out the kernel kills the whole container, and rankinit "
			"with it: the exit status is 137, and no verdict says why");
		ri_check_hint(checking, "node admin: singleProcessOOMKill: true in the kubelet's "
			"configuration, since Kubernetes 1.32");
	}
}

const struct ri_check ri_check_cg_oom = {
	.summary = "whether memory ran out here before, and whether that ends rankinit, too",
	.reads = "oom_kill in memory.events or memory.oom_control, and memory.oom.group, of this "
		"cgroup (Linux admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst)",
	.fails = "processes were killed already, in an earlier job or attempt",
	.advice = mem_hint,
	.run = check_oom,
};

static void check_cpu(struct ri_checking *checking)
{
	struct ri_group_limit quota;
	bool set = ri_group_limit_find(&quota, RI_GROUP_CPU, checking->host, checking->arena);

	if (!set && !ri_host_has(checking->host, "proc/self/cgroup")) {
		ri_check_unknown(checking, RI_CODE_CG_CPU_UNKNOWN, "cpu",
			"no cgroup shows a CPU limit");
	} else if (!set) {
		ri_check_pass(checking, "cpu", "no quota");
	} else if (quota.number >= checking->ranks * 1000) {
		ri_check_pass(checking, "cpu", "CPU time of %.1f CPUs",
			(double)quota.number / 1000);
	} else {
		ri_check_lack(checking, RI_CODE_CG_CPU_SMALL, "cpu",
			"CPU time of %.1f CPUs for all", (double)quota.number / 1000);
		ri_check_expected(checking, "at least one CPU for each of %llu rank%s",
			(unsigned long long)checking->ranks, checking->ranks == 1 ? "" : "s");
	}
}

const struct ri_check ri_check_cg_cpu = {
	.summary = "how much CPU time all processes here may use",
	.reads = "cpu.max or cpu.cfs_quota_us of this cgroup and of those around it (Linux "
		"admin-guide/cgroup-v2.rst, scheduler/sched-bwc.rst)",
	.fails = "it is less than one CPU for each rank here",
	.advice = "outside the image: docker run --cpus; Kubernetes: resources.limits.cpu; "
		"inside: --omp-threads, because programs count the CPUs of the machine and not "
		"the CPU time granted",
	.run = check_cpu,
};

/* Less than this and a program that registers its buffers will run into it. */
#define ENOUGH_MEMLOCK ((uint64_t)1 << 30)

const char ri_memlock_hint[] =
	"outside the image: docker run --ulimit memlock=-1:-1 or --cap-add IPC_LOCK; Kubernetes: "
	"securityContext.capabilities.add: [IPC_LOCK], or node admin: LimitMEMLOCK=infinity for "
	"containerd; Azure ML: docker_args: \"--ulimit memlock=-1:-1\"";
/* The kernel asks for the capability in the first user namespace (Linux mm/mlock.c). */
static bool is_in_user_namespace(struct ri_host *host)
{
	struct ri_user_map map;

	return ri_machine_user_map(host, &map) && !map.is_whole;
}

static void check_memlock(struct ri_checking *checking)
{
	struct ri_status status;
	struct ri_limit limit;
	char adapters[4096];

	/* Linux ABI/stable/sysfs-class-infiniband: what memory is registered with */
	if (ri_ib_demand(checking) == NULL && ri_host_list(checking->host, "sys/class/infiniband",
		adapters, sizeof(adapters)) <= 0) {
		ri_check_skip(checking, "memlock", "no RDMA adapter is here to need it");
	} else if (!ri_machine_limit(checking->host, RI_LIMIT_MEMLOCK, &limit)) {
		ri_check_unknown(checking, RI_CODE_LIM_MEMLOCK_UNKNOWN, "memlock",
			"cannot be read");
	} else if (limit.soft >= ENOUGH_MEMLOCK) {
		ri_check_pass(checking, "memlock", "%s", RI_SIZE_SHOWN(limit.soft));
	} else if (!is_in_user_namespace(checking->host) &&
		ri_machine_status(checking->host, &status) &&
		ri_status_has(&status, RI_CAP_IPC_LOCK)) {
		ri_check_pass(checking, "memlock", "%s, which CAP_IPC_LOCK overrides",
			RI_SIZE_SHOWN(limit.soft));
	} else {
		ri_check_problem(checking, checking->ranks > 1 && ri_ib_is_usable(checking),
			RI_CODE_LIM_MEMLOCK_SMALL, "memlock", "may lock %s; RDMA adapters work on "
			"locked memory, and registering it fails with \"Cannot allocate memory\"",
			RI_SIZE_SHOWN(limit.soft));
		ri_check_expected(checking, "at least 1 GiB, or unlimited");
		if (limit.hard > limit.soft && limit.hard >= ENOUGH_MEMLOCK)
			ri_check_hint(checking, "inside: \"ulimit -l $(ulimit -H -l)\" in the "
				"shell that starts the ranks");
		else if (is_in_user_namespace(checking->host))
			ri_check_hint(checking, "outside the image: docker run --ulimit "
				"memlock=-1:-1 or --userns=host, because IPC_LOCK has no effect in "
				"a user namespace; Kubernetes: hostUsers: true; node admin: a "
				"higher limit for the service that starts the container");
	}
}

const struct ri_check ri_check_lim_memlock = {
	.summary = "enough memory can be locked for RDMA adapters",
	.reads = "RLIMIT_MEMLOCK (setrlimit(2)), CapEff in /proc/self/status (capabilities(7): "
		"CAP_IPC_LOCK), /proc/self/uid_map (user_namespaces(7)), /sys/class/infiniband "
		"(Linux ABI/stable/sysfs-class-infiniband), NCCL_IB_DISABLE (NCCL documentation)",
	.fails = "an RDMA adapter is here or requested, and less than 1 GiB may be locked without "
		"CAP_IPC_LOCK, which has no effect in a user namespace; a warning if several ranks "
		"are here, for InfiniBand or an adapter with a device file, unless NCCL_IB_DISABLE "
		"is 1",
	.advice = ri_memlock_hint,
	.runs = RI_CHECK_LAUNCH,
	RI_CHECK_HOLDS(RI_ABOUT(OFED) | RI_ABOUT(IB)),
	.holds_unknown = true,
	.run = check_memlock,
};

/* Sockets to all other ranks, data loaders, checkpoints: more than 1024 are soon used. */
enum { ENOUGH_FILES = 4096, RANK_PROCESSES = 64, ENOUGH_PROCESSES = 1024 };

static void check_nofile(struct ri_checking *checking)
{
	struct ri_limit limit;

	if (!ri_machine_limit(checking->host, RI_LIMIT_NOFILE, &limit)) {
		ri_check_unknown(checking, RI_CODE_LIM_NOFILE_UNKNOWN, "nofile", "cannot be read");
	} else if (limit.soft >= ENOUGH_FILES) {
		ri_check_pass(checking, "nofile", "%llu open files",
			(unsigned long long)limit.soft);
	} else {
		ri_check_lack(checking, RI_CODE_LIM_NOFILE_SMALL, "nofile",
			"a process may have %llu open files; with many ranks and data loaders that "
			"ends in \"Too many open files\"", (unsigned long long)limit.soft);
		ri_check_expected(checking, "at least %d", ENOUGH_FILES);
		if (limit.hard >= ENOUGH_FILES)
			ri_check_hint(checking, "inside: \"ulimit -n %d\" in the shell that starts "
				"the ranks", ENOUGH_FILES);
	}
}

const struct ri_check ri_check_lim_nofile = {
	.summary = "a process may open enough files",
	.reads = "RLIMIT_NOFILE (setrlimit(2))",
	.fails = "a process may have fewer than 4096 open files",
	.advice = "outside the image: docker run --ulimit nofile=1048576:1048576; Azure ML: "
		"docker_args: \"--ulimit nofile=1048576:1048576\"; Kubernetes: node admin: "
		"LimitNOFILE of containerd",
	.run = check_nofile,
};

static void judge_nproc(struct ri_checking *checking, uint64_t most, const char *subject)
{
	uint64_t least = checking->ranks * RANK_PROCESSES;

	if (least < ENOUGH_PROCESSES)
		least = ENOUGH_PROCESSES;
	if (most == UINT64_MAX) {
		ri_check_pass(checking, subject, "unlimited");
	} else if (most >= least) {
		ri_check_pass(checking, subject, "%llu processes and threads",
			(unsigned long long)most);
	} else {
		ri_check_lack(checking, RI_CODE_LIM_NPROC_SMALL, subject,
			"allows %llu processes and threads; one more ends in \"Resource "
			"temporarily unavailable\"", (unsigned long long)most);
		ri_check_expected(checking, "at least %llu for %llu rank%s",
			(unsigned long long)least, (unsigned long long)checking->ranks,
			checking->ranks == 1 ? "" : "s");
	}
}

/* The limit of a user does not bind root; that of the cgroup binds every user. */
static void check_nproc(struct ri_checking *checking)
{
	struct ri_group_limit group;
	struct ri_status status;
	struct ri_limit limit;

	if (ri_group_limit_find(&group, RI_GROUP_PIDS, checking->host, checking->arena))
		judge_nproc(checking, group.number, "pids.max");
	if (ri_machine_status(checking->host, &status) && status.uid != 0 &&
		ri_machine_limit(checking->host, RI_LIMIT_NPROC, &limit))
		judge_nproc(checking, limit.soft, "nproc");
	if (checking->count == 0)
		ri_check_unknown(checking, RI_CODE_LIM_NPROC_UNKNOWN, "pids.max",
			"no cgroup shows a limit of processes");
}

const struct ri_check ri_check_lim_nproc = {
	.summary = "enough processes and threads may exist",
	.reads = "pids.max of this cgroup and of those around it (Linux admin-guide/cgroup-v2.rst, "
		"cgroup-v1/pids.rst), and RLIMIT_NPROC (setrlimit(2)) if this user is not root",
	.fails = "they allow fewer than 1024 processes and threads, or fewer than 64 for each rank "
		"here",
	.advice = "outside the image: docker run --pids-limit=-1 --ulimit nproc=-1; Azure ML: the "
		"same in docker_args; Kubernetes: node admin: podPidsLimit of the kubelet",
	.run = check_nproc,
};
