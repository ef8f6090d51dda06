/* SPDX-License-Identifier: Apache-2.0 */
/* Which RDMA devices there are, and over what they send. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check/ib/ib.h"
#include "node/interfaces.h"

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

/* Those of neither kind, such as EFA of AWS; text is as large as a number and some words. */
static const char *say_others(const struct ri_hcas *hcas, char text[48])
{
	size_t others = ri_ib_count(hcas, RI_LINK_OTHER);

	text[0] = '\0';
	if (others > 0)
		snprintf(text, 48, ", %zu of another kind", others);
	return text;
}

static void check_dev(struct ri_checking *checking)
{
	const struct ri_hcas *hcas = ri_ib_look(checking);
	char others[48];
	struct ri_row row = { .count = 0 };

	if (hcas == NULL)
		return;
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
	ri_check_pass(checking, folder, "%s: %zu on InfiniBand, %zu on Ethernet%s",
		ri_row_end(&row), ri_ib_count(hcas, RI_LINK_INFINIBAND),
		ri_ib_count(hcas, RI_LINK_ETHERNET), say_others(hcas, others));
}

const struct ri_check ri_check_ib_dev = {
	.id = "ib.dev",
	.summary = "RDMA devices are here",
	.reads = "/sys/class/infiniband, netns_mode of ib_core (Linux "
		"ABI/stable/sysfs-class-infiniband, rdma-system(8))",
	.fails = "no device is here",
	.advice = ri_ib_absent_hint,
	.unverified = "an RDMA system in exclusive mode",
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
	const struct ri_hcas *hcas;
	const char *name;

	if (!is_direct(checking)) {
		ri_check_skip(checking, "azure=SIZE", "no VM size without SR-IOV is given");
		return;
	}
	if (!checking->asked && !ri_topology_is_wide(checking->topology)) {
		ri_check_skip(checking, "azure=SIZE", "a job of one node does not need it");
		return;
	}
	hcas = ri_ib_look(checking);
	if (hcas == NULL)
		return;
	name = checking->azure_size->name;
	if (hcas->count > 0) {
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
	.unverified = "all of it: the sizes are retired",
	.runs = RI_CHECK_LAUNCH,
	.topics = RI_ABOUT(IB) | RI_ABOUT(OFED),
	.run = check_nonsriov,
};

/* NCCL Environment Variables: which devices NCCL uses. */
static const char chosen[] = "NCCL_IB_HCA";

static void say_mixed(struct ri_checking *checking, const struct ri_hcas *hcas)
{
	const char *value = ri_env_get(checking->env, chosen);
	struct ri_row row = { .count = 0 };

	for (size_t i = 0; i < hcas->count; i++)
		if (ri_hca_has(&hcas->list[i], RI_LINK_ETHERNET) &&
			ri_choice_takes(value == NULL ? "" : value, RI_CHOICE_NCCL,
				hcas->list[i].name))
			ri_row_add(&row, hcas->list[i].name);
	if (row.count == 0) {
		ri_check_pass(checking, chosen, "excludes the Ethernet devices");
		return;
	}
	ri_check_note(checking, RI_CODE_IB_LINKLAYER_MIXED, ri_row_end(&row),
		"on Ethernet, beside devices on InfiniBand: NCCL may use it between nodes");
	ri_check_advise(checking);
}

/* No device is over InfiniBand, which is right where the user does not ask for it. */
static void say_none(struct ri_checking *checking, const struct ri_hcas *hcas)
{
	struct ri_row row = { .count = 0 };

	for (size_t i = 0; i < hcas->count; i++)
		ri_row_add(&row, hcas->list[i].name);
	if (ri_ib_count(hcas, RI_LINK_ETHERNET) == 0)
		ri_check_lack(checking, RI_CODE_IB_LINKLAYER_OTHER, ri_row_end(&row),
			"neither on InfiniBand nor on Ethernet, as sysfs shows for EFA");
	else
		ri_check_lack(checking, RI_CODE_IB_LINKLAYER_ETHERNET, ri_row_end(&row),
			"on Ethernet (RoCE; Azure names its accelerated network mlx5_anN), not on "
			"InfiniBand");
	ri_check_asked(checking, ri_demands_find(checking->demands, RI_TOPIC_IB));
	ri_check_expected_count(checking, ri_demands_find(checking->demands, RI_TOPIC_IB));
	if (ri_ib_wanted(checking))
		ri_check_hint(checking, "%s", ri_ib_absent_hint);
}

static void check_linklayer(struct ri_checking *checking)
{
	const struct ri_hcas *hcas = ri_ib_look(checking);

	if (hcas == NULL || hcas->count == 0) {
		ri_check_skip(checking, folder, "no RDMA device is here");
	} else if (ri_ib_count(hcas, RI_LINK_INFINIBAND) > 0 &&
		ri_ib_count(hcas, RI_LINK_ETHERNET) == 0) {
		ri_check_pass(checking, folder, "all on InfiniBand");
	} else if (ri_ib_count(hcas, RI_LINK_INFINIBAND) > 0) {
		say_mixed(checking, hcas);
	} else if (ri_ib_count(hcas, RI_LINK_ETHERNET) + ri_ib_count(hcas, RI_LINK_OTHER) > 0) {
		say_none(checking, hcas);
	} else {
		ri_check_unknown(checking, RI_CODE_IB_LINKLAYER_UNKNOWN, folder,
			"no port shows its kind of link");
		ri_check_asked(checking, ri_demands_find(checking->demands, RI_TOPIC_IB));
	}
}

const struct ri_check ri_check_ib_linklayer = {
	.id = "ib.linklayer",
	.summary = "RDMA devices are on InfiniBand, not Ethernet",
	.reads = "link_layer of each port in /sys/class/infiniband (Linux "
		"ABI/stable/sysfs-class-infiniband), NCCL_IB_HCA (NCCL documentation, "
		"\"Environment Variables\")",
	.fails = "none is on InfiniBand; a note if both kinds are here and NCCL_IB_HCA chooses one "
		"on Ethernet",
	.advice = "NCCL_IB_HCA=^mlx5_an in the job's environment, or another list that excludes "
		"the Ethernet devices",
	.topics = RI_ABOUT(IB),
	.because = "ib.dev",
	.run = check_linklayer,
};
