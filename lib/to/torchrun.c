/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framework "torchrun": the defaults of torchrun's options, which it takes
 * from PET_* alone. With MASTER_ADDR and not PET_MASTER_ADDR every node runs
 * a job of its own, without a word.
 */
#include <string.h>

#include "base/text.h"
#include "to/to.h"

#define ARGPARSE "PyTorch torch/distributed/argparse_util.py, env; run.py, get_args_parser"

static const struct ri_launcher *find_launcher(const struct ri_context *context)
{
	return context->command == NULL ? NULL : context->command->launcher;
}

/* torchrun itself, not something that may call it, would wait for its default. */
static void check_complete(struct ri_writing *writing, const struct ri_topology *topology)
{
	const struct ri_context *context = writing->context;
	const struct ri_launcher *launcher = find_launcher(context);
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
	char old[RI_QUOTE_SIZE], new[RI_QUOTE_SIZE];

	if (!stays)
		ri_want_fact(writing, variable, topology, id);
	edit = ri_env_edits_find(&writing->wanted, stays ? master : variable);
	if (before == NULL || edit == NULL || ri_is_service_link(before) ||
		strcmp(before, edit->value) == 0)
		return;
	ri_quote(old, sizeof(old), before);
	ri_quote(new, sizeof(new), edit->value);
	if (stays)
		ri_findings_add(writing->context->findings, RI_SEVERITY_WARNING,
			RI_CODE_ENV_DIFFERS, variable, "%s is kept, though %s is %s", old, master,
			new);
	else
		ri_findings_add(writing->context->findings, RI_SEVERITY_WARNING,
			RI_CODE_ENV_DIFFERS, variable, "%s becomes %s, as in %s", old, new, master);
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
	if (wishes == NULL || wishes->nproc_count == 0 || (launcher != NULL && launcher->counts))
		return;
	if (launcher == NULL || launcher->reads_pet)
		ri_want_number(writing, "PET_NPROC_PER_NODE", wishes->nproc_count);
	else
		ri_finding_hint(ri_findings_add(writing->context->findings, RI_SEVERITY_WARNING,
			RI_CODE_NPROC_UNUSED, wishes->nproc.subject,
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
	const char *backend = NULL;

	if (!ri_launcher_is_torchruns(find_launcher(context)))
		return false;
	if (!ri_command_has(context->command, "--rdzv-backend", &backend))
		backend = ri_env_get(context->env, "PET_RDZV_BACKEND");
	if (backend == NULL || backend[0] == '\0' || strcmp(backend, "static") == 0)
		return false;
	if (node->state == RI_STATE_KNOWN && ri_topology_is_wide(topology))
		ri_findings_add(context->findings, RI_SEVERITY_NOTE, RI_CODE_NODE_RANK_UNUSED,
			ri_topology_subject(topology, RI_FACT_NODE_RANK), "%d is not what %s goes "
			"by: its rendezvous \"%s\" numbers the nodes as they come",
			(int)node->number, ri_command_name(context->command), backend);
	return true;
}

static void render(struct ri_writing *writing, const struct ri_topology *topology)
{
	const struct ri_context *context = writing->context;
	const struct ri_launcher *launcher = find_launcher(context);
	const char *nodes = ri_env_get(context->env, "PET_NNODES");
	const char *count = ri_env_get(context->env, "PET_NPROC_PER_NODE");
	bool node = ri_writing_mode(writing) == RI_MODE_NODE;

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
	if ((context->wishes == NULL || context->wishes->nproc_count == 0) &&
		(count == NULL || count[0] == '\0'))
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
	.render = render,
};
