/* SPDX-License-Identifier: Apache-2.0 */
/* Whose driver the kernel runs for the adapters, and whether they reach GPUs' memory. */
#include <stdio.h>
#include <string.h>

#include "check/ib/ib.h"
#include "check/software.h"
#include "node/gpus.h"
#include "node/rdma.h"

/* OFED is for the adapters of one maker alone. */
static void judge_none(struct ri_checking *checking, const struct ri_hcas *hcas,
	const struct ri_demand *demand)
{
	const char *driver = hcas->count == 0 ? "" : hcas->list[0].driver;
	bool mellanox = false;

	for (size_t i = 0; i < hcas->count; i++)
		mellanox |= strncmp(hcas->list[i].driver, "mlx", 3) == 0 ||
			strncmp(hcas->list[i].name, "mlx", 3) == 0;
	if (hcas->count == 0 && demand == NULL) {
		ri_check_skip(checking, "/sys/module", "no RDMA device is here");
	} else if (hcas->count == 0 || mellanox) {
		ri_check_unknown(checking, RI_CODE_IB_OFED_UNKNOWN, "/sys/module",
			"neither mlx5_core nor mlx4_core is shown");
		ri_check_advise(checking);
	} else if (demand == NULL) {
		ri_check_skip(checking, hcas->list[0].name, "is not from Mellanox");
	} else {
		ri_check_lack(checking, RI_CODE_IB_OFED_OTHER, hcas->list[0].name,
			"is not from Mellanox%s%s", driver[0] == '\0' ? "" : ", its driver is ",
			driver);
		ri_check_expected(checking, "MLNX_OFED or DOCA-OFED (%s)", demand->subject);
		ri_check_hint(checking, "outside the image: a machine with Mellanox adapters; if "
			"these are enough, request ib.uverbs and ib.libs instead of ofed");
	}
}

static void check_ofed(struct ri_checking *checking)
{
	const struct ri_demand *demand = ri_demands_find(checking->demands, RI_TOPIC_OFED);
	struct ri_ofed ofed;
	char what[128];

	ri_ofed_read(&ofed, checking->host);
	snprintf(what, sizeof(what), "the kernel's own driver%s%s",
		ofed.version[0] == '\0' ? "" : ", version ", ofed.version);
	if (ofed.kind == RI_OFED_NONE) {
		judge_none(checking, ri_ib_look(checking), demand);
	} else if (ofed.kind == RI_OFED_MELLANOX) {
		ri_check_pass(checking, ofed.module, "the driver of %s %s", ri_ofed_name(&ofed),
			ofed.version);
	} else if (demand == NULL) {
		ri_check_pass(checking, ofed.module, "%s", what);
	} else {
		ri_check_lack(checking, RI_CODE_IB_OFED_INBOX, ofed.module,
			"%s, not that of OFED", what);
		ri_check_expected(checking, "MLNX_OFED or DOCA-OFED (%s)", demand->subject);
	}
}

const struct ri_check ri_check_ib_ofed = {
	.summary = "the kernel runs the driver of Mellanox OFED",
	.reads = "/sys/module/mlx5_core/version or mlx4_core's, /sys/module/mlx_compat, "
		"/proc/sys/kernel/osrelease (MLNX_OFED release notes, Linux "
		"drivers/net/ethernet/mellanox)",
	.fails = "OFED is requested and the driver is the kernel's own, or the adapters are not "
		"from Mellanox; unknown if no driver is shown",
	.advice = "node admin: install DOCA-OFED (MLNX_OFED before 2025) on the host, an image "
		"cannot bring a driver (Azure: an HPC image, AmlCompute has it); if the kernel's "
		"own driver is enough, request ib instead of ofed (ib.uverbs and ib.libs for "
		"Ethernet)",
	RI_CHECK_HOLDS(RI_ABOUT(OFED)),
	.holds_unknown = true,
	.because = "ib.dev",
	.run = check_ofed,
};

static void check_peermem(struct ri_checking *checking)
{
	const struct ri_hcas *hcas = ri_ib_look(checking);
	struct ri_peer_memory peers;
	const struct ri_nvidia *nvidia = ri_check_nvidia(checking);

	ri_peer_memory_read(&peers, nvidia, checking->host);
	if (!nvidia->driver || hcas->count == 0 || ri_ib_count(hcas, RI_LINK_INFINIBAND) == 0) {
		ri_check_skip(checking, "nvidia_peermem",
			"this node lacks NVIDIA GPUs or InfiniBand");
	} else if (peers.path != NULL) {
		ri_check_pass(checking, peers.path, "adapters access GPU memory directly");
	} else if (peers.dmabuf) {
		ri_check_pass(checking, "dma-buf",
			"the open kernel modules and this kernel do not need nvidia_peermem");
	} else {
		ri_check_lack(checking, RI_CODE_IB_PEERMEM_ABSENT, "nvidia_peermem",
			"is not loaded: data between GPUs of two nodes is copied through the "
			"memory of both, several times slower");
	}
}

const struct ri_check ri_check_ib_peermem = {
	.summary = "adapters access GPU memory directly",
	.reads = "/sys/module/nvidia_peermem, /sys/kernel/mm/memory_peers (where NCCL and UCX "
		"look), /proc/driver/nvidia/version and the kernel's release",
	.fails = "no peer memory module is loaded and dma-buf cannot replace it; at most a warning "
		"if ib or ofed is requested",
	.advice = "node admin: modprobe nvidia-peermem on the host, or use the open kernel "
		"modules with kernel 5.12 or newer, which do not need it",
	.topics = RI_ABOUT(IB) | RI_ABOUT(OFED),
	.wished = RI_ABOUT(IB) | RI_ABOUT(OFED),
	.run = check_peermem,
};
