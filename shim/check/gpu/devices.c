/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's driver and its device files, and how many GPUs a program started here would see. */
#include <errno.h>
#include <string.h>

#include "check/lookups.h"

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
		ri_demands_check(checking->demands, checking->number, false) == NULL) {
		ri_check_skip(checking, "/dev", "no GPU device file is here, and none is "
			"requested");
		return;
	}
	ri_check_lack(checking, RI_CODE_GPU_VENDOR_NONE, "/dev", "no GPU device file is here");
	ri_check_asked_count(checking, demand);
}

const struct ri_check ri_check_gpu_vendor = {
	.summary = "GPUs of some kind are here",
	.reads = "which of nvidiactl, kfd, dxg, nvgpu and nvhost-ctrl is in /dev",
	.fails = "none is",
	.advice = "outside the image: docker run --gpus all (with NVIDIA's container toolkit on "
		"the host); Kubernetes: resources.limits with nvidia.com/gpu; Azure ML: a compute "
		"with GPUs",
	.in_slurm = "srun --gpus-per-node=N; a container's own option for GPUs as well",
	RI_CHECK_HOLDS(RI_ABOUT(GPU)),
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
	.summary = "the device files of the NVIDIA driver are in the container",
	.reads = "/proc/driver/nvidia, /dev/nvidiactl, /dev/nvidia-uvm (NVIDIA container toolkit)",
	.fails = "the driver is loaded and a device file is missing",
	.advice = "outside the image: the container was started without NVIDIA's hook: docker run "
		"--gpus all, or --device nvidia.com/gpu=all with CDI; Kubernetes: nvidia.com/gpu "
		"in resources.limits",
	RI_CHECK_HOLDS(RI_ABOUT(GPU)),
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
	.summary = "the NVIDIA driver can be opened",
	.reads = "/dev/nvidiactl, which is opened and closed; it wakes no GPU (NVIDIA container "
		"toolkit, troubleshooting: \"Failed to initialize NVML: Unknown Error\")",
	.fails = "it cannot be opened",
	.advice = open_hint,
	.runs = RI_CHECK_LAUNCH,
	.needs = &ri_check_needs_nvidia,
	RI_CHECK_HOLDS(RI_ABOUT(GPU)),
	.run = check_open,
};

static const char visible_hint[] =
	"in the job's environment: list GPUs that this container has in CUDA_VISIBLE_DEVICES, or "
	"unset it";

static const char uncounted_hint[] =
	"rankinit counts only NVIDIA GPUs; --checks=default,^gpu.count turns this check off, and "
	"gpu.vendor still shows that GPUs are here";

/* NCCL src/init.cc, "Duplicate GPU detected". */
static const char shared_hint[] =
	"NCCL refuses two ranks on one GPU: start one rank for each GPU (--nproc-per-node=gpu), or "
	"give the container more GPUs (docker run --gpus all; Kubernetes: nvidia.com/gpu: N in "
	"resources.limits); if no rank needs a GPU: CUDA_VISIBLE_DEVICES= (empty) in the job's "
	"environment";

/* srun(1), --gpus-per-task: it implies --gpu-bind=per_task; --gpu-bind=none turns that off. */
static const char slurm_hint[] =
	"NCCL refuses two ranks on one GPU: give the job one for each task, srun "
	"--gpus-per-node=N; with --gpus-per-task=1 each task has its own already, and a program "
	"that takes number LOCAL_RANK needs --gpu-bind=none beside it";

/*
 * Do the ranks here get one list of MIG instances, of which each of them uses the first (MIG User
 * Guide, "CUDA visible devices")?
 */
static bool share_instance(const struct ri_checking *checking, const struct ri_gpus *gpus)
{
	return gpus->instances && gpus->count > 1 && checking->ranks > 1 && !checking->own_gpus;
}

static void say_instances(struct ri_checking *checking, enum ri_code code, const char *subject,
	size_t count)
{
	ri_check_warn(checking, code, subject, "a program uses only the first of %zu MIG "
		"instances, but %llu ranks are on this node", count,
		(unsigned long long)checking->ranks);
	ri_check_hint(checking, "give each rank its own: --nproc-per-node with --gpu-bind=single, "
		"or a CUDA_VISIBLE_DEVICES=MIG-... for each");
}

/* The firmest demand for more GPUs than there are, those of ranks here among them. */
static void check_count(struct ri_checking *checking)
{
	const struct ri_gpus *gpus = ri_check_gpus(checking);
	size_t count = gpus == NULL ? 0 : gpus->count;
	const struct ri_demand *demand;

	if (gpus == NULL || gpus->others != NULL) {
		ri_check_unknown(checking, RI_CODE_GPU_COUNT_UNKNOWN, "GPUs", "%s", gpus != NULL
			? "rankinit cannot count GPUs of this kind"
			: "the list of visible GPUs cannot be used");
		ri_check_asked(checking, ri_demands_find(checking->demands, RI_TOPIC_GPU));
		ri_check_hint(checking, "%s", gpus != NULL ? uncounted_hint : visible_hint);
		return;
	}
	demand = ri_demands_unmet(checking->demands, RI_TOPIC_GPU, RI_DEMAND_COUNT, count);
	if (demand != NULL) {
		ri_check_lack(checking, RI_CODE_GPU_COUNT_FEW, "GPUs", "a program sees %zu", count);
		ri_check_asked_count(checking, demand);
		if (gpus->hidden)
			ri_check_hint(checking, "%s", visible_hint);
	} else if (share_instance(checking, gpus)) {
		say_instances(checking, RI_CODE_GPU_COUNT_SHARED, "GPUs", count);
	} else if (count > 0 && count < checking->ranks) {
		/* of ranks that share GPUs by design it is no more than good to know */
		ri_check_problem(checking, !checking->may_lack_gpus, RI_CODE_GPU_COUNT_SHARED,
			"GPUs", "a program sees %zu, but %llu ranks are on this node", count,
			(unsigned long long)checking->ranks);
		ri_check_hint(checking, "%s",
			ri_check_is_slurm(checking) ? slurm_hint : shared_hint);
	} else if (count == 0) {
		ri_check_skip(checking, "GPUs", "a program sees none, and none are requested");
	} else {
		ri_check_pass(checking, "GPUs", "a program sees %zu", count);
	}
}

const struct ri_check ri_check_gpu_count = {
	.summary = "there are as many GPUs as requested",
	.reads = "/proc/driver/nvidia/gpus, /dev/nvidiaN, CUDA_VISIBLE_DEVICES (CUDA Programming "
		"Guide, \"CUDA Environment Variables\")",
	.fails = "a program would see fewer than \"gpu=N\", or some, but fewer than the ranks "
		"here, or the ranks share a list of MIG instances",
	.advice = "outside the image: docker run --gpus all; Kubernetes: nvidia.com/gpu: N in "
		"resources.limits; if the node has lost a GPU: node admin: nvidia-smi on the host",
	.in_slurm = "srun --gpus-per-node=N; if the node has lost a GPU: node admin: nvidia-smi on "
		"the host",
	.runs = RI_CHECK_LAUNCH,
	.topics = RI_ABOUT(GPU),
	.because = "gpu.vendor",
	.run = check_count,
};

static void check_mig(struct ri_checking *checking)
{
	char names[4096], *name = names;
	long left = ri_host_list(checking->host, "dev/nvidia-caps", names, sizeof(names));
	const struct ri_gpus *gpus;

	/*
	 * Two of the nodes are of MIG as such, its configuration and its monitor (NVIDIA MIG User
	 * Guide, "Device Nodes and Capabilities"); others are of instances.
	 */
	for (; left > 0 && (strcmp(name, "nvidia-cap1") == 0 || strcmp(name, "nvidia-cap2") == 0);
		left--)
		name += strlen(name) + 1;
	gpus = left <= 0 ? NULL : ri_check_gpus(checking);
	if (left <= 0)
		ri_check_skip(checking, "MIG", "no MIG instance is here");
	else if (gpus == NULL)
		ri_check_unknown(checking, RI_CODE_GPU_MIG_UNKNOWN, "MIG",
			"the list of visible GPUs cannot be used");
	else if (share_instance(checking, gpus))
		say_instances(checking, RI_CODE_GPU_MIG_FEW, "MIG", gpus->count);
	else if (checking->ranks <= 1 || gpus->count >= checking->ranks)
		ri_check_pass(checking, "MIG", "a process sees %zu, %llu rank%s here", gpus->count,
			(unsigned long long)checking->ranks,
			checking->ranks == 1 ? " is" : "s are");
	else
		ri_check_lack(checking, RI_CODE_GPU_MIG_FEW, "MIG",
			"a process sees %zu, but %llu ranks are here", gpus->count,
			(unsigned long long)checking->ranks);
}

const struct ri_check ri_check_gpu_mig = {
	.summary = "each rank has a MIG instance of its own",
	.reads = "/dev/nvidia-caps, CUDA_VISIBLE_DEVICES (NVIDIA MIG User Guide)",
	.fails = "there are MIG instances, and a process sees fewer than the ranks here, or the "
		"ranks share a list of them",
	.advice = "start as many ranks as MIG instances, each with its own "
		"CUDA_VISIBLE_DEVICES=MIG-...: a process uses only one; or node admin: turn MIG "
		"off",
	RI_CHECK_HOLDS(RI_ABOUT(GPU)),
	.run = check_mig,
};
