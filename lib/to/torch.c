/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framework "torch": torch.distributed with init_method="env://", and all
 * that follow its names (Lightning, Accelerate, Composer, DeepSpeed).
 */
#include <string.h>

#include "to/writing.h"

#define RENDEZVOUS "PyTorch torch/distributed/rendezvous.py, _env_rendezvous_handler"
#define ELASTIC "PyTorch torch/distributed/run.py, Environment Variables"

static const struct ri_variable writes[] = {
	{ .name = "RANK", .meaning = "index of this process in the job", .cite = RENDEZVOUS },
	{ .name = "WORLD_SIZE", .meaning = "processes in the job", .cite = RENDEZVOUS },
	{ .name = "LOCAL_RANK", .meaning = "index of this process on its node", .cite = ELASTIC },
	{ .name = "LOCAL_WORLD_SIZE", .meaning = "processes on this node", .cite = ELASTIC },
	{ .name = "NODE_RANK", .meaning = "index of this node",
	  .cite = "Lightning src/lightning/fabric/plugins/environments/lightning.py" },
	{ .name = "NNODES", .meaning = "nodes in the job, for the words of a launcher",
	  .cite = "PyTorch torch/distributed/run.py, --nnodes" },
	{ .name = "MASTER_ADDR", .meaning = "the host that rank 0 listens on",
	  .cite = RENDEZVOUS },
	{ .name = "MASTER_PORT", .meaning = "the port that rank 0 listens on",
	  .cite = RENDEZVOUS },
	{ .name = NULL },
};

/* Does the launcher make something of this variable, as it was found? */
static bool is_kept(const struct ri_writing *writing, const struct ri_topology *topology,
	const char *variable, enum ri_fact_id id)
{
	const struct ri_launcher *launcher = writing->context->command->launcher;
	const char *origin = topology->facts[id].origin.variable;

	if (launcher == NULL || (launcher->keeps & 1u << id) == 0)
		return false;
	return !launcher->counts || origin == NULL || strcmp(origin, variable) != 0;
}

/* The ranks get theirs from the launcher: ours is that of one process among them. */
static void render_no_identity(struct ri_writing *writing, const struct ri_topology *topology)
{
	static const struct {
		const char *variable;
		enum ri_fact_id id;
	} identity[] = {
		{ "RANK", RI_FACT_RANK },
		{ "WORLD_SIZE", RI_FACT_WORLD_SIZE },
		{ "LOCAL_RANK", RI_FACT_LOCAL_RANK },
		{ "LOCAL_WORLD_SIZE", RI_FACT_LOCAL_WORLD_SIZE },
	};

	for (size_t i = 0; i < sizeof(identity) / sizeof(identity[0]); i++)
		if (!is_kept(writing, topology, identity[i].variable, identity[i].id))
			ri_want_gone(writing, identity[i].variable);
	ri_want_fact(writing, "NNODES", topology, RI_FACT_NNODES);
}

static void render_identity(struct ri_writing *writing, const struct ri_topology *topology)
{
	ri_want_fact(writing, "RANK", topology, RI_FACT_RANK);
	ri_want_fact(writing, "WORLD_SIZE", topology, RI_FACT_WORLD_SIZE);
	ri_want_fact(writing, "LOCAL_RANK", topology, RI_FACT_LOCAL_RANK);
	ri_want_fact(writing, "LOCAL_WORLD_SIZE", topology, RI_FACT_LOCAL_WORLD_SIZE);
}

/* Every node would find itself there, and start a job of its own. */
static void judge_master(const struct ri_writing *writing, const struct ri_topology *topology)
{
	const char *host = topology->facts[RI_FACT_MASTER_ADDR].text;
	struct ri_finding *finding;
	uint64_t nodes;

	if (!ri_topology_get(topology, RI_FACT_NNODES, &nodes) || nodes == 1 ||
		(strncmp(host, "127.", 4) != 0 && strcmp(host, "localhost") != 0 &&
			strcmp(host, "::1") != 0))
		return;
	finding = ri_findings_add(writing->context->findings, RI_SEVERITY_WARNING,
		RI_CODE_MASTER_LOOPBACK,
		ri_topology_subject(topology, RI_FACT_MASTER_ADDR),
		"\"%s\" is this machine on each of the %d nodes", host, (int)nodes);
	ri_finding_hint(finding, "set MASTER_ADDR to the host of rank 0");
}

static void render(struct ri_writing *writing, const struct ri_topology *topology)
{
	if (ri_writing_mode(writing) == RI_MODE_NODE)
		render_no_identity(writing, topology);
	else if (topology->scope == RI_SCOPE_NODE)
		/* It may start ranks itself: what the platform gave it stays. */
		ri_want_fact(writing, "NNODES", topology, RI_FACT_NNODES);
	else
		render_identity(writing, topology);
	ri_want_fact(writing, "NODE_RANK", topology, RI_FACT_NODE_RANK);
	/* A port without a host would be a default that nobody asked for. */
	if (!ri_topology_knows(topology, RI_FACT_MASTER_ADDR))
		return;
	ri_want_fact(writing, "MASTER_ADDR", topology, RI_FACT_MASTER_ADDR);
	ri_want_fact(writing, "MASTER_PORT", topology, RI_FACT_MASTER_PORT);
	judge_master(writing, topology);
}

const struct ri_framework ri_framework_torch = {
	.name = "torch",
	.summary = "torch.distributed env:// and all that use its names",
	.when = "A rank gets all of them; a launcher, and a node without ranks, NODE_RANK, NNODES "
		"and MASTER_*. Of a rank's own a launcher keeps only what it reads itself.",
	.writes = writes,
	.render = render,
};
