/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the host's driver do for the CUDA of the image? A newer CUDA runs on
 * an older driver of the same major release, or with the libraries of
 * cuda-compat, which NVIDIA's hook and entrypoint put before the driver's own
 * (CUDA Compatibility, docs.nvidia.com/deploy/cuda-compatibility).
 */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "check/check.h"
#include "check/software.h"
#include "image/version.h"

static const char version_file[] = "/proc/driver/nvidia/version";

static const char old_hint[] =
	"node admin: a newer driver on the host; or another image: one for an older CUDA, or one "
	"with cuda-compat (apt-get install cuda-compat-12-8 for CUDA 12.8), which data-centre GPUs "
	"can use";
static const char unused_hint[] =
	"in the job's environment: /usr/local/cuda/compat first on LD_LIBRARY_PATH; or outside the "
	"image: NVIDIA container toolkit from 1.17 on does it; or let "
	"/opt/nvidia/nvidia_entrypoint.sh run, if the image has it";
static const char wrong_hint[] =
	"in the job's environment: take the compat folder off LD_LIBRARY_PATH; inside the image: "
	"remove cuda-compat-*, or install that of a newer CUDA";

static void judge_used(struct ri_checking *checking, const struct ri_cuda *cuda,
	const char *kernel)
{
	const struct ri_cuda_library *compat = &cuda->compat;

	if (compat->version[0] == '\0' ||
		ri_cuda_compat_fits(compat->version, &cuda->note, kernel)) {
		ri_check_pass(checking, compat->file.path, "is cuda-compat, and fits the driver %s",
			kernel);
		return;
	}
	ri_check_warn(checking, RI_CODE_GPU_COMPAT_WRONG, compat->file.path,
		"is cuda-compat %s, which does not fit the driver %s: CUDA ends with error 803",
		compat->version, kernel);
	ri_check_hint(checking, "%s", wrong_hint);
}

static void say_old(struct ri_checking *checking, const struct ri_cuda *cuda, const char *kernel,
	const char *least)
{
	bool fits = cuda->compat.file.path != NULL &&
		ri_cuda_compat_fits(cuda->compat.version, &cuda->note, kernel);

	ri_check_warn(checking, fits ? RI_CODE_GPU_COMPAT_UNUSED : RI_CODE_GPU_COMPAT_OLD,
		version_file, "the driver %s is too old for CUDA %s (%s)%s", kernel, cuda->toolkit,
		cuda->toolkit_origin, fits ? ", and cuda-compat, which would fit, is not "
			"used" : "");
	ri_check_expected(checking, "%s or newer", least);
	ri_check_hint(checking, "%s", fits ? unused_hint : old_hint);
}

static void judge_toolkit(struct ri_checking *checking, const struct ri_cuda *cuda,
	const char *kernel)
{
	const char *least = cuda->toolkit[0] == '\0' ? NULL : ri_cuda_least_driver(cuda->toolkit);

	if (cuda->toolkit[0] == '\0')
		ri_check_skip(checking, "CUDA_VERSION",
			"cannot tell which CUDA the image is built for");
	else if (least == NULL)
		ri_check_skip(checking, cuda->toolkit_origin, "rankinit does not know which driver "
			"CUDA %s needs", cuda->toolkit);
	else if (ri_version_compare(kernel, least) < 0)
		say_old(checking, cuda, kernel, least);
	else
		ri_check_pass(checking, version_file, "the driver %s is new enough for CUDA %s "
			"(%s)", kernel,
			cuda->toolkit, cuda->toolkit_origin);
}

static void check_compat(struct ri_checking *checking)
{
	const char *kernel = ri_check_nvidia(checking)->version;
	const struct ri_cuda *cuda = ri_check_cuda(checking);

	if (kernel[0] == '\0')
		ri_check_unknown(checking, RI_CODE_GPU_COMPAT_UNKNOWN, version_file,
			"does not show the driver's version");
	else if (cuda->compat_used)
		judge_used(checking, cuda, kernel);
	else
		judge_toolkit(checking, cuda, kernel);
}

const struct ri_check ri_check_gpu_compat = {
	.id = "gpu.compat",
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
	.holds = RI_ABOUT(GPU),
	.topics = RI_ABOUT(GPU),
	.run = check_compat,
};
