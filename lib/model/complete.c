/* SPDX-License-Identifier: Apache-2.0 */
/* What is still missing when the node's ranks are known: its place, and where to meet. */
#include <inttypes.h>
#include <string.h>

#include "command/command.h"
#include "model/derive.h"
#include "model/wishes.h"

/* The identity's tuple: known by the time that anything is derived. */
static uint64_t of(const struct ri_topology *topology, enum ri_fact_id id)
{
	return topology->facts[id].number;
}

bool ri_topology_may_be_even(const struct ri_topology *topology)
{
	uint64_t local, nodes;

	/* Evidence that does not decide, or a node count that broke a rule. */
	if (!ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &local) ||
		topology->facts[RI_FACT_NODE_RANK].state == RI_STATE_OPEN ||
		topology->facts[RI_FACT_NNODES].state == RI_STATE_BROKEN)
		return false;
	if (of(topology, RI_FACT_WORLD_SIZE) % local != 0 ||
		of(topology, RI_FACT_RANK) % local != of(topology, RI_FACT_LOCAL_RANK))
		return false;
	if (ri_topology_get(topology, RI_FACT_NNODES, &nodes) &&
		nodes != of(topology, RI_FACT_WORLD_SIZE) / local)
		return false;
	return !ri_topology_get(topology, RI_FACT_HOSTS, &nodes) ||
		nodes == of(topology, RI_FACT_WORLD_SIZE) / local;
}

static void assume_even(struct ri_topology *topology, struct ri_findings *findings)
{
	uint64_t local = of(topology, RI_FACT_LOCAL_WORLD_SIZE);
	struct ri_finding *finding;
	char bytes[160];
	struct ri_text missing;

	ri_text_init(&missing, bytes, sizeof(bytes));
	ri_topology_explain_missing(topology, RI_FACT_NODE_RANK, "the index of this node",
		&missing);
	ri_topology_derive(topology, RI_FACT_NODE_RANK, of(topology, RI_FACT_RANK) / local,
		RI_FROM(RANK) | RI_FROM(LOCAL_WORLD_SIZE));
	if (!ri_topology_knows(topology, RI_FACT_NNODES))
		ri_topology_derive(topology, RI_FACT_NNODES,
			of(topology, RI_FACT_WORLD_SIZE) / local,
			RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_WORLD_SIZE));
	finding = ri_findings_add(findings, RI_SEVERITY_NOTE, RI_CODE_NODE_RANK_ASSUMED,
		"NODE_RANK", "%s: %" PRIu64 " is right if every node has %" PRIu64
		" ranks, in order", bytes, of(topology, RI_FACT_NODE_RANK), local);
	ri_finding_hint(finding, "it is wrong for uneven or round-robin placement");
}

static void derive_node_rank(struct ri_topology *topology, struct ri_findings *findings)
{
	const struct ri_fact *fact = &topology->facts[RI_FACT_NODE_RANK];
	uint64_t nodes;

	if (fact->state == RI_STATE_KNOWN)
		return;
	if (ri_topology_get(topology, RI_FACT_NNODES, &nodes) && nodes == 1)
		ri_topology_derive(topology, RI_FACT_NODE_RANK, 0, RI_FROM(NNODES));
	else if (ri_topology_may_be_even(topology))
		assume_even(topology, findings);
	else if (of(topology, RI_FACT_RANK) == of(topology, RI_FACT_LOCAL_RANK))
		/* All ranks below this one are here, rank 0 among them. */
		ri_topology_derive(topology, RI_FACT_NODE_RANK, 0,
			RI_FROM(RANK) | RI_FROM(LOCAL_RANK));
	else
		ri_findings_add(findings, RI_SEVERITY_WARNING, RI_CODE_NODE_RANK_ABSENT,
			"NODE_RANK", "cannot tell which node this is%s%s",
			fact->state == RI_STATE_OPEN ? ": " : "",
			fact->state == RI_STATE_OPEN ? fact->reason : "");
}

/*
 * Is it that of nodes which the user has left out, by an option that says one?
 * The hosts have given way to it by then.
 */
static bool is_of_other_nodes(const struct ri_topology *topology, const struct ri_fact *master)
{
	const struct ri_fact *nodes = &topology->facts[RI_FACT_NNODES];

	return nodes->strength == RI_STRENGTH_MANUAL && nodes->number == 1 &&
		topology->facts[RI_FACT_HOSTS].state == RI_STATE_BROKEN &&
		master->strength < RI_STRENGTH_STATED;
}

/*
 * Does the launcher know by itself where the nodes meet? torchrun may be told by
 * PET_MASTER_ADDR, also where another mode was asked for.
 */
static bool is_told_elsewhere(const struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_command *command = context->command;
	const struct ri_env *env = context->env;

	if (command == NULL || command->launcher == NULL)
		return false;
	if (command->mode == RI_MODE_NODE &&
		(ri_meeting_is_here(command, env) || ri_meeting_is_told(command, env)))
		return true;
	return (command->mode == RI_MODE_NODE || topology->scope == RI_SCOPE_NODE) &&
		ri_launcher_is_torchruns(command->launcher) &&
		(ri_meeting_is_told(command, env) || ri_env_get(env, "PET_MASTER_ADDR") != NULL);
}

/* Are all ranks here, whatever a launcher makes of them? */
static bool is_on_one_node(const struct ri_topology *topology)
{
	uint64_t nodes, local, world;

	if (ri_topology_get(topology, RI_FACT_NNODES, &nodes) && nodes == 1)
		return true;
	return topology->scope == RI_SCOPE_PROCESS &&
		ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &local) &&
		ri_topology_get(topology, RI_FACT_WORLD_SIZE, &world) && local == world;
}

static void derive_master(struct ri_topology *topology, const struct ri_context *context)
{
	struct ri_fact *fact = &topology->facts[RI_FACT_MASTER_ADDR];
	struct ri_finding *finding;

	if (fact->state == RI_STATE_KNOWN && !is_of_other_nodes(topology, fact))
		return;
	if (is_on_one_node(topology)) {
		if (fact->state == RI_STATE_OPEN && fact->text != NULL) {
			/* The node itself, for any node: here that is the one. */
			fact->state = RI_STATE_KNOWN;
			return;
		}
		ri_topology_derive(topology, RI_FACT_MASTER_ADDR, 0, RI_FROM(NNODES));
		fact->text = "127.0.0.1";
	} else if (ri_fact_find_broken(fact) == NULL && !is_told_elsewhere(topology, context)) {
		/* A broken one is worse than none: its reader has refused it. */
		finding = ri_findings_add(context->findings, RI_SEVERITY_WARNING,
			RI_CODE_MASTER_ABSENT, "MASTER_ADDR",
			"cannot tell where rank 0 of this job runs%s%s",
			fact->state == RI_STATE_OPEN ? ": " : "",
			fact->state == RI_STATE_OPEN ? fact->reason : "");
		ri_finding_hint(finding, "set MASTER_ADDR to that host, the same on all ranks");
	}
}

/* Is it one node because no source speaks of others, or because the user says so? */
static bool is_alone(const struct ri_topology *topology)
{
	const struct ri_fact *nodes = &topology->facts[RI_FACT_NNODES];

	return nodes->state == RI_STATE_KNOWN && nodes->number == 1 &&
		nodes->strength != RI_STRENGTH_SAID;
}

/* An image's MASTER_ADDR of another machine, where all ranks are started here. */
static void keep_master_here(struct ri_topology *topology, const struct ri_context *context)
{
	struct ri_fact *fact = &topology->facts[RI_FACT_MASTER_ADDR];
	char quoted[RI_QUOTE_SIZE];

	if (!is_alone(topology) || fact->state != RI_STATE_KNOWN ||
		fact->strength == RI_STRENGTH_MANUAL || context->meeting->is_here(fact->text))
		return;
	ri_finding_hint(ri_findings_add(context->findings, RI_SEVERITY_WARNING,
		RI_CODE_ENV_DIFFERS, ri_topology_subject(topology, RI_FACT_MASTER_ADDR),
		"%s becomes \"127.0.0.1\": all ranks of this job start here, and the old value is "
		"neither a name nor an address of this machine",
		ri_quote(quoted, sizeof(quoted), fact->text)),
		"unset it, or state --master-addr if it is right");
	ri_topology_derive(topology, RI_FACT_MASTER_ADDR, 0, RI_FROM(NNODES));
	fact->text = "127.0.0.1";
}

/* A default that another job on this machine has taken. */
static void avoid_port(struct ri_topology *topology, const struct ri_context *context)
{
	struct ri_fact *fact = &topology->facts[RI_FACT_MASTER_PORT];
	unsigned usual = (unsigned)fact->number, picked;
	uint64_t nodes;

	if (!ri_topology_get(topology, RI_FACT_NNODES, &nodes) || nodes != 1 ||
		fact->strength != RI_STRENGTH_DEFAULT || fact->origin.variable != NULL)
		return;
	picked = context->meeting->pick_port(usual);
	if (picked == usual)
		return;
	fact->number = picked;
	ri_findings_add(context->findings, RI_SEVERITY_NOTE, RI_CODE_MASTER_PORT_TAKEN,
		"MASTER_PORT", "%u is in use on this machine, so this job uses %u", usual,
		picked);
}

static void derive_port(struct ri_topology *topology)
{
	struct ri_fact *fact = &topology->facts[RI_FACT_MASTER_PORT];

	if (fact->state == RI_STATE_KNOWN)
		return;
	ri_topology_derive(topology, RI_FACT_MASTER_PORT, RI_DEFAULT_PORT, 0);
	fact->origin.source = "default";
}

void ri_topology_complete(struct ri_topology *topology, const struct ri_context *context)
{
	if (topology->identity == NULL)
		return;
	if (topology->scope == RI_SCOPE_PROCESS)
		derive_node_rank(topology, context->findings);
	derive_master(topology, context);
	derive_port(topology);
	if (context->meeting != NULL && context->fan_out > 0) {
		keep_master_here(topology, context);
		avoid_port(topology, context);
	}
}
