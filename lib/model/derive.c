/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold between the facts, and what follows from them: how many nodes there are, and
 * ranks on this one; then this node's place, and where to meet.
 */
#include "model/context.h"

#include <inttypes.h>
#include <string.h>

struct rule {
	enum ri_code code;
	enum ri_fact_id fact;
	enum ri_fact_id other;
	enum { below, at_most, equal, leaves_each_node_a_rank } relation;
	const char *words;	/* what holds */
};

/*
 * What must hold between two facts, where both are known. The first one gives way when the rule
 * is broken, so the order matters: what is dropped by one line is not compared by the next.
 * What a single number may be stands in facts.def.
 */
static const struct rule rules[] = {
	{ RI_CODE_RANK_RANGE, RI_FACT_RANK, RI_FACT_WORLD_SIZE, below,
	  "ranks count from 0 to world_size - 1" },
	{ RI_CODE_LOCAL_RANK_RANGE, RI_FACT_LOCAL_RANK, RI_FACT_LOCAL_WORLD_SIZE, below,
	  "local ranks count from 0 to local_world_size - 1" },
	{ RI_CODE_LOCAL_SIZE_RANGE, RI_FACT_LOCAL_WORLD_SIZE, RI_FACT_WORLD_SIZE, at_most,
	  "a node cannot have more ranks than the job" },
	{ RI_CODE_NODES_COUNT, RI_FACT_NNODES, RI_FACT_WORLD_SIZE, leaves_each_node_a_rank,
	  "the ranks that are not on this node must fill the other nodes" },
	{ RI_CODE_NODE_RANK_RANGE, RI_FACT_NODE_RANK, RI_FACT_NNODES, below,
	  "nodes count from 0 to nnodes - 1" },
	{ RI_CODE_HOSTS_COUNT, RI_FACT_HOSTS, RI_FACT_NNODES, equal,
	  "there must be one host for each node" },
};

static bool is_broken(const struct ri_topology *topology, const struct rule *rule)
{
	uint64_t value, other, local;

	if (!ri_topology_get(topology, rule->fact, &value) ||
		!ri_topology_get(topology, rule->other, &other))
		return false;
	switch (rule->relation) {
	case below:
		return value >= other;
	case at_most:
		return value > other;
	case equal:
		return value != other;
	case leaves_each_node_a_rank:
		break;
	}
	if (!ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &local))
		return value > other;
	if (local > other)
		return false;
	return value - 1 > other - local || (value == 1) != (other == local);
}

/* "rank is 16 (OMPI_COMM_WORLD_RANK)" */
static void describe(const struct ri_topology *topology, enum ri_fact_id id, struct ri_text *out)
{
	ri_text_addf(out, "%s is %" PRIu64, ri_fact_name(id), topology->facts[id].number);
	if (topology->facts[id].origin.variable != NULL)
		ri_text_addf(out, " (%s)", topology->facts[id].origin.variable);
}

/*
 * Hold the facts against the rules. A broken rule within the tuple is an
 * error; elsewhere the first fact of the rule becomes absent, with a finding.
 */
static int check(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	for (size_t i = 0; i < RI_ARRAY_SIZE(rules); i++) {
		const struct rule *rule = &rules[i];
		const char *subject = ri_topology_subject(topology, rule->fact);
		/* without what the identity is made of there is none */
		bool is_fatal = topology->scope == RI_SCOPE_NODE
			? rule->fact == RI_FACT_NODE_RANK
			: ri_fact_group(rule->fact) == RI_GROUP_TUPLE &&
				ri_fact_group(rule->other) == RI_GROUP_TUPLE;
		RI_TEXT(text, 256);

		if (!is_broken(topology, rule))
			continue;
		describe(topology, rule->fact, &text);
		ri_text_add(&text, " and ");
		describe(topology, rule->other, &text);
		ri_text_addf(&text, ", but %s", rule->words);
		if (is_fatal)
			return ri_fail(err, rule->code, subject, "%s", text.bytes);
		/* what an option states never gives way silently; what is found gives way to it */
		if (topology->facts[rule->fact].strength == RI_STRENGTH_MANUAL)
			return ri_fail(err, RI_CODE_OPTION_CONFLICT, subject, "%s", text.bytes);
		ri_warn(context->findings, rule->code, subject, "%s; %s is not used", text.bytes,
			ri_fact_name(rule->fact));
		topology->facts[rule->fact].state = RI_STATE_BROKEN;
	}
	return 0;
}

/* The identity's tuple: known by the time that anything is derived. */
static uint64_t of(const struct ri_topology *topology, enum ri_fact_id id)
{
	return topology->facts[id].number;
}

static void derive_nnodes(struct ri_topology *topology)
{
	uint64_t local, hosts;

	if (ri_topology_knows(topology, RI_FACT_NNODES))
		return;
	if (topology->scope == RI_SCOPE_PROCESS &&
		ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &local) &&
		local == of(topology, RI_FACT_WORLD_SIZE))
		ri_topology_derive(topology, RI_FACT_NNODES, 1,
			RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_WORLD_SIZE));
	else if (ri_topology_get(topology, RI_FACT_HOSTS, &hosts))
		ri_topology_derive(topology, RI_FACT_NNODES, hosts, RI_FROM(HOSTS));
}

/*
 * Add why the fact is unknown: "slurm does not give " and what, or why the value that
 * a source gave is not used.
 */
static void explain_missing(const struct ri_topology *topology, enum ri_fact_id id,
	const char *what, struct ri_text *out)
{
	const struct ri_fact *fact = &topology->facts[id];

	if (fact->state == RI_STATE_OPEN)
		ri_text_add(out, fact->reason);
	else if (fact->state == RI_STATE_BROKEN)
		ri_text_addf(out, "%s is not used", ri_topology_subject(topology, id));
	else
		ri_text_addf(out, "%s does not give %s", topology->identity, what);
}

/* How many ranks each node has if all have the same; 0 where that is open. */
static uint64_t share(const struct ri_topology *topology, unsigned *from)
{
	uint64_t size = of(topology, RI_FACT_WORLD_SIZE), nodes, node;
	uint64_t lower = of(topology, RI_FACT_RANK) - of(topology, RI_FACT_LOCAL_RANK);

	*from = RI_FROM(WORLD_SIZE) | RI_FROM(NNODES);
	if (ri_topology_get(topology, RI_FACT_NNODES, &nodes))
		return size % nodes == 0 ? size / nodes : 0;
	*from = RI_FROM(RANK) | RI_FROM(LOCAL_RANK) | RI_FROM(NODE_RANK);
	if (!ri_topology_get(topology, RI_FACT_NODE_RANK, &node) || node == 0 || lower < node)
		return 0;
	return lower % node == 0 && size % (lower / node) == 0 ? lower / node : 0;
}

/*
 * Some launchers do not say how many ranks this node has. The nodes are taken
 * for equally filled, in order, where that is what the other facts are like.
 */
static void derive_local_size(struct ri_topology *topology, const struct ri_context *context)
{
	uint64_t rank = of(topology, RI_FACT_RANK), size = of(topology, RI_FACT_WORLD_SIZE);
	RI_TEXT(missing, 160);
	uint64_t local, node;
	unsigned from;

	if (ri_topology_knows(topology, RI_FACT_LOCAL_WORLD_SIZE) ||
		rank < of(topology, RI_FACT_LOCAL_RANK))
		return;
	if (size == 1) {
		ri_topology_derive(topology, RI_FACT_LOCAL_WORLD_SIZE, 1, RI_FROM(WORLD_SIZE));
		return;
	}
	local = share(topology, &from);
	if (local == 0 || rank % local != of(topology, RI_FACT_LOCAL_RANK) ||
		(ri_topology_get(topology, RI_FACT_NODE_RANK, &node) && rank / local != node))
		return;
	explain_missing(topology, RI_FACT_LOCAL_WORLD_SIZE, "the number of ranks on this node",
		&missing);
	ri_topology_derive(topology, RI_FACT_LOCAL_WORLD_SIZE, local, from);
	/* where ranks are started here there are as many as was asked for */
	if (context->fan_out == 0)
		ri_note(context->findings, RI_CODE_LOCAL_SIZE_ASSUMED, "LOCAL_WORLD_SIZE",
			"%s: %" PRIu64 " is right if every node has as many", missing.bytes, local);
	if (!ri_topology_knows(topology, RI_FACT_NNODES))
		ri_topology_derive(topology, RI_FACT_NNODES, size / local,
			RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_WORLD_SIZE));
}

int ri_topology_count(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	/* Twice: what is dropped may be derived, and what is derived must hold. */
	if (check(topology, context, err) < 0)
		return -1;
	derive_nnodes(topology);
	if (topology->scope == RI_SCOPE_PROCESS) {
		derive_local_size(topology, context);
		derive_nnodes(topology);
	}
	return check(topology, context, err);
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

static void derive_node_rank(struct ri_topology *topology, struct ri_findings *findings)
{
	const struct ri_fact *fact = &topology->facts[RI_FACT_NODE_RANK];
	uint64_t local = of(topology, RI_FACT_LOCAL_WORLD_SIZE), nodes;
	RI_TEXT(missing, 160);

	if (fact->state == RI_STATE_KNOWN)
		return;
	if (ri_topology_get(topology, RI_FACT_NNODES, &nodes) && nodes == 1) {
		ri_topology_derive(topology, RI_FACT_NODE_RANK, 0, RI_FROM(NNODES));
	} else if (ri_topology_may_be_even(topology)) {
		explain_missing(topology, RI_FACT_NODE_RANK, "the index of this node", &missing);
		ri_topology_derive(topology, RI_FACT_NODE_RANK, of(topology, RI_FACT_RANK) / local,
			RI_FROM(RANK) | RI_FROM(LOCAL_WORLD_SIZE));
		if (!ri_topology_knows(topology, RI_FACT_NNODES))
			ri_topology_derive(topology, RI_FACT_NNODES,
				of(topology, RI_FACT_WORLD_SIZE) / local,
				RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_WORLD_SIZE));
		ri_finding_hint(ri_note(findings, RI_CODE_NODE_RANK_ASSUMED, "NODE_RANK",
			"%s: %" PRIu64 " is right if every node has %" PRIu64 " ranks, in order",
			missing.bytes, of(topology, RI_FACT_NODE_RANK), local),
			"it is wrong for uneven or round-robin placement");
	} else if (of(topology, RI_FACT_RANK) == of(topology, RI_FACT_LOCAL_RANK)) {
		/* All ranks below this one are here, rank 0 among them. */
		ri_topology_derive(topology, RI_FACT_NODE_RANK, 0,
			RI_FROM(RANK) | RI_FROM(LOCAL_RANK));
	} else {
		ri_warn(findings, RI_CODE_NODE_RANK_ABSENT, "NODE_RANK",
			"cannot tell which node this is%s%s", fact->state == RI_STATE_OPEN ? ": "
			: "", fact->state == RI_STATE_OPEN ? fact->reason : "");
	}
}

/*
 * Does the launcher know by itself where the nodes meet? torchrun may be told by
 * PET_MASTER_ADDR, also where another mode was asked for.
 */
static bool is_told_elsewhere(const struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_command *command = context->command;
	const struct ri_env *env = context->env;

	if (command->launcher == NULL)
		return false;
	if (command->mode == RI_MODE_NODE &&
		(ri_meeting_is_here(command, env) || ri_meeting_is_told(command, env)))
		return true;
	return (command->mode == RI_MODE_NODE || topology->scope == RI_SCOPE_NODE) &&
		ri_launcher_is_torchruns(command->launcher) &&
		(ri_meeting_is_told(command, env) || ri_env_get(env, "PET_MASTER_ADDR") != NULL);
}

static void derive_master(struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_fact *said = &topology->facts[RI_FACT_NNODES];
	struct ri_fact *fact = &topology->facts[RI_FACT_MASTER_ADDR];
	uint64_t nodes = 0, local, world;

	ri_topology_get(topology, RI_FACT_NNODES, &nodes);
	/*
	 * Is it that of nodes which the user has left out, by an option that says one?
	 * The hosts have given way to it by then.
	 */
	if (fact->state == RI_STATE_KNOWN && !(said->strength == RI_STRENGTH_MANUAL &&
		said->number == 1 && topology->facts[RI_FACT_HOSTS].state == RI_STATE_BROKEN &&
		fact->strength < RI_STRENGTH_STATED))
		return;
	/* Are all ranks here, whatever a launcher makes of them? */
	if (nodes == 1 || (topology->scope == RI_SCOPE_PROCESS &&
		ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &local) &&
		ri_topology_get(topology, RI_FACT_WORLD_SIZE, &world) && local == world)) {
		if (fact->state == RI_STATE_OPEN && fact->text != NULL) {
			/* The node itself, for any node: here that is the one. */
			fact->state = RI_STATE_KNOWN;
			return;
		}
		ri_topology_derive(topology, RI_FACT_MASTER_ADDR, 0, RI_FROM(NNODES));
		fact->text = "127.0.0.1";
	} else if (ri_fact_find_broken(fact) == NULL && !is_told_elsewhere(topology, context)) {
		/* A broken one is worse than none: its reader has refused it. */
		ri_finding_hint(ri_warn(context->findings, RI_CODE_MASTER_ABSENT, "MASTER_ADDR",
			"cannot tell where rank 0 of this job runs%s%s",
			fact->state == RI_STATE_OPEN ? ": " : "", fact->state == RI_STATE_OPEN
			? fact->reason : ""),
			"set MASTER_ADDR to that host, the same on all ranks");
	}
}

/* All ranks are started here, on the one node: can they meet where they are told to? */
static void meet_here(struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_fact *nodes = &topology->facts[RI_FACT_NNODES];
	struct ri_fact *master = &topology->facts[RI_FACT_MASTER_ADDR];
	struct ri_fact *port = &topology->facts[RI_FACT_MASTER_PORT];
	unsigned usual = (unsigned)port->number, picked;

	if (nodes->state != RI_STATE_KNOWN || nodes->number != 1)
		return;
	/*
	 * An image's MASTER_ADDR of another machine. It is one node because no source speaks of
	 * others, or because the user says so.
	 */
	if (nodes->strength != RI_STRENGTH_SAID && master->state == RI_STATE_KNOWN &&
		master->strength != RI_STRENGTH_MANUAL &&
		!context->meeting->is_here(master->text)) {
		ri_finding_hint(ri_warn(context->findings, RI_CODE_ENV_DIFFERS,
			ri_topology_subject(topology, RI_FACT_MASTER_ADDR), "%s becomes "
			"\"127.0.0.1\": all ranks of this job start here, and the old value is "
			"neither a name nor an address of this machine", RI_QUOTED(master->text)),
			"unset it, or state --master-addr if it is right");
		ri_topology_derive(topology, RI_FACT_MASTER_ADDR, 0, RI_FROM(NNODES));
		master->text = "127.0.0.1";
	}
	/* a default that another job on this machine has taken */
	if (port->strength != RI_STRENGTH_DEFAULT || port->origin.variable != NULL ||
		context->meeting->pick_port == NULL)
		return;
	picked = context->meeting->pick_port(usual);
	if (picked == usual)
		return;
	port->number = picked;
	ri_note(context->findings, RI_CODE_MASTER_PORT_TAKEN, "MASTER_PORT",
		"%u is in use on this machine, so this job uses %u", usual, picked);
}

void ri_topology_complete(struct ri_topology *topology, const struct ri_context *context)
{
	if (topology->identity == NULL)
		return;
	if (topology->scope == RI_SCOPE_PROCESS)
		derive_node_rank(topology, context->findings);
	derive_master(topology, context);
	if (!ri_topology_knows(topology, RI_FACT_MASTER_PORT)) {
		ri_topology_derive(topology, RI_FACT_MASTER_PORT, RI_DEFAULT_PORT, 0);
		topology->facts[RI_FACT_MASTER_PORT].origin.source = "default";
	}
	if (context->meeting != NULL && context->fan_out > 0)
		meet_here(topology, context);
}
