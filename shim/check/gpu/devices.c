/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's driver: its device files, how many GPUs a program started here would see, and its
 * libraries, which are put into the container with the GPUs.
 */
#include <errno.h>
#include <stdio.h>
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
	const struct ri_gpus *gpus;

	ri_host_list(checking->host, "dev/nvidia-caps", names, sizeof(names));
	/*
	 * Two of the nodes are of MIG as such, its configuration and its monitor (NVIDIA MIG User
	 * Guide, "Device Nodes and Capabilities"); others are of instances.
	 */
	while (strcmp(name, "nvidia-cap1") == 0 || strcmp(name, "nvidia-cap2") == 0)
		name += strlen(name) + 1;
	gpus = *name == '\0' ? NULL : ri_check_gpus(checking);
	if (*name == '\0')
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

/*
 * Without libcuda programs find no GPU, and one of another version than the kernel's is refused.
 */
static const char libcuda[] = "libcuda.so.1";

/* No program here can use a GPU. */
static void say_bad(struct ri_checking *checking, enum ri_code code, const char *subject,
	const char *what)
{
	ri_check_warn(checking, code, subject, "%s: no program here finds a GPU", what);
}

static void check_libcuda(struct ri_checking *checking)
{
	const struct ri_cuda *cuda = ri_check_cuda(checking);
	const struct ri_library *file = &cuda->driver.file;
	struct ri_host *host = checking->host;
	struct ri_library apart;
	char what[128];

	if (cuda->stub != NULL) {
		say_bad(checking, RI_CODE_GPU_LIBCUDA_STUB, cuda->stub,
			"is the stub of CUDA's toolkit, not the driver's libcuda");
		ri_check_hint(checking, "outside the image: docker run --gpus all puts the "
			"driver's own into the container; inside: remove the stubs folder from "
			"LD_LIBRARY_PATH, it is only for linking");
	} else if (file->path == NULL && !ri_host_has(host, "lib") &&
		!ri_host_has(host, "usr/lib") && !ri_host_has(host, "lib64")) {
		/* the tree shows a machine, and nothing of an image */
		ri_check_unknown(checking, RI_CODE_GPU_LIBCUDA_UNKNOWN, libcuda,
			"no library folder was found");
	} else if (file->path == NULL &&
		ri_loader_find_apart(ri_check_loader(checking), libcuda, &apart)) {
		say_bad(checking, RI_CODE_GPU_LIBCUDA_APART, apart.path,
			"is in a folder that the loader does not search");
		ri_check_hint(checking, "inside the image: add its folder to /etc/ld.so.conf.d and "
			"run ldconfig, or add it to LD_LIBRARY_PATH");
	} else if (file->path == NULL && file->foreign != NULL) {
		snprintf(what, sizeof(what), "is for %s, and there is no other libcuda",
			ri_elf_machine_name(file->machine));
		say_bad(checking, RI_CODE_GPU_LIBCUDA_FOREIGN, file->foreign, what);
	} else if (file->path == NULL && file->gone != NULL) {
		say_bad(checking, RI_CODE_GPU_LIBCUDA_MISSING, file->gone,
			"is listed in /etc/ld.so.cache, but missing");
	} else if (file->path == NULL) {
		say_bad(checking, RI_CODE_GPU_LIBCUDA_MISSING, libcuda,
			"is not in this container");
	} else if (file->fault != RI_ELF_OK) {
		say_bad(checking, RI_CODE_GPU_LIBCUDA_BROKEN, file->path,
			ri_check_library_fault(file));
	} else {
		ri_check_pass(checking, file->path, "found by %s",
			ri_library_place_name(file->place));
	}
}

const struct ri_check ri_check_gpu_libcuda = {
	.summary = "programs find the driver's libcuda",
	.reads = "LD_LIBRARY_PATH, /etc/ld.so.cache and the loader's folders (ld.so(8)) for "
		"libcuda.so.1; /usr/local/cuda/lib64/stubs (CUDA toolkit)",
	.fails = "/dev/nvidiactl is here, but libcuda is missing, damaged, the toolkit's stub, for "
		"another processor, or in a folder that the loader does not search",
	.advice = "outside the image: docker run --gpus all, or CDI's --device "
		"nvidia.com/gpu=all, instead of single device files; -e "
		"NVIDIA_DRIVER_CAPABILITIES=compute,utility; Kubernetes: nvidia.com/gpu in "
		"resources.limits. An image cannot bring libcuda, which belongs to the host's "
		"driver",
	.runs = RI_CHECK_LAUNCH,
	.needs = &ri_check_needs_nvidia,
	RI_CHECK_HOLDS(RI_ABOUT(GPU)),
	.holds_unknown = true,
	.run = check_libcuda,
};

/* Is this one of another version than the kernel's driver? Then it is said. */
static bool judge_version(struct ri_checking *checking, const struct ri_cuda_library *library)
{
	const char *kernel = ri_check_nvidia(checking)->version;

	if (library->version[0] == '\0' || strcmp(library->version, kernel) == 0)
		return true;
	ri_check_warn(checking, RI_CODE_GPU_LIBVER_MISMATCH, library->file.real,
		"is version %s, but the kernel's driver is %s: no program here can use a GPU "
		"(\"Driver/library version mismatch\")", library->version, kernel);
	ri_check_expected(checking, "%s (/proc/driver/nvidia/version)", kernel);
	return false;
}

static void check_libver(struct ri_checking *checking)
{
	const struct ri_nvidia *nvidia = ri_check_nvidia(checking);
	const struct ri_cuda *cuda = ri_check_cuda(checking);
	bool same;

	if (nvidia->version[0] == '\0') {
		ri_check_skip(checking, libcuda, "the version of the kernel's driver is unknown");
		return;
	}
	if (cuda->stub != NULL ||
		(cuda->driver.version[0] == '\0' && cuda->management.version[0] == '\0')) {
		ri_check_skip(checking, libcuda, "no library of the driver shows its version");
		return;
	}
	/* that of cuda-compat is meant to be another one: see gpu.compat */
	same = cuda->compat_used || judge_version(checking, &cuda->driver);
	if (judge_version(checking, &cuda->management) && same)
		ri_check_pass(checking, libcuda, cuda->compat_used
			? "is that of cuda-compat, the others are version %s"
			: "is version %s, like the kernel's driver", nvidia->version);
}

const struct ri_check ri_check_gpu_libver = {
	.summary = "the driver's libraries have the version of the kernel's driver",
	.reads = "the names of the files of libcuda.so.1 and libnvidia-ml.so.1, "
		"/proc/driver/nvidia/version (NVIDIA container toolkit, troubleshooting: "
		"\"Driver/library version mismatch\")",
	.fails = "one of them has another version; libcuda of cuda-compat may differ",
	.advice = "outside the image: start the container again, so that it gets the libraries of "
		"the running driver; node admin: if that does not help, the host's driver was "
		"updated and needs a reboot; inside: remove libnvidia-* and libcuda packages from "
		"the image",
	.runs = RI_CHECK_LAUNCH,
	.needs = &ri_check_needs_nvidia,
	RI_CHECK_HOLDS(RI_ABOUT(GPU)),
	.run = check_libver,
};

/*
 * Does the host's driver do for the CUDA of the image? A newer CUDA runs on
 * an older driver of the same major release, or with the libraries of
 * cuda-compat, which NVIDIA's hook and entrypoint put before the driver's own
 * (CUDA Compatibility, docs.nvidia.com/deploy/cuda-compatibility).
 */
static const char version_file[] = "/proc/driver/nvidia/version";

static const char old_hint[] =
	"node admin: a newer driver on the host; or another image: one for an older CUDA, or one "
	"with cuda-compat (apt-get install cuda-compat-12-8 for CUDA 12.8), which data-centre GPUs "
	"can use";
static const char unused_hint[] =
	"in the job's environment: /usr/local/cuda/compat first on LD_LIBRARY_PATH; or outside the "
	"image: NVIDIA container toolkit from 1.17 on does it; or let "
	"/opt/nvidia/nvidia_entrypoint.sh run, if the image has it";

static void check_compat(struct ri_checking *checking)
{
	const char *kernel = ri_check_nvidia(checking)->version;
	const struct ri_cuda *cuda = ri_check_cuda(checking);
	const struct ri_cuda_library *compat = &cuda->compat;
	const char *least = cuda->toolkit[0] == '\0' ? NULL : ri_cuda_least_driver(cuda->toolkit);
	bool fits = ri_cuda_compat_fits(compat->version, &cuda->note, kernel);

	if (kernel[0] == '\0') {
		ri_check_unknown(checking, RI_CODE_GPU_COMPAT_UNKNOWN, version_file,
			"does not show the driver's version");
	} else if (!cuda->compat_used && cuda->toolkit[0] == '\0') {
		ri_check_skip(checking, "CUDA_VERSION",
			"cannot tell which CUDA the image is built for");
	} else if (!cuda->compat_used && least == NULL) {
		ri_check_skip(checking, cuda->toolkit_origin, "rankinit does not know which driver "
			"CUDA %s needs", cuda->toolkit);
	} else if (!cuda->compat_used && ri_version_compare(kernel, least) >= 0) {
		ri_check_pass(checking, version_file, "the driver %s is new enough for CUDA %s "
			"(%s)", kernel, cuda->toolkit, cuda->toolkit_origin);
	} else if (!cuda->compat_used) {
		fits = fits && compat->file.path != NULL;
		ri_check_warn(checking, fits ? RI_CODE_GPU_COMPAT_UNUSED : RI_CODE_GPU_COMPAT_OLD,
			version_file, "the driver %s is too old for CUDA %s (%s)%s", kernel,
			cuda->toolkit, cuda->toolkit_origin,
			fits ? ", and cuda-compat, which would fit, is not used" : "");
		ri_check_expected(checking, "%s or newer", least);
		ri_check_hint(checking, "%s", fits ? unused_hint : old_hint);
	} else if (compat->version[0] == '\0' || fits) {
		ri_check_pass(checking, compat->file.path, "is cuda-compat, and fits the driver %s",
			kernel);
	} else {
		ri_check_warn(checking, RI_CODE_GPU_COMPAT_WRONG, compat->file.path,
			"is cuda-compat %s, which does not fit the driver %s: CUDA ends with error "
			"803", compat->version, kernel);
		ri_check_hint(checking, "in the job's environment: take the compat folder off "
			"LD_LIBRARY_PATH; inside the image: remove cuda-compat-*, or install that "
			"of a newer CUDA");
	}
}

const struct ri_check ri_check_gpu_compat = {
	.summary = "the host's driver is new enough for the image's CUDA",
	.reads = "CUDA_VERSION (NVIDIA CUDA images), /usr/local/cuda/version.json, "
		"/usr/local/cuda/compat and the note in its libcuda (NVIDIA container toolkit, "
		"cmd/nvidia-cdi-hook/cudacompat), /proc/driver/nvidia/version; CUDA Toolkit "
		"Release Notes, minimum required driver versions",
	.fails = "the driver is older than this CUDA needs and cuda-compat is not used, or the "
		"cuda-compat in use is not made for this driver",
	.advice = old_hint,
	.runs = RI_CHECK_LAUNCH,
	.needs = &ri_check_needs_nvidia,
	RI_CHECK_HOLDS(RI_ABOUT(GPU)),
	.run = check_compat,
};
