/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's driver and its device files. */
#include <errno.h>
#include <string.h>

#include "check/check.h"
#include "check/software.h"
#include "node/gpus.h"

static const char control[] = "/dev/nvidiactl";

static void check_vendor(struct ri_checking *checking)
{
	const struct ri_gpu_node *node = ri_gpu_node_find(checking->host, false);
	const struct ri_demand *demand = ri_demands_find(checking->demands, RI_TOPIC_GPU);

	if (node != NULL) {
		ri_check_pass(checking, "/dev", "%s", node->kind);
		return;
	}
	if (demand == NULL &&
		ri_demands_check(checking->demands, checking->number) == NULL) {
		ri_check_skip(checking, "/dev", "no GPU device file is here, and none is "
			"requested");
		return;
	}
	ri_check_lack(checking, RI_CODE_GPU_VENDOR_NONE, "/dev", "no GPU device file is here");
	ri_check_expected_count(checking, demand);
}

const struct ri_check ri_check_gpu_vendor = {
	.id = "gpu.vendor",
	.summary = "GPUs of some kind are here",
	.reads = "which of nvidiactl, kfd, dxg, nvgpu and nvhost-ctrl is in /dev",
	.fails = "none is",
	.advice = "outside the image: docker run --gpus all (with NVIDIA's container toolkit on "
		"the host); Kubernetes: resources.limits with nvidia.com/gpu; Azure ML: a compute "
		"with GPUs",
	.in_slurm = "srun --gpus-per-node=N; a container's own option for GPUs as well",
	.topics = RI_ABOUT(GPU),
	.holds = RI_ABOUT(GPU),
	.because = "gpu.dev",
	.run = check_vendor,
};

static void check_dev(struct ri_checking *checking)
{
	const struct ri_nvidia *nvidia = ri_check_nvidia(checking);

	if (nvidia->control == ENOENT && !nvidia->driver)
		ri_check_skip(checking, control, "no NVIDIA driver is here");
	else if (nvidia->control == ENOENT)
		ri_check_lack(checking, RI_CODE_GPU_DEV_ABSENT, control,
			"the driver is loaded, but its device files are not in this container");
	else if (!nvidia->memory)
		ri_check_lack(checking, RI_CODE_GPU_DEV_UVM, "/dev/nvidia-uvm",
			"is missing, so CUDA ends with an unknown error (999)");
	else
		ri_check_pass(checking, control, "is here, and /dev/nvidia-uvm");
}

const struct ri_check ri_check_gpu_dev = {
	.id = "gpu.dev",
	.summary = "the device files of the NVIDIA driver are in the container",
	.reads = "/proc/driver/nvidia, /dev/nvidiactl, /dev/nvidia-uvm (NVIDIA container toolkit)",
	.fails = "the driver is loaded and a device file is missing",
	.advice = "outside the image: the container was started without NVIDIA's hook: docker run "
		"--gpus all, or --device nvidia.com/gpu=all with CDI; Kubernetes: nvidia.com/gpu "
		"in resources.limits",
	.topics = RI_ABOUT(GPU),
	.holds = RI_ABOUT(GPU),
	.run = check_dev,
};

static const char open_hint[] =
	"outside the image: start the container again; \"systemctl daemon-reload\" on the host "
	"takes GPUs from containers that runc made without --device or CDI (node admin: CDI, or "
	"cgroupfs as the cgroup driver)";

static void check_open(struct ri_checking *checking)
{
	const struct ri_nvidia *nvidia = ri_check_nvidia(checking);

	if (nvidia->control == 0) {
		ri_check_pass(checking, control, "can be opened");
		return;
	}
	ri_check_warn(checking, RI_CODE_GPU_OPEN_REFUSED, control,
		"%s: no program here can use a GPU",
		nvidia->control == EPERM ? "the device cgroup denies opening it"
		: nvidia->control == EACCES ? "its mode does not let this user open it"
					   : strerror(nvidia->control));
	ri_check_hint(checking, "%s", nvidia->control == EACCES
		? "outside the image: run as root, or node admin: mode 0666 for /dev/nvidia*"
		: open_hint);
}

const struct ri_check ri_check_gpu_open = {
	.id = "gpu.open",
	.summary = "the NVIDIA driver can be opened",
	.reads = "/dev/nvidiactl, which is opened and closed; it wakes no GPU (NVIDIA container "
		"toolkit, troubleshooting: \"Failed to initialize NVML: Unknown Error\")",
	.fails = "it cannot be opened",
	.advice = open_hint,
	.runs = RI_CHECK_LAUNCH,
	.needs = &ri_check_needs_nvidia,
	.topics = RI_ABOUT(GPU),
	.holds = RI_ABOUT(GPU),
	.run = check_open,
};
