/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /dev/shm: what ranks of one node hand data through. It is a file system in
 * memory with a size of its own, 64 MiB in Docker and Kubernetes by
 * default. tmpfs gives out pages when they are touched, not when a file is
 * made that long: a page past its end is a SIGBUS, and so a data loader dies
 * of "Bus error", NCCL of "No space left on device".
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check/check.h"
#include "check/machine.h"
#include "node/devices.h"

static const char point[] = "/dev/shm";

#define DOCKER_BYTES ((uint64_t)64 << 20)

/* A size as docker run takes it. */
#define SIZE_HINT(size) \
	"outside the image: docker run --shm-size=" size " or --ipc=host; Kubernetes: an " \
	"emptyDir with medium: Memory mounted at /dev/shm; Azure ML: shm_size: " size " in the " \
	"job's resources"

/* Enough for most, where the user does not ask for more. */
#define USUAL_BYTES ((uint64_t)16 << 30)

/* "16g": the largest unit of which it is so many. */
static void show_flag(char out[RI_SIZE_TEXT], uint64_t bytes)
{
	static const char units[] = "bkmg";
	unsigned unit = 0;

	while (units[unit + 1] != '\0' && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	snprintf(out, RI_SIZE_TEXT, "%" PRIu64 "%c", bytes, units[unit]);
}

static void check_size(struct ri_checking *checking)
{
	const struct ri_demand *demand = ri_demands_find(checking->demands, RI_TOPIC_SHM);
	uint64_t least = ri_machine_shm_least(checking->ranks);
	bool needed = checking->ranks > 1 && ri_gpu_node_find(checking->host, false) != NULL;
	char size[RI_SIZE_TEXT];
	struct ri_space space;
	bool in_memory;
	int mounted;

	if (!checking->asked && !needed) {
		ri_check_skip(checking, point, "only several ranks with GPUs need it");
		return;
	}
	mounted = ri_machine_space(checking->host, point, &space);
	in_memory = mounted > 0 && strcmp(space.type, "tmpfs") == 0;
	if (mounted < 0 || (in_memory && space.size == 0)) {
		ri_check_unknown(checking, RI_CODE_SHM_SIZE_UNKNOWN, point,
			"its size cannot be read");
		ri_check_asked(checking, demand);
		return;
	}
	if (!in_memory) {
		ri_check_problem(checking, needed, RI_CODE_SHM_SIZE_ABSENT, point, "%s",
			mounted == 0 ? "nothing is mounted there"
				: "is not a file system in memory");
		ri_check_asked(checking, demand);
	} else {
		demand = ri_demands_unmet(checking->demands, RI_TOPIC_SHM, RI_DEMAND_SIZE,
			space.size);
		if (demand == NULL && space.size >= least) {
			ri_check_pass(checking, point, "%s", RI_SIZE_SHOWN(space.size));
			return;
		}
		ri_check_problem(checking, needed, RI_CODE_SHM_SIZE_SMALL, point, "has %s%s; if it "
			"is full, data loaders end with SIGBUS and NCCL does not start",
			RI_SIZE_SHOWN(space.size),
			space.size == DOCKER_BYTES ? ", the default of Docker" : "");
		ri_check_asked(checking, demand);
		if (demand != NULL)
			ri_check_expected(checking, "at least %s (%s)",
				RI_SIZE_SHOWN(demand->size), demand->subject);
		else
			ri_check_expected(checking, "at least %s for %llu rank%s",
				RI_SIZE_SHOWN(least), (unsigned long long)checking->ranks,
				checking->ranks == 1 ? "" : "s");
	}
	show_flag(size, demand != NULL ? demand->size : least > USUAL_BYTES ? least : USUAL_BYTES);
	ri_check_hint(checking, SIZE_HINT("%s"), size, size);
}

const struct ri_check ri_check_shm_size = {
	.summary = "/dev/shm has room for what the ranks of a node share",
	.reads = "/proc/self/mountinfo, and the size of the file system at /dev/shm (proc(5), "
		"tmpfs(5))",
	.fails = "it is not a tmpfs, or smaller than requested, or smaller than 1 GiB or 256 MiB "
		"for each rank here; a warning if several ranks with GPUs are here",
	.advice = SIZE_HINT("16g"),
	.runs = RI_CHECK_LAUNCH,
	.topics = RI_ABOUT(SHM) | RI_ABOUT(OFED),
	.holds = RI_ABOUT(OFED),
	.run = check_size,
};

static const char free_hint[] =
	"programs that ended without cleaning up leave segments there (nccl-*, torch_*, psm_*, "
	"vader_segment*); with --ipc=host the whole machine shares them. Inside: remove those that "
	"no process has open";

static void check_free(struct ri_checking *checking)
{
	struct ri_space space;
	int found = ri_machine_space(checking->host, point, &space);

	if (found == 0 || (found > 0 && strcmp(space.type, "tmpfs") != 0)) {
		ri_check_skip(checking, point, "is not a file system in memory");
		return;
	}
	if (found < 0 || !space.knows_free) {
		ri_check_unknown(checking, RI_CODE_SHM_FREE_UNKNOWN, point,
			"cannot tell how much of it is free");
		return;
	}
	if (space.free >= space.size / 2)
		ri_check_pass(checking, point, "%s of %s are free", RI_SIZE_SHOWN(space.free),
			RI_SIZE_SHOWN(space.size));
	else
		ri_check_lack(checking, RI_CODE_SHM_FREE_SMALL, point, "only %s of %s are free",
			RI_SIZE_SHOWN(space.free), RI_SIZE_SHOWN(space.size));
}

const struct ri_check ri_check_shm_free = {
	.summary = "/dev/shm is not full of files that others left there",
	.reads = "the size and the free space of the file system at /dev/shm (statvfs(3))",
	.fails = "less than half of it is free",
	.advice = free_hint,
	.run = check_free,
};

static const char write_hint[] =
	"outside the image: mount /dev/shm writable (docker run -v without :ro; Kubernetes: "
	"volumeMounts without readOnly), with mode 1777 if the ranks are not root";

static void check_write(struct ri_checking *checking)
{
	int fd, error;

	if (!checking->asked && checking->ranks <= 1) {
		ri_check_skip(checking, point, "a single rank does not need it");
		return;
	}
	if (!checking->host->live) {
		ri_check_unknown(checking, RI_CODE_SHM_WRITE_UNKNOWN, point,
			"nothing can be written to a recorded machine");
		return;
	}
	/* a file without a name: it is gone when it is closed */
	fd = ri_host_open(checking->host, point, O_TMPFILE | O_RDWR);
	error = fd < 0 ? errno : 0;
	if (fd >= 0) {
		close(fd);
		ri_check_pass(checking, point, "files can be created there");
	} else if (error == ENOENT) {
		ri_check_skip(checking, point, "does not exist");
	} else if (error == EACCES || error == EROFS || error == ENOSPC || error == EPERM) {
		ri_check_warn(checking, RI_CODE_SHM_WRITE_DENIED, point,
			"no file can be created there: %s", strerror(error));
		ri_check_hint(checking, "%s", error == ENOSPC ? free_hint : write_hint);
	} else {
		ri_check_unknown(checking, RI_CODE_SHM_WRITE_UNKNOWN, point,
			"cannot tell whether files can be created there: %s", strerror(error));
	}
}

const struct ri_check ri_check_shm_write = {
	.summary = "files can be created in /dev/shm",
	.reads = "/dev/shm, by creating a file without a name (open(2): O_TMPFILE)",
	.fails = "the kernel refuses to create one",
	.advice = write_hint,
	.runs = RI_CHECK_LAUNCH,
	RI_CHECK_HOLDS(RI_ABOUT(SHM)),
	.run = check_write,
};
