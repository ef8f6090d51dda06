/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/placement.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "from/sources.h"
#include "node/devices.h"
#include "system/own_proc.h"

void ri_placing_look(struct ri_node *node, struct ri_cpus *mask)
{
	*mask = (struct ri_cpus){ { 0 } };
	node->affinity = NULL;
	if (node->host->live &&
		sched_getaffinity(0, sizeof(*mask), (cpu_set_t *)(void *)mask->words) == 0)
		node->affinity = mask;
}

static struct ri_node node_of(const struct ri_context *context)
{
	return (struct ri_node){
		.host = context->host, .env = context->env, .arena = context->arena,
		.findings = context->findings,
	};
}

/*
 * mpirun, srun and their like bind a rank before they start it, and a share of
 * its share would be wrong: then we have fewer CPUs than the launcher itself.
 */
static bool is_bound(const struct ri_place_ranks *ranks, struct ri_host *host)
{
	struct ri_cpus own, outer;
	char path[40];

	if (ranks->ours || ranks->count == 1 || !host->live || !ri_proc_is_ours(getpid()))
		return false;
	snprintf(path, sizeof(path), "proc/%d/status", (int)getppid());
	return ri_cpus_read_allowed(host, "proc/self/status", &own) &&
		ri_cpus_read_allowed(host, path, &outer) && !ri_cpus_equal(&own, &outer);
}

static void keep(struct ri_findings *findings, enum ri_severity severity, const char *subject,
	const char *why)
{
	ri_findings_add(findings, severity, RI_CODE_PLACEMENT_KEPT, subject, "%s", why);
}

/* Of a launcher, the number of threads alone makes sense, and of mpirun not even that. */
static void limit_to_launcher(struct ri_place_wish *wish, const struct ri_context *context)
{
	bool whole = context->command->mode == RI_MODE_NONE;
	static const char why[] = "the command starts the ranks itself, so all of them would get "
				  "the same setting";

	if (wish->bind != RI_BIND_NONE)
		keep(context->findings, RI_SEVERITY_WARNING, wish->bind_subject, why);
	if (wish->gpu_bind != RI_GPU_BIND_NONE)
		keep(context->findings, RI_SEVERITY_WARNING, wish->gpu_subject, why);
	if (wish->omp == RI_OMP_STATED && whole)
		keep(context->findings, RI_SEVERITY_WARNING, wish->omp_subject,
			"the command starts the whole job, and rankinit sets nothing for it");
	wish->bind = RI_BIND_NONE;
	wish->gpu_bind = RI_GPU_BIND_NONE;
	if (whole)
		wish->omp = RI_OMP_KEEP;
}

int ri_placing_prepare(struct ri_placing *out, const struct ri_place_wish *asked,
	const struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	struct ri_place_ranks ranks = { context->fan_out, context->fan_out > 0 };
	struct ri_place_wish wish = *asked;
	struct ri_node node = node_of(context);
	struct ri_cpus mask;

	*out = (struct ri_placing){ .own = 0 };
	if (!ranks.ours &&
		(!ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &ranks.count) ||
			!ri_topology_get(topology, RI_FACT_LOCAL_RANK, &out->own))) {
		ranks.count = 1;
		out->own = 0;
	}
	if (wish.bind == RI_BIND_NONE && wish.gpu_bind == RI_GPU_BIND_NONE &&
		wish.omp != RI_OMP_STATED && !ri_placement_asks(&wish, &ranks))
		return 0;
	if (context->command->mode != RI_MODE_PROCESS)
		limit_to_launcher(&wish, context);
	if (wish.bind != RI_BIND_NONE && is_bound(&ranks, node.host)) {
		keep(context->findings, RI_SEVERITY_NOTE, wish.bind_subject,
			"the launcher has already bound this rank");
		wish.bind = RI_BIND_NONE;
	}
	if (ri_placement_asks(&wish, &ranks))
		ri_placing_look(&node, &mask);
	return ri_placement_find(&out->placement, &wish, &ranks, &node, err);
}

const struct ri_cpus *ri_placing_cpus(const struct ri_placing *placing, uint64_t index)
{
	const struct ri_place *place = ri_placement_of(&placing->placement, placing->own + index);

	return place != NULL && place->bound ? &place->cpus : NULL;
}

void ri_placing_explain(const struct ri_placing *placing, uint64_t index,
	struct ri_explained_rank *rank, struct ri_arena *arena)
{
	const struct ri_place *place = ri_placement_of(&placing->placement, placing->own + index);
	const struct ri_cpus *cpus = ri_placing_cpus(placing, index);
	RI_TEXT(text, 1024);

	if (place != NULL)
		rank->gpu = place->gpu;
	if (cpus == NULL)
		return;
	ri_cpus_add(&text, cpus);
	rank->cpus = ri_arena_copy(arena, text.bytes, text.length);
}

int ri_nproc_count(struct ri_options *options, const struct ri_context *context,
	struct ri_error *err)
{
	struct ri_node node = node_of(context);
	struct ri_wishes *wishes = &options->wishes;
	bool by_cpu = options->nproc == RI_NPROC_CPU;
	uint64_t found = 0;
	struct ri_cpus mask;

	if (options->nproc == RI_NPROC_STATED)
		return 0;
	if (by_cpu)
		ri_placing_look(&node, &mask);
	if ((by_cpu ? ri_cpus_count : ri_gpus_count)(&node, &found, err) < 0)
		return -1;
	if (found == 0 && options->nproc == RI_NPROC_AUTO)
		found = 1;
	if (found == 0) {
		ri_fail(err, RI_CODE_NPROC_NONE, wishes->nproc.subject,
			"no GPU is visible here, so there is none to start a rank for");
		return ri_fail_hint(err, "give this container its GPUs (docker run --gpus all; "
					 "CUDA_VISIBLE_DEVICES), or state a number");
	}
	if (found > RI_MAX_LOCAL)
		return ri_fail(err, RI_CODE_OPTION_VALUE, wishes->nproc.subject,
			"%s means %d ranks here, more than the %d allowed on one node",
			wishes->nproc.value, (int)found, RI_MAX_LOCAL);
	wishes->nproc_count = found;
	return 0;
}

/* PyTorch torch/distributed/run.py, --nproc-per-node: PET_ and the option's name is its default. */
static const char one_by_default[] = "PET_NPROC_PER_NODE";
static const char terminal_port[] = "SLURM_PTY_PORT";

/*
 * Whole GPUs that a program sees; 0: none, or they cannot be counted. What it has on the stack
 * would cost each start its pages.
 */
__attribute__((noinline)) static size_t count_gpus(const struct ri_context *context)
{
	struct ri_findings unused = { .count = 0 };
	struct ri_error err = RI_ERROR_INIT;
	struct ri_gpus gpus;
	struct ri_node node = node_of(context);

	node.findings = &unused;
	return ri_gpus_find(&gpus, &node, &err) == 0 && !gpus.instances ? gpus.count : 0;
}

/*
 * Is the command the one rank of its node in the names that torch reads? A program of
 * TensorFlow or JAX may use all GPUs in one process. Ranks of torchrun and the like were counted
 * by the user.
 */
static bool is_one_rank(const struct ri_topology *topology, const struct ri_context *context)
{
	const char *told = topology->facts[RI_FACT_RANK].origin.variable;
	uint64_t here, world;

	return context->command->mode == RI_MODE_PROCESS && context->command->is_python &&
		context->fan_out == 0 && topology->scope == RI_SCOPE_PROCESS &&
		told != NULL && strcmp(told, "RANK") == 0 &&
		!ri_source_of(topology->identity)->manages &&
		ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &here) && here == 1 &&
		ri_topology_get(topology, RI_FACT_WORLD_SIZE, &world) && world > 1 &&
		ri_wishes_allow_framework(context->wishes, "torch");
}

/*
 * Is it one process that a person starts in a shell of srun --pty, as salloc's may be, and none
 * of several tasks (Slurm src/common/env.c, setup_env)?
 */
static bool is_of_shell(const struct ri_topology *topology, const struct ri_context *context)
{
	uint64_t world;

	return ri_env_get(context->env, terminal_port) != NULL &&
		ri_env_get(context->env, "SLURM_JOB_ID") != NULL &&
		context->command->mode == RI_MODE_PROCESS && context->command->is_python &&
		!context->command->stated && context->fan_out == 0 &&
		ri_wishes_allow_framework(context->wishes, "torch") &&
		(topology->identity == NULL ||
			(ri_topology_get(topology, RI_FACT_WORLD_SIZE, &world) && world == 1));
}

void ri_idle_gpus_judge(const struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_findings *findings = context->findings;
	const struct ri_command *command = context->command;
	const char *count = ri_env_get(context->env, one_by_default);
	struct ri_error *finding;
	size_t gpus;
	/* the variable alone has torchrun start one rank */
	bool by_default = command->mode == RI_MODE_NODE &&
		ri_launcher_is_torchruns(command->launcher) &&
		context->wishes->nproc_count == 0 && count != NULL && strcmp(count, "1") == 0 &&
		!ri_command_has(command, "--nproc-per-node", NULL);
	bool of_shell = is_of_shell(topology, context);

	if (!by_default && !of_shell && !is_one_rank(topology, context))
		return;
	/* its words said more of it */
	for (size_t i = 0; i < findings->count && !by_default; i++)
		if (findings->items[i].code == RI_CODE_RANKS_WAITED)
			return;
	gpus = count_gpus(context);
	if (gpus < 2)
		return;
	if (by_default) {
		finding = ri_warn(context->findings, RI_CODE_GPUS_IDLE, one_by_default,
			"is 1, so %s starts one rank here, but a program sees %zu GPUs",
			command->launcher->name, gpus);
		if ((topology->traits & RI_TRAIT_ASKS_RANKS) != 0)
			ri_finding_hint(finding, "for a rank on each, write trainer: "
				"{numProcPerNode: %zu} in the TrainJob, nprocPerNode: \"%zu\" in "
				"the PyTorchJob, or %s --nproc-per-node=gpu", gpus, gpus,
				command->launcher->name);
		else
			ri_finding_hint(finding, "for a rank on each, set it to %zu, or use %s "
				"--nproc-per-node=gpu", gpus, command->launcher->name);
		return;
	}
	ri_finding_hint(ri_warn(context->findings, RI_CODE_GPUS_IDLE, of_shell ? terminal_port
		: ri_env_get(context->env, "LOCAL_RANK") == NULL ? "RANK" : "LOCAL_RANK",
		"the command is the only rank of this node, but a program sees %zu GPUs", gpus),
		"for a rank on each, use --nproc-per-node=gpu; if the program starts its ranks "
		"itself, as Lightning does where LOCAL_RANK is not set, --launch=node; if one "
		"process uses them all, --frameworks=tensorflow or jax");
}
