/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libraries of NVIDIA's driver, which are put into the container with the
 * GPUs: without libcuda programs find no GPU, and one of another version than
 * the kernel's is refused.
 */
#include <stdio.h>
#include <string.h>

#include "check/lookups.h"

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
