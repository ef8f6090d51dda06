/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/idle_gpus.h"

#include <string.h>

#include "from/sources.h"
#include "model/wishes.h"
#include "node/gpus.h"

/* PyTorch torch/distributed/run.py, --nproc-per-node: PET_ and the option's name is its default. */
static const char one_by_default[] = "PET_NPROC_PER_NODE";

/* Whole GPUs that a program sees; 0: none, or they cannot be counted. */
static size_t count_gpus(const struct ri_context *context)
{
	struct ri_findings unused = { .count = 0 };
	struct ri_error err = RI_ERROR_INIT;
	struct ri_gpus gpus;
	const struct ri_node node = {
		.host = context->host, .env = context->env, .arena = context->arena,
		.findings = &unused,
	};

	return ri_gpus_find(&gpus, &node, &err) == 0 && !gpus.instances ? gpus.count : 0;
}

/* Does the variable alone have torchrun start one rank? */
static bool starts_one(const struct ri_context *context)
{
	const struct ri_command *command = context->command;
	const char *count = ri_env_get(context->env, one_by_default);

	return command->mode == RI_MODE_NODE && ri_launcher_is_torchruns(command->launcher) &&
		context->wishes->nproc_count == 0 && count != NULL && strcmp(count, "1") == 0 &&
		!ri_command_has(command, "--nproc-per-node", NULL);
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
		!ri_source_manages(topology->identity) &&
		ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &here) && here == 1 &&
		ri_topology_get(topology, RI_FACT_WORLD_SIZE, &world) && world > 1 &&
		ri_wishes_allow_framework(context->wishes, "torch");
}

static void warn_of_default(const struct ri_topology *topology, const struct ri_context *context,
	size_t gpus)
{
	struct ri_finding *finding = ri_findings_add(context->findings, RI_SEVERITY_WARNING,
		RI_CODE_GPUS_IDLE, one_by_default, "is 1, so %s starts one rank here, but a "
		"program sees %zu GPUs", context->command->launcher->name, gpus);

	if ((topology->traits & RI_TRAIT_ASKS_RANKS) != 0)
		ri_finding_hint(finding, "for a rank on each, write trainer: "
			"{numProcPerNode: %zu} in the TrainJob, nprocPerNode: \"%zu\" in the "
			"PyTorchJob, or %s --nproc-per-node=gpu", gpus, gpus,
			context->command->launcher->name);
	else
		ri_finding_hint(finding, "for a rank on each, set it to %zu, or use %s "
			"--nproc-per-node=gpu", gpus, context->command->launcher->name);
}

static void warn_of_one_rank(const struct ri_context *context, size_t gpus)
{
	const char *variable = ri_env_get(context->env, "LOCAL_RANK") == NULL ? "RANK"
		: "LOCAL_RANK";

	ri_finding_hint(ri_findings_add(context->findings, RI_SEVERITY_WARNING,
		RI_CODE_GPUS_IDLE, variable, "the command is the only rank of this node, but a "
		"program sees %zu GPUs", gpus),
		"for a rank on each, use --nproc-per-node=gpu; if the program starts its ranks "
		"itself, as Lightning does where LOCAL_RANK is not set, --launch=node; if one "
		"process uses them all, --frameworks=tensorflow or jax");
}

void ri_idle_gpus_judge(const struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_findings *findings = context->findings;
	bool by_default = starts_one(context);
	size_t gpus;

	if (!by_default && !is_one_rank(topology, context))
		return;
	/* its words said more of it */
	for (size_t i = 0; i < findings->count && !by_default; i++)
		if (findings->items[i].code == RI_CODE_RANKS_WAITED)
			return;
	gpus = count_gpus(context);
	if (gpus < 2)
		return;
	if (by_default)
		warn_of_default(topology, context, gpus);
	else
		warn_of_one_rank(context, gpus);
}
