/* SPDX-License-Identifier: Apache-2.0 */
#include "to/nodes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/loopback.h"
#include "base/number.h"
#include "command/meeting.h"
#include "model/wishes.h"
#include "to/inner.h"

/*
 * Ranks started by hand, each as the first of its node, may well share one
 * machine: then only NODE_RANK would say that they do not.
 */
static bool is_guessed(const struct ri_topology *topology)
{
	return strcmp(topology->identity, "env") == 0 &&
		topology->facts[RI_FACT_NODE_RANK].origin.from ==
			(RI_FROM(RANK) | RI_FROM(LOCAL_WORLD_SIZE));
}

int ri_nodes_refuse_loopback(const struct ri_topology *topology, struct ri_error *err)
{
	const struct ri_fact *master = &topology->facts[RI_FACT_MASTER_ADDR];
	uint64_t node;

	if (!ri_topology_get(topology, RI_FACT_NODE_RANK, &node) || node == 0 ||
		master->strength == RI_STRENGTH_MANUAL || master->origin.variable == NULL ||
		is_guessed(topology) || !ri_loopback_is(master->text, strlen(master->text)))
		return 0;
	ri_fail(err, RI_CODE_MASTER_LOOPBACK, ri_topology_subject(topology, RI_FACT_MASTER_ADDR),
		"\"%s\" is this machine, and rank 0 is on another one: this is node %d",
		master->text, (int)node);
	return ri_fail_hint(err, "set MASTER_ADDR to the host of rank 0, the same on all ranks; "
				 "where all nodes are this machine state --master-addr=%s",
		master->text);
}

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
		"%s starts all ranks of a node, but %s starts it more than once on one: %s is %"
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

static void settle(struct ri_topology *topology, enum ri_fact_id id, enum ri_fact_id from)
{
	const struct ri_fact *fact = &topology->facts[id];
	uint64_t number = topology->facts[from].number;

	if (fact->state != RI_STATE_KNOWN || fact->number != number)
		ri_topology_derive(topology, id, number, 1u << from);
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

/* A launcher of ranks beside the job's own: it makes a job of this node alone. */
static void warn_of_role(const struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_fact *role = &topology->facts[RI_FACT_ROLE];

	ri_finding_hint(ri_findings_add(context->findings, RI_SEVERITY_WARNING,
		RI_CODE_LAUNCH_ROLE, ri_topology_subject(topology, RI_FACT_ROLE),
		"%s starts ranks, but this is the task \"%s\" %" PRIu64 ", one process without a "
		"rank: the launcher is told nothing of the job", launcher_name(context->command),
		role->text, role->number),
		"state --node-rank and --nnodes if it shall be a node all the same");
}

/* A launcher that is told nothing starts a job of its own on each node. */
static void warn_of_lone_nodes(const struct ri_topology *topology,
	const struct ri_context *context)
{
	uint64_t nodes;
	struct ri_finding *finding;

	enum ri_fact_id id = ri_topology_knows(topology, RI_FACT_NNODES) ? RI_FACT_NNODES
									: RI_FACT_HOSTS;

	/* Of what is stated and not used it was said already. */
	if (!ri_topology_get(topology, id, &nodes) || nodes < 2 ||
		ri_wishes_subject(context->wishes) != NULL)
		return;
	finding = ri_findings_add(context->findings, RI_SEVERITY_WARNING,
		RI_CODE_SOURCE_INCOMPLETE, ri_topology_subject(topology, id),
		"there are %llu nodes, but nothing says which of them this is: the launcher is "
		"told nothing", (unsigned long long)nodes);
	ri_finding_hint(finding, "start it once on each node (srun: -n NODES "
				 "--ntasks-per-node=1, mpirun: --map-by ppr:1:node), or state "
				 "--node-rank and --master-addr");
}

/* Does the job start its command on this node alone? Then its ranks may wait in vain. */
static void warn_of_other_nodes(const struct ri_topology *topology,
	const struct ri_context *context)
{
	const char *hint = "start it on each node, or with mpirun";
	const char *who = "what is started here";
	const struct ri_fact *role = &topology->facts[RI_FACT_ROLE];
	uint64_t nodes;

	if (role->state != RI_STATE_KNOWN || role->origin.source != topology->identity ||
		strcmp(role->text, RI_ROLE_PRIMARY) != 0 ||
		!ri_topology_get(topology, RI_FACT_NNODES, &nodes) || nodes < 2)
		return;
	if (context->fan_out == 0) {
		hint = "start it on each node, or with mpirun, or on this node alone: torchrun "
		       "--standalone";
		who = launcher_name(context->command);
	}
	ri_finding_hint(ri_findings_add(context->findings, RI_SEVERITY_WARNING,
		RI_CODE_NODES_WAITED, ri_topology_subject(topology, RI_FACT_ROLE),
		"%s waits for %d nodes, but %s starts the job's command on this one alone",
		who, (int)nodes, topology->identity), "%s", hint);
}

/* What a pod of Kubeflow's asks for, and what its one process makes of it. */
struct demand {
	uint64_t nodes;
	uint64_t here;		/* ranks of each node; 0: not said */
	uint64_t world;		/* WORLD_SIZE, which the process is left with; 0: none */
};

static struct demand find_demand(const struct ri_topology *topology,
	const struct ri_context *context)
{
	const char *world = ri_env_get(context->env, "WORLD_SIZE");
	struct demand demand = { .nodes = 0 };

	ri_topology_get(topology, RI_FACT_NNODES, &demand.nodes);
	ri_topology_get(topology, RI_FACT_NPROC, &demand.here);
	if (world != NULL)
		ri_number_read(world, ri_fact_range(RI_FACT_WORLD_SIZE), &demand.world, NULL);
	return demand;
}

/*
 * A PyTorchJob's WORLD_SIZE counts the ranks that torchrun shall start. A
 * program of Python's without it is one rank on each node, and waits for the
 * others. Of a shell nobody knows; a TrainJob's pod has no WORLD_SIZE to wait by.
 */
static void warn_of_missing_ranks(const struct ri_topology *topology,
	const struct ri_context *context)
{
	const struct demand demand = find_demand(topology, context);
	bool waits = demand.nodes > 0 && demand.world > demand.nodes &&
		demand.world % demand.nodes == 0;
	const char *subject = "WORLD_SIZE";
	uint64_t here = waits ? demand.world / demand.nodes : 0;
	char others[64] = "";

	if (!context->command->is_python || context->fan_out != 0 ||
		topology->identity == NULL || strcmp(topology->identity, "kubeflow_pytorch") != 0)
		return;
	if (demand.here > 1) {
		subject = topology->facts[RI_FACT_NPROC].origin.variable;
		here = demand.here;
	}
	if (here < 2)
		return;
	if (waits)
		snprintf(others, sizeof(others), ", which waits for all %" PRIu64 " of WORLD_SIZE",
			demand.world);
	ri_finding_hint(ri_findings_add(context->findings,
		demand.world > 0 ? RI_SEVERITY_WARNING : RI_SEVERITY_NOTE, RI_CODE_NPROC_UNUSED,
		subject, "%" PRIu64 " ranks are asked for on each node, and the command is one "
		"process%s", here, others),
		"start it by torchrun, or state --nproc-per-node=%" PRIu64 "; --launch=node where "
		"it starts ranks itself", here);
}

/* One process on a node is the way of TensorFlow and JAX. */
static bool is_for_torch(const struct ri_wishes *wishes)
{
	return wishes->tf_ps.value == NULL && wishes->tf_chief.value == NULL &&
		wishes->tf_port.value == NULL && ri_wishes_allow_framework(wishes, "torch");
}

/*
 * Who states the nodes by hand wants one job on them. A program of Python's that
 * gets no rank trains alone on each, where it starts no ranks itself; who names
 * other frameworks than torch has one that does, or needs none.
 */
static void warn_of_no_rank(const struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_fact *nodes = &topology->facts[RI_FACT_NNODES];

	if (!context->command->is_python || context->fan_out != 0 ||
		topology->scope != RI_SCOPE_NODE || strcmp(topology->identity, "manual") != 0 ||
		!ri_topology_is_wide(topology) || ri_env_get(context->env, "RANK") != NULL ||
		!is_for_torch(context->wishes))
		return;
	ri_finding_hint(ri_findings_add(context->findings, RI_SEVERITY_WARNING,
		RI_CODE_LAUNCH_RANKLESS, ri_topology_subject(topology, RI_FACT_NNODES),
		"rankinit starts one process on each of %" PRIu64 " nodes and gives it no RANK, so "
		"each may train alone", nodes->number),
		"have rankinit start the ranks by --nproc-per-node=gpu, or start it by torchrun; "
		"say --launch=node where it starts ranks itself, or --frameworks=tensorflow "
		"or jax");
}

int ri_nodes_settle(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	const struct ri_command *command = context->command;

	if (command == NULL || command->mode == RI_MODE_NONE)
		return 0;
	if (command->mode == RI_MODE_PROCESS) {
		warn_of_missing_ranks(topology, context);
		warn_of_no_rank(topology, context);
		ri_inner_judge(topology, context);
		return 0;
	}
	if (ri_meeting_is_here(command, context->env) || ri_meeting_is_told(command, context->env))
		ri_findings_drop(context->findings, RI_CODE_MASTER_ABSENT);
	if (ri_meeting_is_here(command, context->env))
		return 0;
	if (topology->identity == NULL) {
		if (ri_topology_is_beside(topology))
			warn_of_role(topology, context);
		else
			warn_of_lone_nodes(topology, context);
		return 0;
	}
	/* An identity of the node is what a launcher wants. */
	if (topology->scope == RI_SCOPE_NODE) {
		warn_of_other_nodes(topology, context);
		return 0;
	}
	if (!takes_each_for_a_node(topology, context) &&
		check_one_each(topology, launcher_name(command), err) < 0)
		return ri_fail_hint(err, "start one process on each node (srun: -n NODES "
					 "--ntasks-per-node=1, mpirun: --map-by ppr:1:node), or "
					 "say --launch=process");
	settle(topology, RI_FACT_NODE_RANK, RI_FACT_RANK);
	settle(topology, RI_FACT_NNODES, RI_FACT_WORLD_SIZE);
	ri_findings_drop(context->findings, RI_CODE_NODE_RANK_ASSUMED);
	ri_findings_drop(context->findings, RI_CODE_NODE_RANK_ABSENT);
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

int ri_nodes_fan_out(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	const struct ri_given *stated;
	uint64_t count = context->fan_out, nodes;

	if (count == 0 || topology->identity == NULL)
		return 0;
	stated = &context->wishes->nproc;
	if (topology->scope == RI_SCOPE_PROCESS) {
		if (check_one_each(topology, stated->subject, err) < 0)
			return ri_fail_hint(err, "start one process on each node (srun: -n NODES "
						 "--ntasks-per-node=1, mpirun: --map-by "
						 "ppr:1:node), or leave %s out",
				stated->subject);
		take_over(topology, RI_FACT_NODE_RANK, RI_FACT_RANK);
		take_over(topology, RI_FACT_NNODES, RI_FACT_WORLD_SIZE);
	} else {
		warn_of_other_nodes(topology, context);
	}
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
		.source = "manual", .variable = stated->subject, .raw = stated->value,
	};
	ri_topology_derive(topology, RI_FACT_LOCAL_RANK, 0, RI_FROM(LOCAL_WORLD_SIZE));
	ri_topology_derive(topology, RI_FACT_RANK,
		topology->facts[RI_FACT_NODE_RANK].number * count,
		RI_FROM(NODE_RANK) | RI_FROM(LOCAL_RANK) | RI_FROM(LOCAL_WORLD_SIZE));
	ri_findings_drop(context->findings, RI_CODE_LOCAL_SIZE_ASSUMED);
	ri_findings_drop(context->findings, RI_CODE_NODE_RANK_ASSUMED);
	ri_findings_drop(context->findings, RI_CODE_NODE_RANK_ABSENT);
	return 0;
}

void ri_nodes_go_to(struct ri_topology *topology, uint64_t local_rank)
{
	struct ri_fact *local = &topology->facts[RI_FACT_LOCAL_RANK];

	topology->facts[RI_FACT_RANK].number += local_rank - local->number;
	local->number = local_rank;
}
