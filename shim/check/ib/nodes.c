/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of RDMA devices. sysfs shows devices in every container, their
 * nodes are there only when somebody asked for them; libibverbs passes over
 * devices without a node, and programs use sockets without a word.
 */
#include <errno.h>

#include "check/ib/ib.h"

static const char folder[] = "/dev/infiniband";

static const char absent_hint[] =
	"outside the image: docker run --device=/dev/infiniband (with the NVIDIA runtime also "
	"-e NVIDIA_MOFED=enabled); Kubernetes: the resource of an RDMA device plug-in, such as "
	"rdma/hca; Azure ML: docker_args: \"--device=/dev/infiniband\"";
static const char denied_hint[] =
	"outside the image: the device cgroup denies access, though the file is there: docker run "
	"--device=/dev/infiniband, not -v; Kubernetes: the RDMA device plug-in, not a hostPath";
static const char mode_hint[] =
	"outside the image: run as root, or node admin: mode 0666 for /dev/infiniband/uverbs* "
	"(rdma-core's udev rules); an image cannot change it";
static const char failed_hint[] =
	"node admin: check the driver's messages for this device; restart the container after a "
	"reset of the device";

/* What one errno is called, and what to do about it. */
struct kind {
	enum ri_code code;
	const char *text, *hint;
};

static struct kind kind_of(int error)
{
	switch (error) {
	case ENOENT:
		return (struct kind){ RI_CODE_IB_UVERBS_ABSENT,
			"in sysfs, but without a device file in /dev/infiniband", absent_hint };
	case EPERM:
		return (struct kind){ RI_CODE_IB_UVERBS_DENIED,
			"with a device file that the device cgroup does not let it "
			"open", denied_hint };
	case EACCES:
		return (struct kind){ RI_CODE_IB_UVERBS_MODE,
			"with a device file whose mode does not let this user open it", mode_hint };
	default:
		return (struct kind){ RI_CODE_IB_UVERBS_FAILED,
			"with a device file that cannot be used", failed_hint };
	}
}

/* Devices whose node can be opened; those over InfiniBand alone, where there are any. */
static size_t count_usable(const struct ri_hcas *hcas, const struct ri_verbs_all *verbs)
{
	bool infiniband = ri_ib_count(hcas, RI_LINK_INFINIBAND) > 0;
	size_t usable = 0;

	for (size_t i = 0; i < verbs->count; i++)
		usable += verbs->list[i].error == 0 &&
			(!infiniband || ri_hca_has(&hcas->list[i], RI_LINK_INFINIBAND));
	return usable;
}

/* All that fail as this one does, in one result. */
static void say_bad(struct ri_checking *checking, const struct ri_hcas *hcas,
	const struct ri_verbs_all *verbs, int error)
{
	size_t usable = count_usable(hcas, verbs);
	bool infiniband = ri_ib_count(hcas, RI_LINK_INFINIBAND) > 0;
	struct kind kind = kind_of(error);
	struct ri_row row = { .count = 0 };
	bool crawls;

	for (size_t i = 0; i < verbs->count; i++)
		if (verbs->list[i].error == error)
			ri_row_add(&row, verbs->list[i].hca);
	/* several nodes talk over sockets then; a pod may have been given some of many */
	crawls = usable == 0 && ri_ib_matters(checking);
	ri_check_problem(checking, crawls, kind.code, ri_row_end(&row), "%s%s", kind.text,
		crawls ? "; NCCL and MPI use TCP instead" : "");
	if (infiniband)
		ri_ib_asked(checking, usable);
	else if (usable == 0)
		ri_check_asked(checking, ri_demands_find(checking->demands, RI_TOPIC_OFED));
	ri_check_hint(checking, "%s", kind.hint);
}

/* Did a device before this one fail in the same way? */
static bool is_repeated(const struct ri_verbs_all *verbs, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (verbs->list[i].error == verbs->list[at].error)
			return true;
	return false;
}

static void check_uverbs(struct ri_checking *checking)
{
	const struct ri_verbs_all *verbs = ri_ib_open(checking);
	const struct ri_hcas *hcas = ri_ib_look(checking);
	size_t bad = 0;

	for (size_t i = 0; i < verbs->count; i++) {
		const struct ri_verbs *one = &verbs->list[i];

		bad += one->error != 0 || one->stale;
		if (one->error != 0 && !is_repeated(verbs, i)) {
			say_bad(checking, hcas, verbs, one->error);
		} else if (one->stale) {
			ri_check_lack(checking, RI_CODE_IB_UVERBS_STALE, one->hca,
				"%s belongs to another device: the device was reset after the "
				"container was started", one->node);
			ri_check_hint(checking, "outside the image: start the container again");
		}
	}
	if (bad == 0)
		ri_check_pass(checking, folder, "the device file%s of %zu adapter%s can be opened",
			verbs->count == 1 ? "" : "s", verbs->count, verbs->count == 1 ? "" : "s");
}

const struct ri_check ri_check_ib_uverbs = {
	.id = "ib.uverbs",
	.summary = "the device files of RDMA adapters can be opened",
	.reads = "/sys/class/infiniband_verbs, and /dev/infiniband/uverbsN, which is opened and "
		"closed (rdma-core libibverbs/init.c)",
	.fails = "the device file of an adapter is missing, denied by the device cgroup or its "
		"mode, or cannot be used; a warning if none on InfiniBand can be used and the job "
		"has several nodes",
	.advice = absent_hint,
	.runs = RI_CHECK_LAUNCH,
	.needs = &ri_ib_needs_device,
	.topics = RI_ABOUT(IB) | RI_ABOUT(OFED),
	.run = check_uverbs,
};
