/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framework "torch": torch.distributed with init_method="env://", and all
 * that follow its names (Lightning, Accelerate, Composer, DeepSpeed).
 */
#include <string.h>

#include "base/text.h"
#include "to/to.h"

#define RENDEZVOUS "PyTorch torch/distributed/rendezvous.py, _env_rendezvous_handler"
#define ELASTIC "PyTorch torch/distributed/run.py, Environment Variables"

/*
 * The ranks get theirs from the launcher: ours is that of one process among them. It may make
 * something of a variable, as it was found.
 */
static void remove_identity(struct ri_writing *writing, const struct ri_topology *topology)
{
	const struct ri_launcher *launcher = writing->context->command->launcher;

	for (enum ri_fact_id id = 0; id <= RI_FACT_LOCAL_WORLD_SIZE; id++) {
		const char *origin = topology->facts[id].origin.variable;
		const char *name = ri_usual_names[id];

		if (launcher != NULL && ri_word_is_listed(launcher->keeps, name, false) &&
			(!launcher->counts || origin == NULL || strcmp(origin, name) != 0))
			continue;
		/* What composer is told is not taken away. */
		if (ri_env_edits_find(&writing->wanted, name) == NULL)
			ri_want_gone(writing, name);
	}
}

/* Left by another program: it is not what the identity says, or the identity does not say it. */
static void remove_stale(struct ri_writing *writing, const struct ri_topology *topology,
	const char *variable, enum ri_fact_id id)
{
	const char *value = ri_env_get(writing->context->env, variable);
	const struct ri_range any = { 0, RI_MAX_RANKS };
	char quoted[RI_QUOTE_SIZE];
	uint64_t known, number;

	if (value == NULL || ri_env_edits_find(&writing->wanted, variable) != NULL)
		return;
	if (ri_topology_get(topology, id, &known) &&
		ri_number_read(value, any, &number, NULL) == RI_NUMBER_OK && number == known)
		return;
	ri_want_gone(writing, variable);
	ri_findings_add(writing->context->findings, RI_SEVERITY_NOTE, RI_CODE_ENV_IGNORED, variable,
		"%s is not what %s gives: it is removed", ri_quote(quoted, sizeof(quoted), value),
		topology->identity);
}

/*
 * An image's RANK=0 and WORLD_SIZE=1 would make each of several nodes a job of
 * its own. What a platform says of its nodes there is at least their number.
 */
static void remove_image_s(struct ri_writing *writing, const struct ri_topology *topology)
{
	const char *value = ri_env_get(writing->context->env, "WORLD_SIZE");
	const struct ri_range sizes = { 1, RI_MAX_RANKS };
	uint64_t nodes, size;

	if (value == NULL || !ri_topology_get(topology, RI_FACT_NNODES, &nodes) ||
		ri_number_read(value, sizes, &size, NULL) != RI_NUMBER_OK || size >= nodes)
		return;
	for (enum ri_fact_id id = 0; id <= RI_FACT_LOCAL_WORLD_SIZE; id++)
		if (ri_env_get(writing->context->env, ri_usual_names[id]) != NULL &&
			ri_env_edits_find(&writing->wanted, ri_usual_names[id]) == NULL)
			ri_want_gone(writing, ri_usual_names[id]);
}

/*
 * With "True" every rank looks for a store that torchrun's agent keeps, rank 0
 * too (PyTorch torch/distributed/rendezvous.py, _create_c10d_store).
 */
static void remove_agent(struct ri_writing *writing, const struct ri_topology *topology)
{
	static const char variable[] = "TORCHELASTIC_USE_AGENT_STORE";
	const char *value = ri_env_get(writing->context->env, variable);

	if (value == NULL || strcmp(value, "True") != 0 ||
		(topology->traits & RI_TRAIT_STORE) != 0)
		return;
	ri_want_gone(writing, variable);
	ri_findings_add(writing->context->findings, RI_SEVERITY_WARNING, RI_CODE_ENV_IGNORED,
		variable, "according to %s, no torchrun agent keeps a store for this rank: it is "
			"removed",
		topology->identity);
}

/*
 * The node of rank 0 may call itself that. On all others a rank would look for
 * rank 0 on its own node; a launcher may be told by its words to meet elsewhere. The
 * first pod of a PyTorchJob, which counts pods by RANK, is told localhost by its operator,
 * and the others the name of this pod (source "env").
 */
static void judge_master(struct ri_writing *writing, const struct ri_topology *topology)
{
	const struct ri_fact *master = &topology->facts[RI_FACT_MASTER_ADDR];
	const struct ri_fact *node = &topology->facts[RI_FACT_NODE_RANK];
	const struct ri_context *context = writing->context;
	bool told_itself = (topology->traits & RI_TRAIT_ANYBODYS) != 0 &&
		node->state == RI_STATE_KNOWN && node->number == 0 &&
		node->origin.variable != NULL && strcmp(node->origin.variable, "RANK") == 0 &&
		ri_env_get(context->env, "LOCAL_RANK") == NULL;

	if (!ri_topology_is_wide(topology) || !ri_loopback_is(master->text, strlen(master->text)) ||
		master->origin.variable == NULL || told_itself ||
		ri_meeting_is_here(context->command, context->env))
		return;
	if (!ri_writing_is_of_nodes(writing, topology) &&
		ri_nodes_refuse_loopback(topology, writing->err) < 0)
		return;
	ri_finding_hint(ri_findings_add(context->findings, RI_SEVERITY_WARNING,
		RI_CODE_MASTER_LOOPBACK, ri_topology_subject(topology, RI_FACT_MASTER_ADDR),
		"\"%s\" makes each node its own master", master->text),
		"set MASTER_ADDR to the host of rank 0, the same on all ranks");
}

static void render(struct ri_writing *writing, const struct ri_topology *topology)
{
	if (ri_writing_mode(writing) == RI_MODE_NODE)
		remove_identity(writing, topology);
	/* A node's script may start ranks itself: what the platform gave it stays. */
	if (ri_writing_is_of_nodes(writing, topology)) {
		remove_image_s(writing, topology);
	} else {
		remove_stale(writing, topology, "LOCAL_WORLD_SIZE", RI_FACT_LOCAL_WORLD_SIZE);
		remove_stale(writing, topology, "NODE_RANK", RI_FACT_NODE_RANK);
		remove_stale(writing, topology, "GROUP_RANK", RI_FACT_NODE_RANK);
		remove_agent(writing, topology);
	}
	if (ri_topology_knows(topology, RI_FACT_MASTER_ADDR))
		judge_master(writing, topology);
}

const struct ri_framework ri_framework_torch = {
	.name = "torch",
	.summary = "torch.distributed env:// and everything that uses its names",
	.when = "A rank gets all of them; a launcher, or a node without ranks, gets NODE_RANK, "
		"NNODES and MASTER_*. A launcher keeps only those variables of a rank that it "
		"reads itself. A node loses a WORLD_SIZE smaller than the number of nodes, and the "
		"variables that belong to it, because they come from the image.",
	.writes = RI_VARIABLES(
		{ "RANK", "index of this process in the job", RENDEZVOUS },
		{ "WORLD_SIZE", "processes in the job", RENDEZVOUS },
		{ "LOCAL_RANK", "index of this process on its node", ELASTIC },
		{ "LOCAL_WORLD_SIZE", "processes on this node", ELASTIC },
		{ "NODE_RANK", "index of this node",
		  "Lightning src/lightning/fabric/plugins/environments/lightning.py" },
		{ "GROUP_RANK", "index of this node; removed if it is that of another node",
		  ELASTIC },
		{ "TORCHELASTIC_USE_AGENT_STORE", "removed from ranks that torchrun did not start",
		  RENDEZVOUS },
		{ "NNODES", "nodes in the job, for the options of a launcher",
		  "PyTorch torch/distributed/run.py, --nnodes" },
		{ "MASTER_ADDR", "host on which rank 0 listens", RENDEZVOUS },
		{ "MASTER_PORT", "port on which rank 0 listens", RENDEZVOUS }),
	.rank = {
		.gets = RI_FROM(RANK) | RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_RANK) |
			RI_FROM(LOCAL_WORLD_SIZE) | RI_FROM(NODE_RANK) | RI_RENDEZVOUS,
		.needs = RI_FROM(RANK) | RI_FROM(WORLD_SIZE) | RI_RENDEZVOUS,
	},
	.node = {
		.gets = RI_FROM(NODE_RANK) | RI_FROM(NNODES) | RI_RENDEZVOUS,
		.needs = RI_RENDEZVOUS,
	},
	.render = render,
};
