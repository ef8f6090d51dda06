/* SPDX-License-Identifier: Apache-2.0 */
/* How many GPUs a program started here would see. */
#include <string.h>

#include "base/text.h"
#include "check/check.h"
#include "node/budget.h"
#include "node/gpus.h"

/* NVIDIA CUDA Programming Guide; which GPUs a program sees, and in which order. */
static const char visible[] = "CUDA_VISIBLE_DEVICES";

static const char visible_hint[] =
	"in the job's environment: list GPUs that this container has, or unset it";

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

/* MIG User Guide, "CUDA visible devices": of those listed a process uses the first. */
static const char instances_hint[] =
	"give each rank its own: --nproc-per-node with --gpu-bind=single, or a "
	"CUDA_VISIBLE_DEVICES=MIG-... for each";

/* What counting gives. */
struct counted {
	struct ri_gpus gpus;
	struct ri_findings findings;	/* of CUDA_VISIBLE_DEVICES */
	struct ri_error err;
	bool known;
};

static const struct counted *count_gpus(struct ri_checking *checking)
{
	static struct counted counted;
	const struct ri_node node = {
		.host = checking->host, .env = checking->env, .arena = checking->arena,
		.findings = &counted.findings,
	};

	counted.findings.count = 0;
	counted.err = (struct ri_error)RI_ERROR_INIT;
	counted.known = ri_gpus_find(&counted.gpus, &node, &counted.err) == 0;
	return &counted;
}

static void say_uncounted(struct ri_checking *checking, const struct counted *counted)
{
	ri_check_unknown(checking, RI_CODE_GPU_COUNT_UNKNOWN, "GPUs", "%s",
		counted->known ? "rankinit cannot count GPUs of this kind"
			       : "the list of visible GPUs cannot be used");
	ri_check_asked(checking, ri_demands_find(checking->demands, RI_TOPIC_GPU));
	if (counted->known)
		ri_check_hint(checking, "rankinit counts only NVIDIA GPUs; "
			"--checks=default,^gpu.count turns this check off, and gpu.vendor still "
			"shows that GPUs are here");
	else
		ri_check_hint(checking, "%s", visible_hint);
}

/* Do the ranks here get one list of MIG instances, of which each of them uses the first? */
static bool share_instance(const struct ri_checking *checking, const struct counted *counted)
{
	return counted->gpus.instances && counted->gpus.count > 1 && checking->ranks > 1 &&
		!checking->own_gpus;
}

static void say_instances(struct ri_checking *checking, enum ri_code code, const char *subject,
	size_t count)
{
	ri_check_warn(checking, code, subject, "a program uses only the first of %zu MIG "
		"instances, but %llu ranks are on this node", count,
		(unsigned long long)checking->ranks);
	ri_check_hint(checking, "%s", instances_hint);
}

/* Of ranks that share GPUs by design it is no more than good to know. */
static void say_shared(struct ri_checking *checking, size_t count)
{
	static const char text[] = "a program sees %zu, but %llu ranks are on this node";
	unsigned long long ranks = checking->ranks;

	if (checking->may_lack_gpus)
		ri_check_lack(checking, RI_CODE_GPU_COUNT_SHARED, "GPUs", text, count, ranks);
	else
		ri_check_warn(checking, RI_CODE_GPU_COUNT_SHARED, "GPUs", text, count, ranks);
	ri_check_hint(checking, "%s", ri_check_is_slurm(checking) ? slurm_hint : shared_hint);
}

/* The firmest demand for more GPUs than there are, those of ranks here among them. */
static void check_count(struct ri_checking *checking)
{
	const struct counted *counted = count_gpus(checking);
	const struct ri_demand *demand;
	size_t count = counted->gpus.count;

	if (!counted->known || counted->gpus.others != NULL) {
		say_uncounted(checking, counted);
		return;
	}
	demand = ri_demands_unmet(checking->demands, RI_TOPIC_GPU, RI_DEMAND_COUNT, count);
	if (demand != NULL) {
		ri_check_lack(checking, RI_CODE_GPU_COUNT_FEW, "GPUs", "a program sees %zu", count);
		ri_check_asked(checking, demand);
		ri_check_expected_count(checking, demand);
	} else if (share_instance(checking, counted)) {
		say_instances(checking, RI_CODE_GPU_COUNT_SHARED, "GPUs", count);
	} else if (count > 0 && count < checking->ranks) {
		say_shared(checking, count);
	} else if (count == 0) {
		ri_check_skip(checking, "GPUs", "a program sees none, and none are requested");
	} else {
		ri_check_pass(checking, "GPUs", "a program sees %zu", count);
	}
}

const struct ri_check ri_check_gpu_count = {
	.id = "gpu.count",
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

static void say_hidden(struct ri_checking *checking, const char *value)
{
	char quoted[RI_QUOTE_SIZE];

	ri_check_lack(checking, RI_CODE_GPU_VISIBLE_NONE, visible,
		"is %s, which hides all GPUs", value[0] == '\0' ? "empty"
		: ri_quote(quoted, sizeof(quoted), value));
	ri_check_asked(checking, ri_demands_find(checking->demands, RI_TOPIC_GPU));
}

static void check_visible(struct ri_checking *checking)
{
	const char *value = ri_env_get(checking->env, visible);
	const struct counted *counted = count_gpus(checking);
	const struct ri_findings *found = &counted->findings;

	if (value == NULL) {
		ri_check_skip(checking, visible, counted->known && counted->gpus.count == 0 &&
			counted->gpus.others == NULL ? "is not set, and no GPU is here"
						     : "is not set: all GPUs are seen");
	} else if (!counted->known || found->count > 0) {
		ri_check_lack(checking, RI_CODE_GPU_VISIBLE_LIST, visible, "%s",
			counted->known ? found->items[0].text : counted->err.text);
		ri_check_asked(checking, ri_demands_unmet(checking->demands, RI_TOPIC_GPU,
			RI_DEMAND_COUNT, counted->known ? counted->gpus.count : 0));
	} else if (counted->gpus.count == 0) {
		say_hidden(checking, value);
	} else {
		ri_check_pass(checking, visible, "%zu of the GPUs here are "
			"visible", counted->gpus.count);
	}
}

const struct ri_check ri_check_gpu_visible = {
	.id = "gpu.visible",
	.summary = "CUDA_VISIBLE_DEVICES names GPUs that are here",
	.reads = "CUDA_VISIBLE_DEVICES (CUDA Programming Guide, \"CUDA Environment Variables\"), "
		"/proc/driver/nvidia/gpus, /dev/nvidiaN",
	.fails = "it cannot be read, names a GPU twice or one that is not here, or hides all GPUs",
	.advice = visible_hint,
	.topics = RI_ABOUT(GPU),
	.run = check_visible,
};

/* NVIDIA container toolkit documentation: what of the driver is put into the container. */
static const char capabilities[] = "NVIDIA_DRIVER_CAPABILITIES";

static bool lists_word(const char *list, const char *word)
{
	size_t length;

	for (;; list += length + 1) {
		length = strcspn(list, ",");
		if (length == strlen(word) && strncmp(list, word, length) == 0)
			return true;
		if (list[length] == '\0')
			return false;
	}
}

static void check_drvcaps(struct ri_checking *checking)
{
	const char *value = ri_env_get(checking->env, capabilities);

	if (value == NULL || value[0] == '\0' || !ri_host_has(checking->host, "dev/nvidiactl")) {
		ri_check_skip(checking, capabilities, "is not set, or no GPU is here");
	} else if (lists_word(value, "compute") || lists_word(value, "all")) {
		ri_check_pass(checking, capabilities, "includes compute");
	} else {
		ri_check_lack(checking, RI_CODE_GPU_DRVCAPS_COMPUTE, capabilities,
			"lacks compute: the container was started without CUDA's library");
		ri_check_asked(checking, ri_demands_find(checking->demands, RI_TOPIC_GPU));
	}
}

const struct ri_check ri_check_gpu_drvcaps = {
	.id = "gpu.drvcaps",
	.summary = "the container was started with CUDA's library",
	.reads = "NVIDIA_DRIVER_CAPABILITIES (NVIDIA container toolkit documentation)",
	.fails = "it is set and includes neither compute nor all",
	.advice = "inside the image or outside: NVIDIA_DRIVER_CAPABILITIES=compute,utility",
	.topics = RI_ABOUT(GPU),
	.run = check_drvcaps,
};

/*
 * Has a GPU of this node instances of MIG? Two of the nodes are of MIG as such,
 * its configuration and its monitor (NVIDIA MIG User Guide, "Device Nodes and
 * Capabilities").
 */
static bool has_mig(struct ri_host *host)
{
	char names[4096];
	const char *name = names;

	for (long left = ri_host_list(host, "dev/nvidia-caps", names, sizeof(names)); left > 0;
		left--, name += strlen(name) + 1)
		if (strcmp(name, "nvidia-cap1") != 0 && strcmp(name, "nvidia-cap2") != 0)
			return true;
	return false;
}

static void check_mig(struct ri_checking *checking)
{
	const struct counted *counted;

	if (!has_mig(checking->host)) {
		ri_check_skip(checking, "MIG", "no MIG instance is here");
		return;
	}
	counted = count_gpus(checking);
	if (!counted->known) {
		ri_check_unknown(checking, RI_CODE_GPU_MIG_UNKNOWN, "MIG",
			"the list of visible GPUs cannot be used");
	} else if (share_instance(checking, counted)) {
		say_instances(checking, RI_CODE_GPU_MIG_FEW, "MIG", counted->gpus.count);
		ri_check_asked(checking, ri_demands_find(checking->demands, RI_TOPIC_GPU));
	} else if (checking->ranks <= 1 || counted->gpus.count >= checking->ranks) {
		ri_check_pass(checking, "MIG", "a process sees %zu, %llu rank%s here",
			counted->gpus.count, (unsigned long long)checking->ranks,
			checking->ranks == 1 ? " is" : "s are");
	} else {
		ri_check_lack(checking, RI_CODE_GPU_MIG_FEW, "MIG",
			"a process sees %zu, but %llu ranks are here", counted->gpus.count,
			(unsigned long long)checking->ranks);
		ri_check_asked(checking, ri_demands_find(checking->demands, RI_TOPIC_GPU));
	}
}

const struct ri_check ri_check_gpu_mig = {
	.id = "gpu.mig",
	.summary = "each rank has a MIG instance of its own",
	.reads = "/dev/nvidia-caps, CUDA_VISIBLE_DEVICES (NVIDIA MIG User Guide)",
	.fails = "there are MIG instances, and a process sees fewer than the ranks here, or the "
		"ranks share a list of them",
	.advice = "start as many ranks as MIG instances, each with its own "
		"CUDA_VISIBLE_DEVICES=MIG-...: a process uses only one; or node admin: turn MIG "
		"off",
	.unverified = "all of it",
	.topics = RI_ABOUT(GPU),
	.run = check_mig,
};

enum nearness { NEAR, FAR, NOT_TOLD };

/* Of the GPUs that are seen: is one of them next to CPUs of ours? */
static enum nearness judge_nearness(struct ri_checking *checking, const struct ri_gpus *gpus)
{
	enum nearness found = NOT_TOLD;
	struct ri_cpus ours, near;
	int numa;

	if (!ri_cpus_read_allowed(checking->host, "proc/self/status", &ours))
		return NOT_TOLD;
	for (size_t i = 0; i < gpus->count; i++) {
		if (!ri_gpu_cpus(checking->host, &gpus->list[i], &near, &numa) || numa < 0)
			continue;
		if (ri_cpus_and(&near, &ours) > 0)
			return NEAR;
		found = FAR;
	}
	return found;
}

static void check_numa(struct ri_checking *checking)
{
	const struct counted *counted = count_gpus(checking);

	if (!counted->known || counted->gpus.count == 0) {
		ri_check_skip(checking, "GPUs", "no GPU is visible here");
		return;
	}
	switch (judge_nearness(checking, &counted->gpus)) {
	case NEAR:
		ri_check_pass(checking, "GPUs", "CPUs local to them are available");
		break;
	case NOT_TOLD:
		ri_check_pass(checking, "GPUs", "the machine does not show which CPUs are local to "
			"them, as usual on virtual machines");
		break;
	default:
		ri_check_lack(checking, RI_CODE_GPU_NUMA_FAR, "GPUs", "all of them are on other "
			"NUMA nodes than the CPUs of this process");
	}
}

const struct ri_check ri_check_gpu_numa = {
	.id = "gpu.numa",
	.summary = "CPUs local to the GPUs are available",
	.reads = "numa_node and local_cpulist in /sys/bus/pci/devices (Linux "
		"ABI/testing/sysfs-bus-pci), Cpus_allowed_list in /proc/self/status (proc(5))",
	.fails = "no visible GPU is local to a CPU on which this process may run",
	.advice = "outside the image: docker run without --cpuset-cpus, or with CPUs of the GPUs' "
		"NUMA node; Kubernetes: node admin: topology-manager-policy of the kubelet; "
		"Slurm: --gpu-bind=closest",
	.run = check_numa,
};
