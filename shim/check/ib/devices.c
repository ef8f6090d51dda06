/* SPDX-License-Identifier: Apache-2.0 */
/* Which RDMA devices there are, over what they send, and whether their device files open. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check/ib/ib.h"

static const char folder[] = "/sys/class/infiniband";

const char ri_ib_absent_hint[] =
	"outside the image: a machine with InfiniBand (Azure: a size with an r, such as "
	"ND96isr_H100_v5); node admin: load the driver (mlx5_core, mlx5_ib) on the host";

/* This VM has RDMA of the kind that no guest ever sees a device of. */
static bool is_direct(const struct ri_checking *checking)
{
	return checking->azure_size != NULL &&
		checking->azure_size->network == RI_AZURE_NETWORK_DIRECT;
}

static void check_dev(struct ri_checking *checking)
{
	const struct ri_hcas *hcas = ri_ib_look(checking);
	const struct ri_azure_size *size = checking->azure_size;
	struct ri_row row = { .count = 0 };
	char others[48] = "";
	size_t other = ri_ib_count(hcas, RI_LINK_OTHER);	/* such as EFA of AWS */

	if (hcas->count > 0) {
		for (size_t i = 0; i < hcas->count; i++)
			ri_row_add(&row, hcas->list[i].name);
		if (other > 0)
			snprintf(others, sizeof(others), ", %zu of another kind", other);
		ri_check_pass(checking, folder, "%s: %zu on InfiniBand, %zu on Ethernet%s",
			ri_row_end(&row), ri_ib_count(hcas, RI_LINK_INFINIBAND),
			ri_ib_count(hcas, RI_LINK_ETHERNET), others);
	} else if (!hcas->exclusive && ri_ib_demand(checking) == NULL &&
		ri_demands_check(checking->demands, checking->number, false) == NULL) {
		ri_check_skip(checking, folder, "no RDMA device is here, and none is requested");
	} else if (is_direct(checking)) {
		ri_check_skip(checking, folder, "%s never shows a device: see ib.nonsriov",
			size->name);
	} else if (hcas->error != 0 &&
		(hcas->error != ENOENT || !ri_host_has(checking->host, "sys/class"))) {
		ri_check_unknown(checking, RI_CODE_IB_DEV_UNKNOWN, folder, "%s",
			hcas->error != ENOENT ? strerror(hcas->error)
			: "no sysfs is mounted here, so devices cannot be listed");
		ri_ib_asked(checking, 0);
	} else {
		ri_check_lack(checking, RI_CODE_IB_DEV_ABSENT, folder, "no RDMA device is here%s",
			hcas->exclusive ? "; each device is visible in only one network namespace"
			: "");
		ri_ib_asked(checking, 0);
		ri_check_expected_count(checking,
			ri_demands_unmet(checking->demands, RI_TOPIC_IB, RI_DEMAND_COUNT, 0));
		if (hcas->exclusive)
			ri_check_hint(checking, "node admin: \"rdma system set netns shared\", or "
				"a network plug-in that moves a device into the container's "
				"namespace");
		else if (size != NULL && size->network == RI_AZURE_ETHERNET)
			ri_check_hint(checking, "%s has no InfiniBand: take a size with an r in "
				"its name, such as ND96isr_H100_v5, or do not request InfiniBand",
				size->name);
	}
}

const struct ri_check ri_check_ib_dev = {
	.summary = "RDMA devices are here",
	.reads = "/sys/class/infiniband, netns_mode of ib_core (Linux "
		"ABI/stable/sysfs-class-infiniband, rdma-system(8))",
	.fails = "no device is here",
	.advice = ri_ib_absent_hint,
	.topics = RI_ABOUT(IB) | RI_ABOUT(OFED),
	.run = check_dev,
};

static const char direct_hint[] =
	"NCCL_IB_DISABLE=1 in the job's environment, so that NCCL does not look for it; only Intel "
	"MPI 2018 or older can use it (I_MPI_FABRICS=shm:dapl); for verbs take a size with SR-IOV, "
	"such as ND40rs_v2";

const char *ri_ib_direct_hint(const struct ri_checking *checking)
{
	return is_direct(checking) ? direct_hint : NULL;
}

static void check_nonsriov(struct ri_checking *checking)
{
	if (!is_direct(checking)) {
		ri_check_skip(checking, "azure=SIZE", "no VM size without SR-IOV is given");
	} else if (!checking->asked && !ri_topology_is_wide(checking->topology)) {
		ri_check_skip(checking, "azure=SIZE", "a job of one node does not need it");
	} else if (ri_ib_look(checking)->count > 0) {
		ri_check_pass(checking, checking->azure_size->name, "shows RDMA devices anyway");
	} else {
		ri_check_warn(checking, RI_CODE_IB_NONSRIOV_SIZE, checking->azure_size->name,
			"has RDMA without SR-IOV: programs that use verbs, such as NCCL, cannot "
			"use it, whatever is installed");
		ri_ib_asked(checking, 0);
	}
}

const struct ri_check ri_check_ib_nonsriov = {
	.summary = "the VM size has RDMA that verbs can use",
	.reads = "the VM size of azure=SIZE and its table, /sys/class/infiniband (Azure "
		"documentation, \"Distributed GPU training guide\": NC24r)",
	.fails = "the size has RDMA without SR-IOV",
	.advice = direct_hint,
	.runs = RI_CHECK_LAUNCH,
	.topics = RI_ABOUT(IB) | RI_ABOUT(OFED),
	.run = check_nonsriov,
};

/*
 * The nodes of RDMA devices. sysfs shows devices in every container, their
 * nodes are there only when somebody asked for them; libibverbs passes over
 * devices without a node, and programs use sockets without a word.
 */
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

/* TABLE: what one errno is called, and what to do about it; the last row is for all others. */
static const struct kind {
	int error;
	enum ri_code code;
	const char *text, *hint;
} kinds[] = {
	{ ENOENT, RI_CODE_IB_UVERBS_ABSENT,
		"in sysfs, but without a device file in /dev/infiniband", absent_hint },
	{ EPERM, RI_CODE_IB_UVERBS_DENIED,
		"with a device file that the device cgroup does not let it open", denied_hint },
	{ EACCES, RI_CODE_IB_UVERBS_MODE,
		"with a device file whose mode does not let this user open it", mode_hint },
	{ 0, RI_CODE_IB_UVERBS_FAILED, "with a device file that cannot be used", failed_hint },
};

/* All that fail as this one does, in one result. */
static void say_bad(struct ri_checking *checking, const struct ri_hcas *hcas, int error)
{
	bool infiniband = ri_ib_count(hcas, RI_LINK_INFINIBAND) > 0, crawls;
	const struct kind *kind = kinds;
	struct ri_row row = { .count = 0 };
	size_t usable = 0;

	while (kind->error != 0 && kind->error != error)
		kind++;
	/* those over InfiniBand alone can be used, where there are any */
	for (size_t i = 0; i < hcas->count; i++) {
		usable += hcas->list[i].error == 0 &&
			(!infiniband || ri_hca_has(&hcas->list[i], RI_LINK_INFINIBAND));
		if (hcas->list[i].error == error)
			ri_row_add(&row, hcas->list[i].name);
	}
	/* several nodes talk over sockets then; a pod may have been given some of many */
	crawls = usable == 0 && ri_ib_matters(checking);
	ri_check_problem(checking, crawls, kind->code, ri_row_end(&row), "%s%s", kind->text,
		crawls ? "; NCCL and MPI use TCP instead" : "");
	if (infiniband)
		ri_ib_asked(checking, usable);
	else if (usable == 0)
		ri_check_asked(checking, ri_demands_find(checking->demands, RI_TOPIC_OFED));
	ri_check_hint(checking, "%s", kind->hint);
}

static void check_uverbs(struct ri_checking *checking)
{
	const struct ri_hcas *hcas = ri_ib_open(checking);
	size_t bad = 0;

	for (size_t i = 0; i < hcas->count; i++) {
		const struct ri_hca *hca = &hcas->list[i];
		size_t first = 0;

		while (hcas->list[first].error != hca->error)
			first++;
		bad += hca->error != 0 || hca->stale;
		if (hca->error != 0 && first == i) {
			say_bad(checking, hcas, hca->error);
		} else if (hca->stale) {
			ri_check_lack(checking, RI_CODE_IB_UVERBS_STALE, hca->name,
				"%s belongs to another device: the device was reset after the "
				"container was started", hca->node);
			ri_check_hint(checking, "outside the image: start the container again");
		}
	}
	if (bad == 0)
		ri_check_pass(checking, "/dev/infiniband",
			"the device file%s of %zu adapter%s can be opened",
			hcas->count == 1 ? "" : "s", hcas->count, hcas->count == 1 ? "" : "s");
}

const struct ri_check ri_check_ib_uverbs = {
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
