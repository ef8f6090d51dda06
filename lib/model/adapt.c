/* SPDX-License-Identifier: Apache-2.0 */
/* What the command makes of who we are: a launcher's node, or the ranks that are started here. */
#include <inttypes.h>
#include <string.h>

#include "base/limits.h"
#include "command/command.h"
#include "model/derive.h"
#include "model/wishes.h"

static const char *launcher_name(const struct ri_command *command)
{
	return command->launcher == NULL ? "the command" : command->launcher->name;
}

/* starter: who starts all ranks of a node, "torchrun" or "--nproc-per-node". */
static int refuse(const struct ri_topology *topology, const char *starter, enum ri_fact_id id,
	struct ri_error *err)
{
	uint64_t number = topology->facts[id].number;

	ri_fail(err, RI_CODE_LAUNCH_RANKS, ri_topology_subject(topology, id),
		"%s starts all ranks of a node, but %s starts the command more than once on one "
		"node: %s is %"
		PRIu64, starter, topology->identity, ri_fact_name(id), number);
	return -1;
}

static int check_one_each(const struct ri_topology *topology, const char *starter,
	struct ri_error *err)
{
	uint64_t world, value;

	if (ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &value) && value > 1)
		return refuse(topology, starter, RI_FACT_LOCAL_WORLD_SIZE, err);
	/* Where no process is the second one of its node, each has its own. */
	if (ri_topology_get(topology, RI_FACT_LOCAL_RANK, &value) && value > 0)
		return refuse(topology, starter, RI_FACT_LOCAL_RANK, err);
	/* Here it is alone, elsewhere it cannot be. */
	if (ri_topology_get(topology, RI_FACT_NNODES, &value) &&
		ri_topology_get(topology, RI_FACT_WORLD_SIZE, &world) && value < world)
		return refuse(topology, starter, RI_FACT_NNODES, err);
	return 0;
}

/* even: where no source says it of the node, take nodes as equally filled and in order. */
static void settle(struct ri_topology *topology, enum ri_fact_id id, enum ri_fact_id from,
	bool even)
{
	const struct ri_fact *fact = &topology->facts[id];
	uint64_t number = topology->facts[from].number;
	unsigned by = 1u << from;

	if (fact->state == RI_STATE_KNOWN && fact->number == number)
		return;
	if (fact->state != RI_STATE_KNOWN && even &&
		number / topology->facts[RI_FACT_LOCAL_WORLD_SIZE].number == number)
		by |= RI_FROM(LOCAL_WORLD_SIZE);
	ri_topology_derive(topology, id, number, by);
}

/*
 * Does torchrun say itself that each process is a node, by as many nodes as
 * there are processes?
 */
static bool takes_each_for_a_node(const struct ri_topology *topology,
	const struct ri_context *context)
{
	const struct ri_launcher *launcher = context->command->launcher;
	const struct ri_range counts = { 2, RI_MAX_RANKS };
	const char *nodes = NULL;
	uint64_t number;

	if (launcher == NULL || !launcher->reads_pet)
		return false;
	if (!ri_command_has(context->command, "--nnodes", &nodes))
		nodes = ri_env_get(context->env, "PET_NNODES");
	return nodes != NULL && ri_number_read(nodes, counts, &number, NULL) == RI_NUMBER_OK &&
		number == topology->facts[RI_FACT_WORLD_SIZE].number;
}

/* With one process on each node, that process's rank is the node's. */
static int adapt_to_launcher(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	bool even;

	if (!takes_each_for_a_node(topology, context) &&
		check_one_each(topology, launcher_name(context->command), err) < 0)
		return ri_fail_hint(err, "start one process on each node: %s; or use "
			"--launch=process", ri_topology_once(topology));
	even = !ri_topology_knows(topology, RI_FACT_NODE_RANK) &&
		ri_topology_may_be_even(topology);
	settle(topology, RI_FACT_NODE_RANK, RI_FACT_RANK, even);
	settle(topology, RI_FACT_NNODES, RI_FACT_WORLD_SIZE, even);
	return 0;
}

/*
 * What the process was is what its node is from now on, with the same origin,
 * unless the user says of the node itself what it is.
 */
static void take_over(struct ri_topology *topology, enum ri_fact_id id, enum ri_fact_id from)
{
	const unsigned tuple = RI_FROM(RANK) | RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_RANK) |
		RI_FROM(LOCAL_WORLD_SIZE);
	struct ri_fact *fact = &topology->facts[id], *old = &topology->facts[from];

	if (fact->state == RI_STATE_KNOWN &&
		(fact->strength == RI_STRENGTH_MANUAL ||
			(fact->number == old->number && (fact->origin.from & tuple) == 0)))
		return;
	fact->state = RI_STATE_KNOWN;
	fact->strength = old->strength;
	fact->number = old->number;
	fact->origin = old->origin;
}

static int take_node(struct ri_topology *topology, const struct ri_given *stated,
	struct ri_error *err)
{
	if (check_one_each(topology, stated->subject, err) < 0)
		return ri_fail_hint(err, "start one process on each node: %s; or leave %s out",
			ri_topology_once(topology), stated->subject);
	take_over(topology, RI_FACT_NODE_RANK, RI_FACT_RANK);
	take_over(topology, RI_FACT_NNODES, RI_FACT_WORLD_SIZE);
	return 0;
}

/* The first of the ranks that are started here. */
static int fan_out(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	const struct ri_given *stated = &context->wishes->nproc;
	uint64_t count = context->fan_out, nodes;

	if (topology->scope == RI_SCOPE_PROCESS && take_node(topology, stated, err) < 0)
		return -1;
	topology->scope = RI_SCOPE_PROCESS;
	nodes = topology->facts[RI_FACT_NNODES].number;
	if (nodes > RI_MAX_RANKS / count)
		return ri_fail(err, RI_CODE_OPTION_VALUE, stated->subject,
			"%" PRIu64 " ranks on each of %" PRIu64 " nodes are more than the %d that "
			"a job may have", count, nodes, RI_MAX_RANKS);
	ri_topology_derive(topology, RI_FACT_WORLD_SIZE, nodes * count,
		RI_FROM(NNODES) | RI_FROM(LOCAL_WORLD_SIZE));
	ri_topology_derive(topology, RI_FACT_LOCAL_WORLD_SIZE, count, 0);
	topology->facts[RI_FACT_LOCAL_WORLD_SIZE].strength = RI_STRENGTH_MANUAL;
	topology->facts[RI_FACT_LOCAL_WORLD_SIZE].origin = (struct ri_origin){
		.source = RI_BY_HAND, .variable = stated->subject, .raw = stated->value,
	};
	ri_topology_derive(topology, RI_FACT_LOCAL_RANK, 0, RI_FROM(LOCAL_WORLD_SIZE));
	ri_topology_derive(topology, RI_FACT_RANK,
		topology->facts[RI_FACT_NODE_RANK].number * count,
		RI_FROM(NODE_RANK) | RI_FROM(LOCAL_RANK) | RI_FROM(LOCAL_WORLD_SIZE));
	return 0;
}

/*
 * A server, which takes no place or count from the environment: a node may have several, and
 * where one spans nodes, --nnodes on its line says so.
 */
static bool serves_alone(const struct ri_command *command)
{
	const struct ri_launcher *launcher = command->launcher;

	return launcher != NULL && launcher->apart && !launcher->reads_pet && !launcher->counts &&
		!ri_command_mentions(command, "--nnodes");
}

int ri_topology_adapt(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	const struct ri_command *command = context->command;

	if (topology->identity == NULL)
		return ri_topology_refuse_split(topology, context, err);
	if (context->fan_out != 0)
		return fan_out(topology, context, err);
	/* An identity of the node is what a launcher wants. */
	if (command == NULL || command->mode != RI_MODE_NODE ||
		topology->scope == RI_SCOPE_NODE || ri_meeting_is_here(command, context->env) ||
		serves_alone(command))
		return 0;
	return adapt_to_launcher(topology, context, err);
}

void ri_topology_go_to(struct ri_topology *topology, uint64_t local_rank)
{
	struct ri_fact *local = &topology->facts[RI_FACT_LOCAL_RANK];

	topology->facts[RI_FACT_RANK].number += local_rank - local->number;
	local->number = local_rank;
}
