/* SPDX-License-Identifier: Apache-2.0 */
/* Are the GPUs there, is their memory sound, and is somebody else on them? */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/signals.h"
#include "check/gpu/state.h"
#include "check/software.h"

/* gpu.health */

static const char reset_hint[] =
	"for the job: another node; node admin: end what uses the GPU, then nvidia-smi --gpu-reset";
static const char library_hint[] =
	"outside the image: -e NVIDIA_DRIVER_CAPABILITIES=compute,utility, so that the container "
	"gets libnvidia-ml; see gpu.libver and gpu.open";

/* The first answer of a GPU with this error. */
static bool has_error(const struct ri_gpu_state *gpu, uint64_t error)
{
	if (gpu->answer.error == error)
		return true;
	for (unsigned i = 0; i < RI_GPU_ASKED_COUNT; i++)
		if (gpu->asked[i].answer.error == error)
			return true;
	return false;
}

/* enum nvmlDeviceGpuRecoveryAction_t; some healthy consumer cards say 1, so it proves nothing. */
static void note_recovery(struct ri_checking *checking, const char *name, uint64_t action)
{
	static const char *const actions[] = {
		NULL, "a reset of the GPU", "a reboot of the node", "to drain peer-to-peer traffic",
		"to drain the GPU and reset it", "to recover the IMEX domain", "a reset of the bus",
		"a reboot of the system",
	};

	if (action == 0)
		return;
	ri_check_note(checking, RI_CODE_GPU_HEALTH_RECOVERY, name, "the driver recommends %s",
		action < sizeof(actions) / sizeof(actions[0]) ? actions[action]
		: "an action that rankinit does not know");
	ri_check_hint(checking, "node admin: nvidia-smi -q, \"GPU Recovery Action\"");
}

static void judge_gpu(struct ri_checking *checking, const struct ri_gpu_state *gpu)
{
	const uint64_t *action = ri_gpu_numbers(gpu, RI_GPU_RECOVERY);
	char name[RI_GPU_NAME], text[96];
	uint64_t error = gpu->answer.error;

	ri_gpu_name(name, gpu);
	if (has_error(gpu, RI_NVML_LOST)) {
		ri_check_warn(checking, RI_CODE_GPU_HEALTH_LOST, name,
			"fallen off the bus: no program can use it");
	} else if (has_error(gpu, RI_NVML_RESET_REQUIRED)) {
		ri_check_warn(checking, RI_CODE_GPU_HEALTH_RESET, name,
			"not to be used before a reset");
		ri_check_hint(checking, "%s", reset_hint);
	} else if (error == RI_NVML_NO_PERMISSION || error == RI_NVML_OPERATING_SYSTEM) {
		/* another container's */
	} else if (error != 0) {
		ri_check_unknown(checking, RI_CODE_GPU_HEALTH_UNKNOWN, name,
			"no answer: %s", ri_nvml_error_show(text, sizeof(text), error));
		ri_check_hint(checking, "node admin: the kernel's log has more (dmesg | grep "
			"NVRM)");
	} else if (action != NULL) {
		note_recovery(checking, name, *action);
	}
}

/* What it was at when it ended, or did not. */
static void describe_step(char *out, size_t size, const struct ri_probe *said)
{
	const struct ri_gpu_state *gpu = &said->gpus[said->gpu_count > 0 ? said->gpu_count - 1 : 0];
	char name[RI_GPU_NAME];

	switch (said->at) {
	case RI_PROBE_GPU:
		snprintf(out, size, "while %s was opened", ri_gpu_name(name, gpu));
		break;
	case RI_PROBE_ASK:
		snprintf(out, size, "while %s was asked for \"%s\"", ri_gpu_name(name, gpu),
			ri_gpu_asked_word(said->question));
		break;
	case RI_PROBE_LOAD:
		snprintf(out, size, "while the library was loaded");
		break;
	default:
		snprintf(out, size, "while NVML was initialised");
	}
}

/* What was asked before counts; the rest is unknown, and no fault of the GPU's yet. */
static void say_cut_short(struct ri_checking *checking, const struct ri_prober *prober,
	const char *path)
{
	char step[160], name[RI_SIGNAL_NAME];
	bool hung = prober->end == RI_PROBER_HUNG;

	describe_step(step, sizeof(step), &prober->said);
	if (hung)
		ri_check_unknown(checking, RI_CODE_GPU_HEALTH_HUNG, path,
			"did not return within %d ms, %s", (int)RI_GPU_PROBE_MS, step);
	else
		ri_check_unknown(checking, RI_CODE_GPU_HEALTH_CRASHED, path,
			"ends the process that loads it%s%s, %s",
			WIFSIGNALED(prober->status) ? " by " : "",
			WIFSIGNALED(prober->status)
				? ri_signal_name(WTERMSIG(prober->status), name) : "", step);
	ri_check_hint(checking, "node admin: nvidia-smi on the host; \"rankinit-probe nvml %s\" "
		"repeats the test; --checks=default,^gpu.health skips it", path);
}

/* False where no GPU could be asked. */
static bool judge_library(struct ri_checking *checking, const struct ri_probe *said,
	const char *path)
{
	const struct ri_probe_answer *failed = said->init.error != 0 ? &said->init : &said->list;
	char text[96];

	if (said->load.given && !said->load.ok) {
		ri_check_unknown(checking, RI_CODE_GPU_HEALTH_LIBRARY, path,
			"cannot be loaded: %.200s", said->text);
	} else if (failed->error == RI_NVML_LOST) {
		ri_check_warn(checking, RI_CODE_GPU_HEALTH_LOST, "GPUs",
			"one of them has fallen off the bus, and NVML does not start");
		return false;
	} else if ((failed->error == RI_NVML_DRIVER_NOT_LOADED ||
		failed->error == RI_NVML_LIBRARY_NOT_FOUND) &&
		ri_check_nvidia(checking)->control == ENOENT) {
		ri_check_skip(checking, "GPUs", "no NVIDIA driver is here");
		return false;
	} else if (failed->error != 0) {
		ri_check_unknown(checking, RI_CODE_GPU_HEALTH_LIBRARY, path,
			"does not start: %s", ri_nvml_error_show(text, sizeof(text),
				failed->error));
	} else {
		return true;
	}
	ri_check_hint(checking, "%s", library_hint);
	return false;
}

static void check_health(struct ri_checking *checking)
{
	static const struct ri_prober_codes codes = { RI_CODE_GPU_HEALTH_CRASHED,
		RI_CODE_GPU_HEALTH_HUNG };
	const struct ri_library *library = &ri_check_cuda(checking)->management.file;
	const struct ri_gpu_look *look = ri_gpu_look(checking);
	const struct ri_probe *said;
	size_t answered = 0;
	bool cut_short;

	if (look == NULL)
		return;
	said = &look->prober.said;
	cut_short = look->prober.end == RI_PROBER_HUNG ||
		(look->prober.end == RI_PROBER_CRASHED && said->at != RI_PROBE_NOTHING);
	if (cut_short)
		say_cut_short(checking, &look->prober, library->path);
	else if (!ri_prober_judge(checking, &look->prober, library, codes) ||
		!judge_library(checking, said, library->path))
		return;
	for (size_t i = 0; i < said->gpu_count; i++) {
		if (!look->seen[i])
			continue;
		answered += said->gpus[i].answer.ok;
		judge_gpu(checking, &said->gpus[i]);
	}
	ri_gpu_merge(checking, look->count);
	if (look->unlisted > 0 && !cut_short)
		ri_check_note(checking, RI_CODE_GPU_HEALTH_UNLISTED, "GPUs",
			"%zu with a device file here %s not listed by NVML, as if the device "
			"cgroup denied it", look->unlisted, look->unlisted == 1 ? "is" : "are");
	if (checking->count > 0)
		return;
	if (answered == 0)
		ri_check_skip(checking, "GPUs", "NVML opens none");
	else
		ri_check_pass(checking, "GPUs", "%zu answer%s", answered,
			answered == 1 ? "s" : "");
}

const struct ri_check ri_check_gpu_health = {
	.id = "gpu.health",
	.summary = "every GPU answers",
	.reads = "what the driver's libnvidia-ml says of each GPU that CUDA_VISIBLE_DEVICES leaves "
		"(NVML API Reference Guide), in a separate process that gets six seconds",
	.fails = "a GPU is lost or needs a reset; unknown where the library is not there, does not "
		"start, ends that process or does not return. What the driver recommends is a note",
	.advice = "for the job: another node; node admin: reboot the host, and see its kernel log "
		"for Xid 79; if it comes back, check the board and its power",
	RI_GPU_PROBED,
	.run = check_health,
};

/* gpu.remap */

static const char remap_failed_hint[] =
	"for the job: another node; node admin: have the GPU replaced (NVIDIA GPU Memory Error "
	"Management, \"RMA Policy\")";

/*
 * nvmlDeviceGetRemappedRows: a pending remap does not harm what starts now,
 * since the page is not used; a remap that failed once is a reason for NVIDIA
 * to replace the GPU.
 */
static void judge_remap(struct ri_checking *checking, const struct ri_gpu_state *gpu)
{
	const uint64_t *rows = ri_gpu_numbers(gpu, RI_GPU_REMAP);
	char name[RI_GPU_NAME];

	ri_gpu_name(name, gpu);
	if (rows[3] != 0) {
		ri_check_warn(checking, RI_CODE_GPU_REMAP_FAILED, name,
			"a row of memory could not be remapped; %" PRIu64 " were after "
			"uncorrectable errors", rows[1]);
		ri_check_hint(checking, "%s", remap_failed_hint);
	} else if (rows[2] != 0) {
		ri_check_lack(checking, RI_CODE_GPU_REMAP_PENDING, name,
			"a faulty row of memory waits for the next reset to be remapped");
	}
}

static const struct ri_gpu_judging remap = {
	.asked = RI_GPU_REMAP, .unknown = RI_CODE_GPU_REMAP_UNKNOWN,
	.pass = "no remapped row is pending or has failed",
	.silent = "do not remap rows, or not with MIG", .silence_passes = true,
	.judge = judge_remap,
};

const struct ri_check ri_check_gpu_remap = {
	.id = "gpu.remap",
	.summary = "no remapped row of a GPU's memory is pending or has failed",
	.reads = "nvmlDeviceGetRemappedRows (NVML API Reference Guide; NVIDIA GPU Memory Error "
		"Management)",
	.fails = "a remap has failed; a note if one is pending, which harms nothing that starts "
		"now. \"--require=gpu.health\" requires this check, too",
	.advice = "node admin: nvidia-smi --gpu-reset when nothing runs on the GPU, which remaps "
		"the rows",
	RI_GPU_PROBED,
	.run = ri_gpu_judge,
	.how = &remap,
};

/* gpu.ecc */

static void judge_ecc(struct ri_checking *checking, const struct ri_gpu_state *gpu)
{
	const uint64_t *errors = ri_gpu_numbers(gpu, RI_GPU_ECC);
	const uint64_t *sram = ri_gpu_numbers(gpu, RI_GPU_SRAM);
	char name[RI_GPU_NAME];

	ri_gpu_name(name, gpu);
	if (sram != NULL && *sram != 0) {
		ri_check_warn(checking, RI_CODE_GPU_ECC_SRAM, name, "the SRAM has had more "
			"uncorrectable errors than NVIDIA accepts");
		ri_check_hint(checking, "for the job: another node; node admin: have the GPU "
			"replaced");
	}
	if (*errors > 0) {
		ri_check_note(checking, RI_CODE_GPU_ECC_ERRORS, name, "%" PRIu64
			" uncorrectable errors since the driver was loaded; they may be of an "
			"earlier job", *errors);
		ri_check_advise(checking);
	}
}

static const struct ri_gpu_judging ecc = {
	.asked = RI_GPU_ECC, .unknown = RI_CODE_GPU_ECC_UNKNOWN,
	.pass = "no uncorrectable error since the driver was loaded",
	.silent = "have no ECC, or it is off", .judge = judge_ecc,
};

const struct ri_check ri_check_gpu_ecc = {
	.id = "gpu.ecc",
	.summary = "the memory of the GPUs had no uncorrectable error",
	.reads = "nvmlDeviceGetTotalEccErrors, volatile, and nvmlDeviceGetSramEccErrorStatus (NVML "
		"API Reference Guide)",
	.fails = "the SRAM has had more than NVIDIA accepts (its own flag for a replacement); a "
		"note if the driver has counted any error. Errors of a GPU's whole life are not "
		"looked at",
	.advice = "node admin: nvidia-smi -q -d ECC,ROW_REMAPPER; the counter starts anew with "
		"the driver",
	RI_GPU_PROBED,
	.run = ri_gpu_judge,
	.how = &ecc,
};

/* gpu.busy */

/*
 * From where on taken memory is worth a word; the larger of both counts. An idle driver with
 * persistence, MPS and a desktop stay below the first; a page cache in the memory of Grace
 * superchips, and reserves that older drivers do not tell apart, below the second.
 */
enum { BUSY_MIB = 1024, BUSY_PERCENT = 2 };

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

static void judge_busy(struct ri_checking *checking, const struct ri_gpu_state *gpu)
{
	const uint64_t *processes = ri_gpu_numbers(gpu, RI_GPU_PROCESSES);
	const uint64_t *mig = ri_gpu_numbers(gpu, RI_GPU_MIG);
	const uint64_t *bytes = ri_gpu_numbers(gpu, RI_GPU_MEMORY);
	const char *reason = may_be_right(checking);
	char name[RI_GPU_NAME], text[160];
	uint64_t taken = 0;	/* MiB, of what the driver does not keep apart */
	bool much;

	if (bytes[1] <= bytes[0] && bytes[2] <= bytes[0] - bytes[1])
		taken = (bytes[0] - bytes[1] - bytes[2]) >> 20;
	much = taken >= BUSY_MIB && taken >= (bytes[0] >> 20) / 100 * BUSY_PERCENT;
	/* instances of one GPU have neighbours */
	if ((mig != NULL && mig[0] != 0) || (!much && (processes == NULL || *processes == 0)))
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

static const struct ri_gpu_judging busy = {
	.asked = RI_GPU_MEMORY, .unknown = RI_CODE_GPU_BUSY_UNKNOWN,
	.pass = "no process computes on them, and their memory is free",
	.silent = "do not tell how much of their memory is taken", .judge = judge_busy,
};

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
	.run = ri_gpu_judge,
	.how = &busy,
};
