/* SPDX-License-Identifier: Apache-2.0 */
#include "to/nodes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
	return (topology->traits & RI_TRAIT_ANYBODYS) != 0 &&
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
		"\"%s\" is this machine, but rank 0 runs on another one: this is node %d",
		master->text, (int)node);
	return ri_fail_hint(err, "set MASTER_ADDR to the host of rank 0, the same on all ranks; if "
				 "all nodes are on this machine, state --master-addr=%s",
		master->text);
}

static const char *launcher_name(const struct ri_command *command)
{
	return command->launcher == NULL ? "the command" : command->launcher->name;
}

/* A launcher of ranks beside the job's own: it makes a job of this node alone. */
static void warn_of_role(const struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_fact *role = &topology->facts[RI_FACT_ROLE];

	ri_finding_hint(ri_findings_add(context->findings, RI_SEVERITY_WARNING,
		RI_CODE_LAUNCH_ROLE, ri_topology_subject(topology, RI_FACT_ROLE),
		"%s starts ranks, but this is the task \"%s\" %" PRIu64 ", one process without a "
		"rank: the launcher gets no information about the "
		"job", launcher_name(context->command),
		role->text, role->number),
		"to make it a node anyway, state --node-rank and --nnodes");
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
		"there are %llu nodes, but rankinit cannot tell which of them this is: the "
		"launcher gets no information about the job", (unsigned long long)nodes);
	ri_finding_hint(finding, "start it once on each node (srun: -n NODES "
				 "--ntasks-per-node=1, mpirun: --map-by ppr:1:node), or state "
				 "--node-rank and --master-addr");
}

/* Does the job start its command on this node alone? Then its ranks may wait in vain. */
static void warn_of_other_nodes(const struct ri_topology *topology,
	const struct ri_context *context)
{
	const char *hint = "start it on each node, or with mpirun";
	const char *who = "the command";
	const struct ri_fact *role = &topology->facts[RI_FACT_ROLE];
	uint64_t nodes;

	if (topology->identity == NULL || role->state != RI_STATE_KNOWN ||
		role->origin.source != topology->identity ||
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
		"%s waits for %d nodes, but %s starts the job's command only on this one",
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
 * others. Of a shell it is unknown; a TrainJob's pod has no WORLD_SIZE to wait by.
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
		(topology->traits & RI_TRAIT_ASKS_RANKS) == 0)
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
		subject, "%" PRIu64 " ranks are requested on each node, but the command is one "
		"process%s", here, others),
		"start it with torchrun, or state "
		"--nproc-per-node=%" PRIu64 "; use --launch=node if "
		"it starts ranks itself", here);
}

/* One process on a node is the way of TensorFlow and JAX. */
static bool is_for_torch(const struct ri_wishes *wishes)
{
	return wishes->tf_ps.value == NULL && wishes->tf_chief.value == NULL &&
		wishes->tf_port.value == NULL && ri_wishes_allow_framework(wishes, "torch");
}

/*
 * A user who states the nodes by hand wants one job on them. A program of Python's that
 * gets no rank trains alone on each, where it starts no ranks itself; a user who names
 * other frameworks than torch has one that does, or needs none.
 */
static void warn_of_no_rank(const struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_fact *nodes = &topology->facts[RI_FACT_NNODES];

	if (!context->command->is_python || context->fan_out != 0 ||
		topology->scope != RI_SCOPE_NODE || (topology->traits & RI_TRAIT_BY_HAND) == 0 ||
		!ri_topology_is_wide(topology) || ri_env_get(context->env, "RANK") != NULL ||
		!is_for_torch(context->wishes))
		return;
	ri_finding_hint(ri_findings_add(context->findings, RI_SEVERITY_WARNING,
		RI_CODE_LAUNCH_RANKLESS, ri_topology_subject(topology, RI_FACT_NNODES),
		"rankinit starts one process on each of %" PRIu64 " nodes and gives it no RANK, so "
		"each may train alone", nodes->number),
		"let rankinit start the ranks with --nproc-per-node=gpu, or start it with "
		"torchrun; use --launch=node if it starts ranks itself, or --frameworks=tensorflow "
		"or jax");
}

static void judge_launcher(const struct ri_topology *topology, const struct ri_context *context)
{
	if (ri_meeting_is_here(context->command, context->env))
		return;
	if (topology->identity != NULL)
		warn_of_other_nodes(topology, context);
	else if (ri_topology_is_beside(topology))
		warn_of_role(topology, context);
	else
		warn_of_lone_nodes(topology, context);
}

void ri_nodes_judge(const struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_command *command = context->command;

	if (command == NULL || command->mode == RI_MODE_NONE)
		return;
	if (command->mode != RI_MODE_PROCESS) {
		judge_launcher(topology, context);
		return;
	}
	warn_of_missing_ranks(topology, context);
	warn_of_no_rank(topology, context);
	ri_inner_judge(topology, context);
	if (context->fan_out != 0)
		warn_of_other_nodes(topology, context);
}
