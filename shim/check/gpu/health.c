/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are the GPUs there, is their memory sound, and does another program use them? One run of
 * "rankinit-probe nvml" for all of it, and a walk over the GPUs that a program here sees.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/signals.h"
#include "base/text.h"
#include "check/lookups.h"
#include "node/node.h"
#include "probe/prober.h"
#include "system/clock.h"

enum {
	/* without persistence the driver initialises each GPU first, as it would for the job */
	PROBE_MS = 6000,
	CHECK_MS = PROBE_MS + 500,
	NAME = 96,
};

/* All that was said, and which GPUs are seen here. */
struct look {
	struct ri_prober prober;
	bool seen[RI_GPU_STATES];
	size_t count;		/* of them */
	size_t unlisted;	/* that are seen, and NVML does not list */
	bool hidden;		/* CUDA_VISIBLE_DEVICES hides all of them */
};

/* One check of an answer of each GPU. */
struct judging {
	enum ri_gpu_asked asked;
	enum ri_code unknown;	/* the answer is an error that means something */
	const char *pass;	/* what is said of all of them where nothing else is */
	const char *silent;	/* the same where no GPU answers: a skip; see `silence_passes` */
	bool silence_passes;	/* not to have such a thing is a pass */
	/* Says what there is to say of this GPU by its numbers, or nothing. */
	void (*judge)(struct ri_checking *checking, const struct ri_gpu_state *gpu,
		const char *name);
};

/* What was said, asked once in a process. NULL: nothing is to be asked: a skip, or unknown. */
static const struct look *look_at(struct ri_checking *checking)
{
	static struct look look;
	static bool asked;
	/* CUDA Programming Guide, "CUDA Environment Variables" */
	const char *visible = ri_env_get(checking->env, "CUDA_VISIBLE_DEVICES");
	const char *library = ri_check_cuda(checking)->management.file.path;
	struct ri_probe *said = &look.prober.said;

	if (!checking->asked && ri_check_nvidia(checking)->control == ENOENT) {
		ri_check_skip(checking, "GPUs", "no NVIDIA driver is here");
		return NULL;
	}
	if (library == NULL) {
		ri_check_unprobed(checking, "libnvidia-ml.so.1",
			"is not in this container, so no GPU can be asked how it is");
		return NULL;
	}
	if (!asked) {
		ri_prober_run(&look.prober, checking, "nvml", library, 0,
			ri_now_us() + (int64_t)PROBE_MS * 1000);
		look.hidden = visible != NULL && (visible[0] == '\0' || visible[0] == '-');
		look.unlisted = ri_gpu_states_seen(look.seen, said->gpus, said->gpu_count,
			ri_check_gpus(checking));
		for (size_t i = 0; i < said->gpu_count; i++)
			look.count += look.seen[i];
	}
	asked = true;
	if (look.hidden)
		ri_check_skip(checking, "GPUs", "CUDA_VISIBLE_DEVICES hides all of them");
	return look.hidden ? NULL : &look;
}

/* "GPU 3 (0000:1b:00.0)", into out of NAME bytes. Returns out. */
static const char *name_of(char *out, const struct ri_gpu_state *gpu)
{
	snprintf(out, NAME, "GPU %" PRIu64 "%s%s%s", gpu->index,
		gpu->address[0] == '\0' ? "" : " (", gpu->address,
		gpu->address[0] == '\0' ? "" : ")");
	return out;
}

/* Has the GPU instances of MIG? A job with one of them has neighbours on the GPU. */
static bool has_mig(const struct ri_gpu_state *gpu)
{
	const uint64_t *mig = ri_gpu_numbers(gpu, RI_GPU_MIG);

	return mig != NULL && mig[0] != 0;
}

static bool is_alike(const struct ri_check_result *a, const struct ri_check_result *b)
{
	return a->code == b->code && strcmp(a->text, b->text) == 0;
}

/* What was said of several of so many GPUs in the same words becomes one result. */
static void merge(struct ri_checking *checking, size_t gpus)
{
	struct ri_check_result *results = checking->results;
	size_t kept = 0, count = checking->count;

	/* what was dropped would not be counted */
	if (count > RI_CHECK_RESULTS)
		return;
	for (size_t i = 0; i < count; i++) {
		struct ri_row row = { .count = 0 };
		size_t first = 0;

		/* what was moved to the front leaves its words behind */
		while (first < i && !is_alike(&results[first], &results[i]))
			first++;
		if (first < i)
			continue;
		for (size_t j = i; j < count; j++)
			if (is_alike(&results[i], &results[j]))
				ri_row_add(&row, results[j].subject);
		ri_text_copy(results[i].subject, sizeof(results[i].subject),
			row.count > 1 && row.count == gpus ? "GPUs" : ri_row_end(&row));
		results[kept++] = results[i];
	}
	checking->count = kept;
}

/* The run of a check whose `how` is one of these. */
static void judge_all(struct ri_checking *checking)
{
	const struct judging *judging = ri_check_at(checking->number)->how;
	const struct look *look = look_at(checking);
	size_t known = 0, asked = 0;
	char name[NAME], text[96];

	if (look == NULL)
		return;
	for (size_t i = 0; i < look->prober.said.gpu_count; i++) {
		const struct ri_gpu_state *gpu = &look->prober.said.gpus[i];
		const struct ri_probe_answer *answer = &gpu->asked[judging->asked].answer;

		if (!look->seen[i])
			continue;
		asked += answer->given;
		known += answer->ok;
		name_of(name, gpu);
		if (answer->ok)
			judging->judge(checking, gpu, name);
		/*
		 * One that is lost is lost to gpu.health, and no permission to ask for the whole
		 * GPU is what a tenant with an instance of it has.
		 */
		else if (answer->given && !ri_nvml_is_quiet(answer->error) &&
			!(answer->error == RI_NVML_NO_PERMISSION && has_mig(gpu)) &&
			answer->error != RI_NVML_LOST && answer->error != RI_NVML_RESET_REQUIRED)
			ri_check_unknown(checking, judging->unknown, name, "not told: %s",
				ri_nvml_error_show(text, sizeof(text), answer->error));
	}
	merge(checking, look->count);
	if (checking->count > 0)
		return;
	if (look->prober.end != RI_PROBER_DONE || asked == 0)
		ri_check_skip(checking, "GPUs", "not all of them answered: see gpu.health");
	else if (known > 0 || judging->silence_passes)
		ri_check_pass(checking, "GPUs", "%s", known > 0 ? judging->pass : judging->silent);
	else
		ri_check_skip(checking, "GPUs", "%s", judging->silent);
}

static bool has_error(const struct ri_gpu_state *gpu, uint64_t error)
{
	if (gpu->answer.error == error)
		return true;
	for (unsigned i = 0; i < RI_GPU_ASKED_COUNT; i++)
		if (gpu->asked[i].answer.error == error)
			return true;
	return false;
}

static void judge_gpu(struct ri_checking *checking, const struct ri_gpu_state *gpu)
{
	/* enum nvmlDeviceGpuRecoveryAction_t */
	static const char *const actions[] = {
		NULL, "a reset of the GPU", "a reboot of the node", "to drain peer-to-peer traffic",
		"to drain the GPU and reset it", "to recover the IMEX domain", "a reset of the bus",
		"a reboot of the system",
	};
	const uint64_t *action = ri_gpu_numbers(gpu, RI_GPU_RECOVERY);
	char name[NAME], text[96];
	uint64_t error = gpu->answer.error;

	name_of(name, gpu);
	if (has_error(gpu, RI_NVML_LOST)) {
		ri_check_warn(checking, RI_CODE_GPU_HEALTH_LOST, name,
			"fallen off the bus: no program can use it");
	} else if (has_error(gpu, RI_NVML_RESET_REQUIRED)) {
		ri_check_warn(checking, RI_CODE_GPU_HEALTH_RESET, name,
			"not to be used before a reset");
		ri_check_hint(checking, "for the job: another node; node admin: end what uses the "
			"GPU, then nvidia-smi --gpu-reset");
	} else if (error == RI_NVML_NO_PERMISSION || error == RI_NVML_OPERATING_SYSTEM) {
		/* another container's */
	} else if (error != 0) {
		ri_check_unknown(checking, RI_CODE_GPU_HEALTH_UNKNOWN, name,
			"no answer: %s", ri_nvml_error_show(text, sizeof(text), error));
		ri_check_hint(checking, "node admin: the kernel's log has more (dmesg | grep "
			"NVRM)");
	} else if (action != NULL && *action != 0) {
		/* some healthy consumer cards say 1, so it proves nothing */
		ri_check_note(checking, RI_CODE_GPU_HEALTH_RECOVERY, name,
			"the driver recommends %s", *action < RI_ARRAY_SIZE(actions)
			? actions[*action] : "an action that rankinit does not know");
		ri_check_hint(checking, "node admin: nvidia-smi -q, \"GPU Recovery Action\"");
	}
}

/* What was asked before counts; the rest is unknown, and no fault of the GPU's yet. */
static void say_cut_short(struct ri_checking *checking, const struct ri_prober *prober,
	const char *path)
{
	const struct ri_probe *said = &prober->said;
	const struct ri_gpu_state *gpu = &said->gpus[said->gpu_count > 0 ? said->gpu_count - 1 : 0];
	char step[160], gpu_name[NAME];

	name_of(gpu_name, gpu);
	if (said->at == RI_PROBE_GPU)
		snprintf(step, sizeof(step), "while %s was opened", gpu_name);
	else if (said->at == RI_PROBE_ASK)
		snprintf(step, sizeof(step), "while %s was asked for \"%s\"", gpu_name,
			ri_gpu_asked_word(said->question));
	else
		snprintf(step, sizeof(step), "while %s", said->at == RI_PROBE_LOAD
			? "the library was loaded" : "NVML was initialised");
	if (prober->end == RI_PROBER_HUNG)
		ri_check_unknown(checking, RI_CODE_GPU_HEALTH_HUNG, path,
			"did not return within %d ms, %s", (int)PROBE_MS, step);
	else
		ri_check_unknown(checking, RI_CODE_GPU_HEALTH_CRASHED, path,
			"ends the process that loads it%s%s, %s",
			WIFSIGNALED(prober->status) ? " by " : "",
			WIFSIGNALED(prober->status)
				? RI_SIGNAL_SHOWN(WTERMSIG(prober->status)) : "", step);
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
	ri_check_hint(checking, "outside the image: -e NVIDIA_DRIVER_CAPABILITIES=compute,utility, "
		"so that the container gets libnvidia-ml; see gpu.libver and gpu.open");
	return false;
}

static void check_health(struct ri_checking *checking)
{
	const struct ri_library *library = &ri_check_cuda(checking)->management.file;
	const struct look *look = look_at(checking);
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
	else if (!ri_prober_judge(checking, &look->prober, library, RI_CODE_GPU_HEALTH_CRASHED,
			RI_CODE_GPU_HEALTH_HUNG) ||
		!judge_library(checking, said, library->path))
		return;
	for (size_t i = 0; i < said->gpu_count; i++) {
		if (!look->seen[i])
			continue;
		answered += said->gpus[i].answer.ok;
		judge_gpu(checking, &said->gpus[i]);
	}
	merge(checking, look->count);
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
	.summary = "every GPU answers",
	.reads = "what the driver's libnvidia-ml says of each GPU that CUDA_VISIBLE_DEVICES leaves "
		"(NVML API Reference Guide), in a separate process that gets six seconds",
	.fails = "a GPU is lost or needs a reset; unknown where the library is not there, does not "
		"start, ends that process or does not return. What the driver recommends is a note",
	.advice = "for the job: another node; node admin: reboot the host, and see its kernel log "
		"for Xid 79; if it comes back, check the board and its power",
	RI_CHECK_PROBES("nvml", CHECK_MS),
	.run = check_health,
};

/*
 * nvmlDeviceGetRemappedRows: a pending remap does not harm what starts now,
 * since the page is not used; a remap that failed once is a reason for NVIDIA
 * to replace the GPU.
 */
static void judge_remap(struct ri_checking *checking, const struct ri_gpu_state *gpu,
	const char *name)
{
	const uint64_t *rows = ri_gpu_numbers(gpu, RI_GPU_REMAP);

	if (rows[3] != 0) {
		ri_check_warn(checking, RI_CODE_GPU_REMAP_FAILED, name,
			"a row of memory could not be remapped; %" PRIu64 " were after "
			"uncorrectable errors", rows[1]);
		ri_check_hint(checking, "for the job: another node; node admin: have the GPU "
			"replaced (NVIDIA GPU Memory Error Management, \"RMA Policy\")");
	} else if (rows[2] != 0) {
		ri_check_lack(checking, RI_CODE_GPU_REMAP_PENDING, name,
			"a faulty row of memory waits for the next reset to be remapped");
	}
}

const struct ri_check ri_check_gpu_remap = {
	.summary = "no remapped row of a GPU's memory is pending or has failed",
	.reads = "nvmlDeviceGetRemappedRows (NVML API Reference Guide; NVIDIA GPU Memory Error "
		"Management)",
	.fails = "a remap has failed; a note if one is pending, which harms nothing that starts "
		"now. \"--require=gpu.health\" requires this check, too",
	.advice = "node admin: nvidia-smi --gpu-reset when nothing runs on the GPU, which remaps "
		"the rows",
	RI_CHECK_PROBES("nvml", CHECK_MS),
	.run = judge_all,
	.how = &(const struct judging){
		.asked = RI_GPU_REMAP, .unknown = RI_CODE_GPU_REMAP_UNKNOWN,
		.pass = "no remapped row is pending or has failed",
		.silent = "do not remap rows, or not with MIG", .silence_passes = true,
		.judge = judge_remap,
	},
};

static void judge_ecc(struct ri_checking *checking, const struct ri_gpu_state *gpu,
	const char *name)
{
	const uint64_t *errors = ri_gpu_numbers(gpu, RI_GPU_ECC);
	const uint64_t *sram = ri_gpu_numbers(gpu, RI_GPU_SRAM);

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

const struct ri_check ri_check_gpu_ecc = {
	.summary = "the memory of the GPUs had no uncorrectable error",
	.reads = "nvmlDeviceGetTotalEccErrors, volatile, and nvmlDeviceGetSramEccErrorStatus (NVML "
		"API Reference Guide)",
	.fails = "the SRAM has had more than NVIDIA accepts (its own flag for a replacement); a "
		"note if the driver has counted any error. Errors of a GPU's whole life are not "
		"looked at",
	.advice = "node admin: nvidia-smi -q -d ECC,ROW_REMAPPER; the counter starts anew with "
		"the driver",
	RI_CHECK_PROBES("nvml", CHECK_MS),
	.run = judge_all,
	.how = &(const struct judging){
		.asked = RI_GPU_ECC, .unknown = RI_CODE_GPU_ECC_UNKNOWN,
		.pass = "no uncorrectable error since the driver was loaded",
		.silent = "have no ECC, or it is off", .judge = judge_ecc,
	},
};

/*
 * From where on taken memory is worth a word; the larger of both counts. An idle driver with
 * persistence, MPS and a desktop stay below the first; a page cache in the memory of Grace
 * superchips, and reserves that older drivers do not tell apart, below the second.
 */
enum { BUSY_MIB = 1024, BUSY_PERCENT = 2 };

/*
 * Is its memory a NUMA node of the kernel, as on Grace Hopper and POWER9, so
 * that pages of files may lie there? numa_status is a file of NVIDIA's open
 * driver (nv-procfs.c), with "Status:    online" in its second line.
 */
static bool is_numa_node(const struct ri_checking *checking, const struct ri_gpu_state *gpu)
{
	const char *address = gpu->address, *status;
	char path[128], text[256], line[16];

	/* the library's word for it, and no other path */
	if (strspn(address, "0123456789abcdef:.") < strlen(address) ||
		strstr(address, "..") != NULL)
		return false;
	snprintf(path, sizeof(path), "proc/driver/nvidia/gpus/%s/numa_status", address);
	if (ri_host_read(checking->host, path, text, sizeof(text)) < 0)
		return false;
	status = ri_proc_field(text, "Status", ':');
	return status != NULL && ri_sysfile_rest(status, line, sizeof(line)) &&
		strcmp(line, "online") == 0;
}

static void judge_busy(struct ri_checking *checking, const struct ri_gpu_state *gpu,
	const char *name)
{
	const uint64_t *answer = ri_gpu_numbers(gpu, RI_GPU_PROCESSES);
	const uint64_t *bytes = ri_gpu_numbers(gpu, RI_GPU_MEMORY);
	uint64_t processes = answer == NULL ? 0 : *answer;
	uint64_t taken = 0;	/* MiB, of what the driver does not keep apart */
	const char *reason = NULL;
	char text[160];
	bool much;

	if (bytes[1] <= bytes[0] && bytes[2] <= bytes[0] - bytes[1])
		taken = (bytes[0] - bytes[1] - bytes[2]) >> 20;
	much = taken >= BUSY_MIB && taken >= (bytes[0] >> 20) / 100 * BUSY_PERCENT;
	if (has_mig(gpu) || (!much && processes == 0))
		return;
	/*
	 * May it be ours, or meant to be shared? Ranks that a launcher started beside this one may
	 * be on the GPU already, unlike those that we are to start; MPS is there to share it (CUDA
	 * MPS documentation, "CUDA_MPS_PIPE_DIRECTORY" and its default).
	 */
	if (checking->has_peers)
		reason = "other ranks of this job may have begun";
	else if (ri_env_get(checking->env, "CUDA_MPS_PIPE_DIRECTORY") != NULL ||
		ri_host_has(checking->host, "tmp/nvidia-mps"))
		reason = "MPS shares it";
	else if (processes == 0 && is_numa_node(checking, gpu))
		reason = "the kernel may keep files there, since it is a NUMA node";
	snprintf(text, sizeof(text), "%" PRIu64 " MiB of memory are taken, %" PRIu64
		" %s there", taken, processes,
		processes == 1 ? "process computes" : "processes compute");
	if (reason != NULL)
		ri_check_note(checking, RI_CODE_GPU_BUSY_SHARED, name, "%s; %s", text, reason);
	else
		ri_check_lack(checking, RI_CODE_GPU_BUSY_OTHERS, name, "%s", text);
}

const struct ri_check ri_check_gpu_busy = {
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
	RI_CHECK_PROBES("nvml", CHECK_MS),
	.run = judge_all,
	.how = &(const struct judging){
		.asked = RI_GPU_MEMORY, .unknown = RI_CODE_GPU_BUSY_UNKNOWN,
		.pass = "no process computes on them, and their memory is free",
		.silent = "do not tell how much of their memory is taken", .judge = judge_busy,
	},
};
