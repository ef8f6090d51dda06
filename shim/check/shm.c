/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /dev/shm: what ranks of one node hand data through. It is a file system in
 * memory with a size of its own, 64 MiB in Docker and Kubernetes where nobody
 * says else. tmpfs gives out pages when they are touched, not when a file is
 * made that long: a page past its end is a SIGBUS, and so a data loader dies
 * of "Bus error", NCCL of "No space left on device".
 */
#include <stdio.h>
#include <string.h>

#include "check/check.h"
#include "check/machine.h"

static const char point[] = "/dev/shm";

/* What each rank may take of it, and what all of them need at least. */
#define RANK_BYTES ((uint64_t)256 << 20)
#define LEAST_BYTES ((uint64_t)1 << 30)
#define DOCKER_BYTES ((uint64_t)64 << 20)

static const char size_hint[] =
	"outside the image: docker run --shm-size=16g or --ipc=host; Kubernetes: an emptyDir with "
	"medium: Memory mounted at /dev/shm; Azure ML: shm_size: 16g in the job's resources";

/* Device nodes of GPUs, of whatever kind; only their names are looked at. */
static bool has_gpus(struct ri_host *host)
{
	static const char *const nodes[] = { "dev/nvidiactl", "dev/kfd", "dev/dxg" };

	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		if (ri_host_has(host, nodes[i]))
			return true;
	return false;
}

/* It is absent, or smaller than this demand or a job of several ranks wants. */
static void say_bad(struct ri_checking *checking, enum ri_code code, const char *what,
	const struct ri_demand *demand)
{
	if (checking->ranks > 1 && has_gpus(checking->host))
		ri_check_warn(checking, code, point, "%s", what);
	else
		ri_check_lack(checking, code, point, "%s", what);
	ri_check_asked(checking, ri_demands_find(checking->demands, RI_TOPIC_OFED));
	ri_check_asked(checking, demand);
	ri_check_hint(checking, "%s", size_hint);
}

static void judge_size(struct ri_checking *checking, const struct ri_space *space)
{
	const struct ri_demand *demand = ri_demands_unmet(checking->demands, RI_TOPIC_SHM,
		RI_DEMAND_SIZE, space->size);
	uint64_t least = checking->ranks * RANK_BYTES;
	char found[RI_SIZE_TEXT], wanted[RI_SIZE_TEXT], what[200];

	ri_size_show(found, space->size);
	if (least < LEAST_BYTES)
		least = LEAST_BYTES;
	if (demand == NULL && space->size >= least) {
		ri_check_pass(checking, point, "%s", found);
		return;
	}
	snprintf(what, sizeof(what), "has %s%s; when it is full data loaders end by SIGBUS, and "
		"NCCL does not start", found,
		space->size == DOCKER_BYTES ? ", what Docker gives where nobody says else" : "");
	say_bad(checking, RI_CODE_SHM_SIZE_SMALL, what, demand);
	if (demand != NULL)
		ri_check_expected(checking, "at least %s (%s)", ri_size_show(wanted, demand->size),
			demand->subject);
	else
		ri_check_expected(checking, "at least %s for %llu rank%s",
			ri_size_show(wanted, least), (unsigned long long)checking->ranks,
			checking->ranks == 1 ? "" : "s");
}

static void check_size(struct ri_checking *checking)
{
	const struct ri_demand *demand = ri_demands_find(checking->demands, RI_TOPIC_SHM);
	struct ri_space space;
	int found = ri_machine_space(checking->host, point, &space);

	if (found < 0 || (found > 0 && space.size == 0)) {
		ri_check_unknown(checking, RI_CODE_SHM_SIZE_UNKNOWN, point,
			"its size cannot be read");
		ri_check_asked(checking, demand);
	} else if (found == 0) {
		say_bad(checking, RI_CODE_SHM_SIZE_ABSENT, "nothing is mounted there", demand);
	} else if (strcmp(space.type, "tmpfs") != 0) {
		say_bad(checking, RI_CODE_SHM_SIZE_ABSENT, "is no file system in memory", demand);
	} else {
		judge_size(checking, &space);
	}
}

const struct ri_check ri_check_shm_size = {
	.id = "shm.size",
	.summary = "/dev/shm holds what the ranks of a node share",
	.reads = "/proc/self/mountinfo, and the size of the file system at /dev/shm (proc(5), "
		"tmpfs(5))",
	.fails = "it is no tmpfs, or smaller than asked for, or than 1 GiB or 256 MiB for each "
		"rank here; a warning where several ranks with GPUs are here",
	.advice = size_hint,
	.when = RI_CHECK_SEVERAL,
	.topics = RI_ABOUT(SHM) | RI_ABOUT(OFED),
	.run = check_size,
};
