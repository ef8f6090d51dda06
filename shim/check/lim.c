/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of processes, which ranks inherit from whoever started the container. */
#include "check/check.h"
#include "check/machine.h"

/* Less than this and a program that registers its buffers will run into it. */
#define ENOUGH_MEMLOCK ((uint64_t)1 << 30)

static const char memlock_hint[] =
	"outside the image: docker run --ulimit memlock=-1:-1 or --cap-add IPC_LOCK; Kubernetes: "
	"securityContext.capabilities.add: [IPC_LOCK], or node admin: LimitMEMLOCK=infinity for "
	"containerd; Azure ML: docker_args: \"--ulimit memlock=-1:-1\"";

/* Is there anything that memory is registered with (Linux ABI/stable/sysfs-class-infiniband)? */
static bool has_adapter(struct ri_host *host)
{
	char names[4096];

	return ri_host_list(host, "sys/class/infiniband", names, sizeof(names)) > 0;
}

/* The firmest demand for what needs locked memory. */
static const struct ri_demand *rdma_demand(const struct ri_demands *demands)
{
	const struct ri_demand *ofed = ri_demands_find(demands, RI_TOPIC_OFED);
	const struct ri_demand *ib = ri_demands_find(demands, RI_TOPIC_IB);

	return ofed == NULL || (ib != NULL && ib->asker > ofed->asker) ? ib : ofed;
}

static void say_memlock(struct ri_checking *checking, const struct ri_limit *limit)
{
	static const char about[] =
		"may lock %s; adapters for RDMA work on locked memory, and registering "
		"it fails with \"Cannot allocate memory\"";
	char soft[RI_SIZE_TEXT];

	ri_size_show(soft, limit->soft);
	if (checking->ranks > 1 && has_adapter(checking->host))
		ri_check_warn(checking, RI_CODE_LIM_MEMLOCK_SMALL, "memlock", about, soft);
	else
		ri_check_lack(checking, RI_CODE_LIM_MEMLOCK_SMALL, "memlock", about, soft);
	ri_check_asked(checking, rdma_demand(checking->demands));
	ri_check_expected(checking, "unlimited");
	if (limit->hard > limit->soft && limit->hard >= ENOUGH_MEMLOCK)
		ri_check_hint(checking, "inside: \"ulimit -l $(ulimit -H -l)\" in the shell that "
			"starts the ranks");
	else
		ri_check_hint(checking, "%s", memlock_hint);
}

static void check_memlock(struct ri_checking *checking)
{
	const struct ri_demand *demand = rdma_demand(checking->demands);
	struct ri_limit limit;
	struct ri_status status;
	char soft[RI_SIZE_TEXT];

	if (demand == NULL && !has_adapter(checking->host)) {
		ri_check_skip(checking, "memlock", "no adapter for RDMA is here to need it");
	} else if (!ri_machine_limit(checking->host, RI_LIMIT_MEMLOCK, &limit)) {
		ri_check_unknown(checking, RI_CODE_LIM_MEMLOCK_UNKNOWN, "memlock",
			"cannot be read");
		ri_check_asked(checking, demand);
	} else if (limit.soft >= ENOUGH_MEMLOCK) {
		ri_check_pass(checking, "memlock", "%s", ri_size_show(soft, limit.soft));
	} else if (ri_machine_status(checking->host, &status) &&
		ri_status_has(&status, RI_CAP_IPC_LOCK)) {
		ri_check_pass(checking, "memlock", "%s, which CAP_IPC_LOCK overrides",
			ri_size_show(soft, limit.soft));
	} else {
		say_memlock(checking, &limit);
	}
}

const struct ri_check ri_check_lim_memlock = {
	.id = "lim.memlock",
	.summary = "enough memory can be locked for adapters that work on it",
	.reads = "RLIMIT_MEMLOCK (setrlimit(2)), CapEff in /proc/self/status (capabilities(7): "
		"CAP_IPC_LOCK), /sys/class/infiniband (Linux ABI/stable/sysfs-class-infiniband)",
	.fails = "there is an adapter for RDMA, or one is asked for, and less than 1 GiB may be "
		"locked without CAP_IPC_LOCK; a warning where several ranks are here",
	.advice = memlock_hint,
	.when = RI_CHECK_SEVERAL,
	.topics = RI_ABOUT(OFED) | RI_ABOUT(IB),
	.run = check_memlock,
};
