/* SPDX-License-Identifier: Apache-2.0 */
/* Which RDMA devices there are, and over what they send. */
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

static void say_absent(struct ri_checking *checking, const struct ri_hcas *hcas)
{
	if (hcas->error != 0 &&
		(hcas->error != ENOENT || !ri_host_has(checking->host, "sys/class"))) {
		ri_check_unknown(checking, RI_CODE_IB_DEV_UNKNOWN, folder, "%s",
			hcas->error != ENOENT ? strerror(hcas->error)
			: "no sysfs is mounted here, so devices cannot be listed");
		ri_ib_asked(checking, 0);
		return;
	}
	ri_check_lack(checking, RI_CODE_IB_DEV_ABSENT, folder, "no RDMA device is here%s",
		hcas->exclusive ? "; each device is visible in only one network namespace" : "");
	ri_ib_asked(checking, 0);
	ri_check_expected_count(checking,
		ri_demands_unmet(checking->demands, RI_TOPIC_IB, RI_DEMAND_COUNT, 0));
	if (hcas->exclusive)
		ri_check_hint(checking, "node admin: \"rdma system set netns shared\", or a "
			"network plug-in that moves a device into the container's namespace");
	else if (checking->azure_size != NULL &&
		checking->azure_size->network == RI_AZURE_ETHERNET)
		ri_check_hint(checking, "%s has no InfiniBand: take a size with an r in its name, "
			"such as ND96isr_H100_v5, or do not request InfiniBand",
			checking->azure_size->name);
}

static void check_dev(struct ri_checking *checking)
{
	const struct ri_hcas *hcas = ri_ib_look(checking);
	struct ri_row row = { .count = 0 };
	char others[48] = "";
	size_t count;

	if (hcas->count == 0 && !hcas->exclusive && !ri_ib_wanted(checking)) {
		ri_check_skip(checking, folder, "no RDMA device is here, and none is requested");
		return;
	}
	if (hcas->count == 0 && is_direct(checking)) {
		ri_check_skip(checking, folder, "%s never shows a device: see ib.nonsriov",
			checking->azure_size->name);
		return;
	}
	if (hcas->count == 0) {
		say_absent(checking, hcas);
		return;
	}
	for (size_t i = 0; i < hcas->count; i++)
		ri_row_add(&row, hcas->list[i].name);
	/* such as EFA of AWS */
	count = ri_ib_count(hcas, RI_LINK_OTHER);
	if (count > 0)
		snprintf(others, sizeof(others), ", %zu of another kind", count);
	ri_check_pass(checking, folder, "%s: %zu on InfiniBand, %zu on Ethernet%s",
		ri_row_end(&row), ri_ib_count(hcas, RI_LINK_INFINIBAND),
		ri_ib_count(hcas, RI_LINK_ETHERNET), others);
}

const struct ri_check ri_check_ib_dev = {
	.id = "ib.dev",
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
	const char *name;

	if (!is_direct(checking)) {
		ri_check_skip(checking, "azure=SIZE", "no VM size without SR-IOV is given");
		return;
	}
	if (!checking->asked && !ri_topology_is_wide(checking->topology)) {
		ri_check_skip(checking, "azure=SIZE", "a job of one node does not need it");
		return;
	}
	name = checking->azure_size->name;
	if (ri_ib_devices(checking) > 0) {
		ri_check_pass(checking, name, "shows RDMA devices anyway");
		return;
	}
	ri_check_warn(checking, RI_CODE_IB_NONSRIOV_SIZE, name,
		"has RDMA without SR-IOV: programs that use verbs, such as NCCL, cannot use it, "
		"whatever is installed");
	ri_ib_asked(checking, 0);
}

const struct ri_check ri_check_ib_nonsriov = {
	.id = "ib.nonsriov",
	.summary = "the VM size has RDMA that verbs can use",
	.reads = "the VM size of azure=SIZE and its table, /sys/class/infiniband (Azure "
		"documentation, \"Distributed GPU training guide\": NC24r)",
	.fails = "the size has RDMA without SR-IOV",
	.advice = direct_hint,
	.runs = RI_CHECK_LAUNCH,
	.topics = RI_ABOUT(IB) | RI_ABOUT(OFED),
	.run = check_nonsriov,
};
