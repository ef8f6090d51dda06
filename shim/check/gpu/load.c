/* SPDX-License-Identifier: Apache-2.0 */
/* Is somebody else on the GPUs, are they slowed down, and how are they set? */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check/gpu/state.h"

/* gpu.busy */

/*
 * May it be ours, or meant to be shared? Ranks that a launcher started beside
 * this one may be on the GPU already, unlike those that we are to start; MPS
 * is there to share it (CUDA MPS documentation, "CUDA_MPS_PIPE_DIRECTORY" and
 * its default).
 */
static const char *may_be_right(const struct ri_checking *checking)
{
	if (checking->has_peers)
		return "other ranks of this job may have begun";
	if (ri_env_get(checking->env, "CUDA_MPS_PIPE_DIRECTORY") != NULL ||
		ri_host_has(checking->host, "tmp/nvidia-mps"))
		return "MPS shares it";
	return NULL;
}

/*
 * Is its memory a NUMA node of the kernel, as on Grace Hopper and POWER9, so
 * that pages of files may lie there? numa_status is a file of NVIDIA's open
 * driver (nv-procfs.c), with "Status:    online" in its second line.
 */
static bool is_numa_node(const struct ri_checking *checking, const struct ri_gpu_state *gpu)
{
	static const char online[] = "online\n", status[] = "Status:";
	const char *address = gpu->address, *word;
	char path[128], text[256];

	/* the library's word for it, and no other path */
	if (strspn(address, "0123456789abcdef:.") < strlen(address) ||
		strstr(address, "..") != NULL)
		return false;
	snprintf(path, sizeof(path), "proc/driver/nvidia/gpus/%s/numa_status", address);
	if (ri_host_read(checking->host, path, text, sizeof(text)) < 0)
		return false;
	word = strstr(text, status);
	if (word == NULL)
		return false;
	word += sizeof(status) - 1;
	return strncmp(word + strspn(word, " \t"), online, sizeof(online) - 1) == 0;
}

/* MiB that are taken, of what the driver does not keep apart. */
static uint64_t count_taken(const struct ri_gpu_state *gpu)
{
	const uint64_t *bytes = ri_gpu_numbers(gpu, RI_GPU_MEMORY);

	if (bytes == NULL || bytes[1] > bytes[0] || bytes[2] > bytes[0] - bytes[1])
		return 0;
	return (bytes[0] - bytes[1] - bytes[2]) >> 20;
}

static bool is_much(const struct ri_gpu_state *gpu, uint64_t taken)
{
	uint64_t all = ri_gpu_numbers(gpu, RI_GPU_MEMORY)[0] >> 20;

	return taken >= RI_THRESHOLD_BUSY_MIB && taken >= all / 100 * RI_THRESHOLD_BUSY_PERCENT;
}

static void judge_busy(struct ri_checking *checking, const struct ri_gpu_look *look,
	const struct ri_gpu_state *gpu)
{
	const uint64_t *processes = ri_gpu_numbers(gpu, RI_GPU_PROCESSES);
	const uint64_t *mig = ri_gpu_numbers(gpu, RI_GPU_MIG);
	const char *reason = may_be_right(checking);
	uint64_t taken = count_taken(gpu);
	char name[RI_GPU_NAME], text[160];

	(void)look;
	/* instances of one GPU have neighbours */
	if ((mig != NULL && mig[0] != 0) ||
		(!is_much(gpu, taken) && (processes == NULL || *processes == 0)))
		return;
	if (reason == NULL && (processes == NULL || *processes == 0) &&
		is_numa_node(checking, gpu))
		reason = "the kernel may keep files there, since it is a NUMA node";
	ri_gpu_name(name, gpu);
	snprintf(text, sizeof(text), "%" PRIu64 " MiB of memory are taken, %" PRIu64
		" %s there", taken, processes == NULL ? 0 : *processes,
		processes != NULL && *processes == 1 ? "process computes" : "processes compute");
	if (reason != NULL)
		ri_check_note(checking, RI_CODE_GPU_BUSY_SHARED, name, "%s; %s", text, reason);
	else
		ri_check_lack(checking, RI_CODE_GPU_BUSY_OTHERS, name, "%s", text);
}

static void check_busy(struct ri_checking *checking)
{
	static const struct ri_gpu_judging judging = {
		.asked = RI_GPU_MEMORY, .unknown = RI_CODE_GPU_BUSY_UNKNOWN,
		.pass = "no process computes on them, and their memory is free",
		.silent = "do not tell how much of their memory is taken", .judge = judge_busy,
	};

	ri_gpu_judge(checking, &judging);
}

const struct ri_check ri_check_gpu_busy = {
	.id = "gpu.busy",
	.summary = "no other process uses the GPUs",
	.reads = "nvmlDeviceGetMemoryInfo, nvmlDeviceGetComputeRunningProcesses (their number "
		"alone: their ids are of another PID namespace), MIG mode (NVML API Reference "
		"Guide); CUDA_MPS_PIPE_DIRECTORY, /tmp/nvidia-mps (CUDA MPS documentation); "
		"numa_status below /proc/driver/nvidia/gpus (NVIDIA's open kernel modules, "
		"nv-procfs.c)",
	.fails = "memory is taken or a process computes there; a note. With MPS, where a "
		"launcher has started several ranks on this node, and where the memory is a NUMA "
		"node without processes, it cannot be required; a GPU with MIG is left out",
	.advice = "node admin: nvidia-smi on the host shows whose it is: another job, or "
		"processes of an earlier one that have not ended; for the job: wait, or another "
		"node",
	RI_GPU_PROBED,
	.run = check_busy,
};

/* gpu.throttle */

/* NVML API Reference Guide, "NvmlClocksEventReasons". */
enum { HW_SLOWDOWN = 0x8, HW_THERMAL = 0x40, HW_POWER_BRAKE = 0x80 };

/* Since the driver was loaded, which may be months. */
static void note_slowed(struct ri_checking *checking, const struct ri_gpu_state *gpu,
	const char *name)
{
	static const uint64_t second = 1000000000;
	const uint64_t *slowed = ri_gpu_numbers(gpu, RI_GPU_SLOWED);

	if (slowed == NULL || (slowed[0] / second < RI_THRESHOLD_SLOWED_SECONDS &&
		slowed[1] / second < RI_THRESHOLD_SLOWED_SECONDS))
		return;
	ri_check_note(checking, RI_CODE_GPU_THROTTLE_COUNTED, name, "since the driver was loaded "
		"the hardware slowed the clocks for %" PRIu64 " s because of heat and for %" PRIu64
		" s because of power", slowed[0] / second, slowed[1] / second);
	ri_check_advise(checking);
}

/* HW_SLOWDOWN alone shows while clocks change, too, and so proves nothing. */
static void judge_throttle(struct ri_checking *checking, const struct ri_gpu_look *look,
	const struct ri_gpu_state *gpu)
{
	uint64_t reasons = *ri_gpu_numbers(gpu, RI_GPU_CLOCKS);
	char name[RI_GPU_NAME];

	(void)look;
	ri_gpu_name(name, gpu);
	if ((reasons & (HW_THERMAL | HW_POWER_BRAKE)) != 0) {
		ri_check_lack(checking, RI_CODE_GPU_THROTTLE_NOW, name,
			"the hardware slows the clocks now because of %s",
			(reasons & HW_THERMAL) != 0 ? "heat" : "power");
	} else if ((reasons & HW_SLOWDOWN) != 0) {
		ri_check_note(checking, RI_CODE_GPU_THROTTLE_SLOWDOWN, name, "a hardware slowdown "
			"without a reason, as while clocks change");
	}
	note_slowed(checking, gpu, name);
}

static void check_throttle(struct ri_checking *checking)
{
	static const struct ri_gpu_judging judging = {
		.asked = RI_GPU_CLOCKS, .unknown = RI_CODE_GPU_THROTTLE_UNKNOWN,
		.pass = "the hardware slows none of them down",
		.silent = "do not tell why their clocks are what they are",
		.judge = judge_throttle,
	};

	ri_gpu_judge(checking, &judging);
}

const struct ri_check ri_check_gpu_throttle = {
	.id = "gpu.throttle",
	.summary = "the hardware does not slow the GPUs down",
	.reads = "nvmlDeviceGetCurrentClocksEventReasons, and how long it lasted since the driver "
		"was loaded: NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN and "
		"_HW_POWER_BRAKE_SLOWDOWN (NVML API Reference Guide)",
	.fails = "heat or the power brake slows one down now; a note, as is what was counted. "
		"Limits that software sets, as the power cap, are normal",
	.advice = "node admin: cooling, power supply and power limits of the host (nvidia-smi -q "
		"-d PERFORMANCE,TEMPERATURE,POWER); for the job: another node, since one slow GPU "
		"slows all",
	RI_GPU_PROBED,
	.run = check_throttle,
};

/* gpu.mode */

/* nvmlComputeMode_t */
enum { MODE_PROHIBITED = 2, MODE_EXCLUSIVE_PROCESS = 3 };

static void judge_mode(struct ri_checking *checking, const struct ri_gpu_look *look,
	const struct ri_gpu_state *gpu)
{
	const uint64_t mode = *ri_gpu_numbers(gpu, RI_GPU_MODE);
	const uint64_t *persistence = ri_gpu_numbers(gpu, RI_GPU_PERSISTENCE);
	const uint64_t *mig = ri_gpu_numbers(gpu, RI_GPU_MIG);
	char name[RI_GPU_NAME];

	(void)look;
	ri_gpu_name(name, gpu);
	if (mode == MODE_PROHIBITED) {
		ri_check_warn(checking, RI_CODE_GPU_MODE_PROHIBITED, name,
			"the compute mode is \"prohibited\": no CUDA program can use it");
	} else if (mode == MODE_EXCLUSIVE_PROCESS) {
		ri_check_note(checking, RI_CODE_GPU_MODE_EXCLUSIVE, name,
			"the compute mode is \"exclusive process\": one process at a time");
	}
	if (persistence != NULL && *persistence == 0) {
		ri_check_note(checking, RI_CODE_GPU_MODE_PERSISTENCE, name, "persistence mode is "
			"off: the first process waits for the driver");
		ri_check_advise(checking);
	}
	if (mig != NULL && mig[0] != mig[1])
		ri_check_note(checking, RI_CODE_GPU_MODE_MIG, name, "the next reset turns MIG %s",
			mig[1] != 0 ? "on" : "off");
}

static void check_mode(struct ri_checking *checking)
{
	static const struct ri_gpu_judging judging = {
		.asked = RI_GPU_MODE, .unknown = RI_CODE_GPU_MODE_UNKNOWN,
		.pass = "their compute mode lets programs use them",
		.silent = "do not tell their compute mode", .judge = judge_mode,
	};

	ri_gpu_judge(checking, &judging);
}

const struct ri_check ri_check_gpu_mode = {
	.id = "gpu.mode",
	.summary = "the GPUs are set so that programs can use them",
	.reads = "nvmlDeviceGetComputeMode, nvmlDeviceGetPersistenceMode, nvmlDeviceGetMigMode "
		"(NVML API Reference Guide)",
	.fails = "the compute mode is \"prohibited\"; a note if it is \"exclusive process\", "
		"persistence is off, or MIG is about to change",
	.advice = "node admin: nvidia-smi -c DEFAULT sets the compute mode, nvidia-smi -pm 1 or "
		"nvidia-persistenced the persistence mode",
	RI_GPU_PROBED,
	.run = check_mode,
};
