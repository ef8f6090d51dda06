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

		if (launcher != NULL && launcher->keeps != NULL &&
			ri_word_is_listed(launcher->keeps, name, false) &&
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
	uint64_t known, number;

	if (value == NULL || ri_env_edits_find(&writing->wanted, variable) != NULL)
		return;
	if (ri_topology_get(topology, id, &known) &&
		ri_number_read(value, any, &number, NULL) == RI_NUMBER_OK && number == known)
		return;
	ri_want_gone(writing, variable);
	ri_note(writing->context->findings, RI_CODE_ENV_IGNORED, variable,
		"%s is not what %s gives: it is removed", RI_QUOTED(value), topology->identity);
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
	ri_warn(writing->context->findings, RI_CODE_ENV_IGNORED, variable,
		"according to %s, no torchrun agent keeps a store for this rank: it is removed",
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
	ri_finding_hint(ri_warn(context->findings, RI_CODE_MASTER_LOOPBACK,
		ri_topology_subject(topology, RI_FACT_MASTER_ADDR),
		"\"%s\" makes each node its own master", master->text),
		"set MASTER_ADDR to the host of rank 0, the same on all ranks");
}

static void render(struct ri_writing *writing, const struct ri_topology *topology)
{
	if (writing->context->command->mode == RI_MODE_NODE)
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

/*
 * Framework "torchrun": the defaults of torchrun's options, which it takes
 * from PET_* alone. With MASTER_ADDR and not PET_MASTER_ADDR every node runs
 * a job of its own, without a word.
 */
#define ARGPARSE "PyTorch torch/distributed/argparse_util.py, env; run.py, get_args_parser"

/* torchrun itself, not something that may call it, would wait for its default. */
static void check_complete(struct ri_writing *writing, const struct ri_topology *topology)
{
	const struct ri_context *context = writing->context;
	const struct ri_launcher *launcher = context->command->launcher;
	uint64_t nodes;

	if (!ri_topology_get(topology, RI_FACT_NNODES, &nodes) || nodes == 1 ||
		!ri_launcher_is_torchruns(launcher))
		return;
	/* The command says where: it need not be told. */
	if (ri_meeting_is_told(context->command, context->env) ||
		ri_env_get(context->env, "PET_MASTER_ADDR") != NULL)
		return;
	ri_fail(writing->err, RI_CODE_LAUNCH_INCOMPLETE, "MASTER_ADDR",
		"%s needs the address of rank 0's node, and no source provides it: each of "
		"the %d nodes would wait for itself", launcher->name, (int)nodes);
	ri_fail_hint(writing->err, "set MASTER_ADDR to that host, the same on all nodes");
}

/*
 * Did the user tell torchrun where to meet, by an address as it takes it, or a port, and
 * MASTER_ADDR says no better than what the platform makes of it?
 */
static bool is_told(const struct ri_writing *writing, const char *variable,
	const struct ri_topology *topology, enum ri_fact_id id)
{
	const struct ri_fact *fact = &topology->facts[id];
	const char *value = ri_env_get(writing->context->env, variable), *colon;
	bool is_host = id == RI_FACT_MASTER_ADDR && ri_topology_is_wide(topology);
	uint64_t port;

	if (value == NULL || (is_host && ri_loopback_is(value, strlen(value))))
		return false;
	colon = strchr(value, ':');
	if (id == RI_FACT_MASTER_PORT
		? ri_number_read(value, ri_fact_range(id), &port, NULL) != RI_NUMBER_OK
		: value[0] == '\0' || strpbrk(value, " \t\r\n/") != NULL ||
			(colon != NULL && strchr(colon + 1, ':') == NULL))
		return false;
	return fact->strength < RI_STRENGTH_STATED ||
		(is_host && fact->strength == RI_STRENGTH_STATED &&
			ri_loopback_is(fact->text, strlen(fact->text)));
}

static void follow(struct ri_writing *writing, const char *variable,
	const struct ri_topology *topology, enum ri_fact_id id)
{
	const char *before = ri_env_get(writing->context->env, variable);
	const char *master = variable + strlen("PET_");
	bool stays = is_told(writing, variable, topology, id);
	const struct ri_env_edit *edit;
	const char *old, *new;

	if (!stays)
		ri_want_fact(writing, variable, topology, id);
	edit = ri_env_edits_find(&writing->wanted, stays ? master : variable);
	if (before == NULL || edit == NULL || ri_is_service_link(before) ||
		strcmp(before, edit->value) == 0)
		return;
	old = RI_QUOTED(before);
	new = RI_QUOTED(edit->value);
	if (stays)
		ri_warn(writing->context->findings, RI_CODE_ENV_DIFFERS, variable,
			"%s is kept, though %s is %s", old, master, new);
	else
		ri_warn(writing->context->findings, RI_CODE_ENV_DIFFERS, variable,
			"%s becomes %s, as in %s", old, new, master);
}

/*
 * How many ranks the launcher shall start, which --standalone does not change.
 * Others than torchrun and what is made of it have words of their own for it.
 */
static void want_count(struct ri_writing *writing)
{
	const struct ri_wishes *wishes = writing->context->wishes;
	const struct ri_launcher *launcher = writing->context->command->launcher;

	/* trainers.c tells composer */
	if (wishes->nproc_count == 0 || (launcher != NULL && launcher->counts))
		return;
	if (launcher == NULL || launcher->reads_pet)
		ri_want_number(writing, "PET_NPROC_PER_NODE", wishes->nproc_count);
	else
		ri_finding_hint(ri_warn(writing->context->findings, RI_CODE_NPROC_UNUSED,
			wishes->nproc.subject,
			"%s starts the ranks, and no variable can give it their number",
			launcher->name), "use its own option for it");
}

/*
 * A backend other than static numbers the nodes as they come, whatever the node rank says
 * (PyTorch torch/distributed/elastic/rendezvous/dynamic_rendezvous.py).
 */
static bool numbers_nodes(const struct ri_writing *writing, const struct ri_topology *topology)
{
	const struct ri_context *context = writing->context;
	const struct ri_fact *node = &topology->facts[RI_FACT_NODE_RANK];
	const char *backend = ri_context_told(context, "--rdzv-backend", "PET_RDZV_BACKEND");

	if (!ri_launcher_is_torchruns(context->command->launcher) || backend == NULL ||
		backend[0] == '\0' || strcmp(backend, "static") == 0)
		return false;
	if (node->state == RI_STATE_KNOWN && ri_topology_is_wide(topology))
		ri_note(context->findings, RI_CODE_NODE_RANK_UNUSED, ri_topology_subject(topology,
			RI_FACT_NODE_RANK), "%d is not what %s goes by: its rendezvous \"%s\" "
			"numbers the nodes as they come", (int)node->number,
			ri_command_name(context->command), backend);
	return true;
}

static void render_torchrun(struct ri_writing *writing, const struct ri_topology *topology)
{
	const struct ri_context *context = writing->context;
	const struct ri_launcher *launcher = context->command->launcher;
	const char *nodes = ri_env_get(context->env, "PET_NNODES");
	const char *count = ri_env_get(context->env, "PET_NPROC_PER_NODE");
	bool node = context->command->mode == RI_MODE_NODE;

	/* A script on a node that has no ranks yet may well call torchrun. */
	if (!node && topology->scope != RI_SCOPE_NODE)
		return;
	if (node)
		want_count(writing);
	if (topology->identity == NULL || ri_meeting_is_here(context->command, context->env))
		return;
	if (launcher != NULL && !launcher->reads_pet)
		return;
	if (nodes == NULL || strchr(nodes, ':') == NULL)
		ri_want_fact(writing, "PET_NNODES", topology, RI_FACT_NNODES);
	if (!numbers_nodes(writing, topology))
		ri_want_fact(writing, "PET_NODE_RANK", topology, RI_FACT_NODE_RANK);
	if (context->wishes->nproc_count == 0 && (count == NULL || count[0] == '\0'))
		ri_want_fact(writing, "PET_NPROC_PER_NODE", topology, RI_FACT_NPROC);
	if (!ri_topology_knows(topology, RI_FACT_MASTER_ADDR)) {
		check_complete(writing, topology);
		return;
	}
	/* Not the first node, and told to meet on itself. */
	if (ri_launcher_is_torchruns(launcher) &&
		!ri_meeting_is_told(context->command, context->env) &&
		!is_told(writing, "PET_MASTER_ADDR", topology, RI_FACT_MASTER_ADDR))
		ri_nodes_refuse_loopback(topology, writing->err);
	follow(writing, "PET_MASTER_ADDR", topology, RI_FACT_MASTER_ADDR);
	follow(writing, "PET_MASTER_PORT", topology, RI_FACT_MASTER_PORT);
}

const struct ri_framework ri_framework_torchrun = {
	.name = "torchrun",
	.summary = "the defaults of torchrun, if it or accelerate starts the ranks",
	.when = "For torchrun and accelerate, an unknown launcher, and a node without ranks, whose "
		"script may call one of them; never for ranks.",
	.writes = RI_VARIABLES(
		{ "PET_NNODES", "nodes; MIN:MAX is kept", ARGPARSE },
		{ "PET_NODE_RANK",
		  "index of this node; not where --rdzv-backend numbers the nodes", ARGPARSE },
		{ "PET_NPROC_PER_NODE",
		  "follows --nproc-per-node; an existing value is kept if only the source gives "
		  "the number", ARGPARSE },
		{ "PET_MASTER_ADDR",
		  "follows MASTER_ADDR; an existing value is kept if the user did not set "
		  "MASTER_ADDR", ARGPARSE },
		{ "PET_MASTER_PORT", "the same for MASTER_PORT", ARGPARSE }),
	.nameless = true,
	.render = render_torchrun,
};
