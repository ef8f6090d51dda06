/* SPDX-License-Identifier: Apache-2.0 */
/* The links of the GPUs: NVLink to each other, PCIe to the host. */
#include <inttypes.h>
#include <stdio.h>

#include "check/gpu/state.h"

/* gpu.nvlink */

/* Of GPUs that have as many links as this one, the most active ones. */
static uint64_t find_most_active(const struct ri_probe *said, uint64_t links)
{
	uint64_t most = 0;

	for (size_t i = 0; i < said->gpu_count; i++) {
		const uint64_t *other = ri_gpu_numbers(&said->gpus[i], RI_GPU_LINKS);

		if (other != NULL && other[0] == links && other[1] > most)
			most = other[1];
	}
	return most;
}

/*
 * nvmlGpuFabricInfo: CUDA works on such a GPU only when it has been registered
 * with the fabric (error 802 before). Of the health mask the lowest two bits:
 * 1, the bandwidth is degraded.
 */
static void judge_fabric(struct ri_checking *checking, const struct ri_gpu_state *gpu,
	const char *name)
{
	enum { NOT_STARTED = 1, IN_PROGRESS = 2, COMPLETED = 3 };
	const uint64_t *fabric = ri_gpu_numbers(gpu, RI_GPU_FABRIC);

	if (fabric == NULL)
		return;
	if (fabric[0] == NOT_STARTED || fabric[0] == IN_PROGRESS)
		ri_check_note(checking, RI_CODE_GPU_NVLINK_FABRIC, name, "not registered with "
			"the NVSwitch fabric yet: until then CUDA ends with error 802");
	else if (fabric[0] == COMPLETED && fabric[1] != 0)
		ri_check_note(checking, RI_CODE_GPU_NVLINK_FABRIC, name,
			"the registration with the NVSwitch fabric failed (NVML error %" PRIu64 ")",
			fabric[1]);
	else if (fabric[0] == COMPLETED && (fabric[2] & 3) == 1)
		ri_check_note(checking, RI_CODE_GPU_NVLINK_DEGRADED, name,
			"the NVSwitch fabric has less bandwidth than it should");
	else
		return;
	ri_check_hint(checking, "node admin: systemctl status nvidia-fabricmanager, and its log");
}

/*
 * No link at all is what cards without a bridge have. Some, but fewer than its
 * like beside it, is what a link that is down looks like.
 */
static void judge_nvlink(struct ri_checking *checking, const struct ri_gpu_look *look,
	const struct ri_gpu_state *gpu)
{
	const uint64_t *links = ri_gpu_numbers(gpu, RI_GPU_LINKS);
	const uint64_t *errors = ri_gpu_numbers(gpu, RI_GPU_LINK_ERRORS);
	uint64_t most = find_most_active(&look->prober.said, links[0]);
	char name[RI_GPU_NAME];

	ri_gpu_name(name, gpu);
	if (links[1] > 0 && links[1] < most)
		ri_check_lack(checking, RI_CODE_GPU_NVLINK_DOWN, name,
			"%" PRIu64 " NVLinks are active, %" PRIu64 " of another GPU here",
			links[1], most);
	if (errors != NULL && errors[1] > 0) {
		ri_check_note(checking, RI_CODE_GPU_NVLINK_ERRORS, name, "NVLinks had to "
			"recover %" PRIu64 " times since the driver was loaded", errors[1]);
		ri_check_advise(checking);
	}
	judge_fabric(checking, gpu, name);
}

static void check_nvlink(struct ri_checking *checking)
{
	static const struct ri_gpu_judging judging = {
		.asked = RI_GPU_LINKS, .unknown = RI_CODE_GPU_NVLINK_UNKNOWN,
		.pass = "as many NVLinks are active of each as of the others",
		.silent = "have no NVLink", .judge = judge_nvlink,
	};

	ri_gpu_judge(checking, &judging);
}

const struct ri_check ri_check_gpu_nvlink = {
	.id = "gpu.nvlink",
	.summary = "the GPUs have the same number of active NVLinks",
	.reads = "nvmlDeviceGetNvLinkState of each link, NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_"
		"TOTAL, nvmlDeviceGetGpuFabricInfoV (NVML API Reference Guide)",
	.fails = "a GPU has some active links, but fewer than one of its kind beside it; a note, "
		"as are links that had to recover and the state of the NVSwitch fabric. GPUs none "
		"of whose links are active are taken for cards without a bridge",
	.advice = "node admin: nvidia-smi nvlink -s and -e, the kernel's log (Xid 74, SXid), the "
		"fabric manager; for the job: another node",
	RI_GPU_PROBED,
	.run = check_nvlink,
};

/* gpu.pcie */

/* Has each GPU that tells the same width? Then that is how this machine is built. */
static bool is_common(const struct ri_probe *said, uint64_t width)
{
	size_t others = 0;

	for (size_t i = 0; i < said->gpu_count; i++) {
		const uint64_t *pcie = ri_gpu_numbers(&said->gpus[i], RI_GPU_PCIE);

		if (pcie != NULL && pcie[0] != width)
			return false;
		others += pcie != NULL;
	}
	return others > 1;
}

/* The width alone: the generation falls when nothing runs. 0 is told by virtual machines. */
static void judge_pcie(struct ri_checking *checking, const struct ri_gpu_look *look,
	const struct ri_gpu_state *gpu)
{
	const uint64_t *pcie = ri_gpu_numbers(gpu, RI_GPU_PCIE);
	char name[RI_GPU_NAME];

	if (pcie[0] == 0 || pcie[0] >= pcie[1])
		return;
	ri_gpu_name(name, gpu);
	if (is_common(&look->prober.said, pcie[0]))
		ri_check_note(checking, RI_CODE_GPU_PCIE_COMMON, name, "%" PRIu64
			" of %" PRIu64 " PCIe lanes in use, as of all GPUs here", pcie[0], pcie[1]);
	else
		ri_check_lack(checking, RI_CODE_GPU_PCIE_NARROW, name, "%" PRIu64
			" of %" PRIu64 " PCIe lanes in use", pcie[0], pcie[1]);
}

static void check_pcie(struct ri_checking *checking)
{
	static const struct ri_gpu_judging judging = {
		.asked = RI_GPU_PCIE, .unknown = RI_CODE_GPU_PCIE_UNKNOWN,
		.pass = "each uses all PCIe lanes that it has here",
		.silent = "do not tell how wide their PCIe link is", .judge = judge_pcie,
	};

	ri_gpu_judge(checking, &judging);
}

const struct ri_check ri_check_gpu_pcie = {
	.id = "gpu.pcie",
	.summary = "the GPUs use all their PCIe lanes",
	.reads = "nvmlDeviceGetCurrPcieLinkWidth and nvmlDeviceGetMaxPcieLinkWidth, the widest "
		"that GPU and slot have in common (NVML API Reference Guide)",
	.fails = "a GPU uses fewer lanes than it could, and another one here does not; a note. The "
		"generation is not judged, since idle links run slower",
	.advice = "node admin: seat the board or its riser anew, see the kernel's log for AER "
		"messages; an idle GPU may save power that way: look again under load (nvidia-smi "
		"-q, \"PCI\")",
	RI_GPU_PROBED,
	.run = check_pcie,
};
