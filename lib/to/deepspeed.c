/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framework "deepspeed": five variables, all of them or none. Where one is
 * missing it looks for Azure ML, SageMaker and mpi4py in turn, and takes
 * another port and another address from each.
 *
 * Its launcher on a node, launch.py, takes where to meet from its words alone.
 */
#include <string.h>

#include "base/number.h"
#include "to/nodes.h"
#include "to/writing.h"

#define COMM "DeepSpeed deepspeed/comm/comm.py, init_distributed"

static const struct ri_variable writes[] = {
	{ .name = "RANK", .meaning = "index of this process in the job", .cite = COMM },
	{ .name = "WORLD_SIZE", .meaning = "processes in the job", .cite = COMM },
	{ .name = "LOCAL_RANK", .meaning = "index of this process on its node", .cite = COMM },
	{ .name = "MASTER_ADDR", .meaning = "host on which rank 0 listens", .cite = COMM },
	{ .name = "MASTER_PORT", .meaning = "port on which rank 0 listens", .cite = COMM },
	{ .name = "OMPI_COMM_WORLD_LOCAL_RANK",
	  .meaning = "--frameworks=deepspeed removes it if it differs from LOCAL_RANK, because "
		     "DeepSpeed asserts that they are equal",
	  .cite = "DeepSpeed deepspeed/runtime/engine.py, _do_args_sanity_check" },
	{ .name = NULL },
};

/* Of an mpirun outside of what started this rank; MPI programs may still ask for it. */
static void remove_other_rank(struct ri_writing *writing, const struct ri_topology *topology)
{
	static const char variable[] = "OMPI_COMM_WORLD_LOCAL_RANK";
	const char *value = ri_env_get(writing->context->env, variable);
	const struct ri_range any = { 0, UINT32_MAX };
	uint64_t local, number;

	if (value == NULL || !ri_topology_get(topology, RI_FACT_LOCAL_RANK, &local) ||
		(ri_number_read(value, any, &number, NULL) == RI_NUMBER_OK && number == local))
		return;
	ri_want_gone(writing, variable);
	ri_findings_add(writing->context->findings, RI_SEVERITY_NOTE, RI_CODE_ENV_IGNORED, variable,
		"is not the local rank, which is %d according to %s: it is removed", (int)local,
		topology->identity);
}

/* Without these words every node meets itself (deepspeed/launcher/launch.py, parse_args). */
static void check_launcher(struct ri_writing *writing, const struct ri_topology *topology)
{
	const struct ri_launcher *launcher = writing->context->command->launcher;
	uint64_t nodes;

	if (launcher == NULL || strcmp(launcher->name, "deepspeed") != 0 ||
		!ri_topology_get(topology, RI_FACT_NNODES, &nodes) || nodes == 1 ||
		ri_command_mentions(writing->context->command, "--master-addr"))
		return;
	ri_fail(writing->err, RI_CODE_LAUNCH_INCOMPLETE, "MASTER_ADDR",
		"deepspeed takes it only from its own options, which do not give it: each of the "
		"%d nodes would start a job of its own", (int)nodes);
	ri_fail_hint(writing->err, "add --node_rank=$NODE_RANK --master_addr=$MASTER_ADDR "
				   "--master_port=$MASTER_PORT");
}

static void render(struct ri_writing *writing, const struct ri_topology *topology)
{
	if (ri_writing_mode(writing) == RI_MODE_NODE)
		check_launcher(writing, topology);
	else if (ri_writing_is_asked(writing))
		remove_other_rank(writing, topology);
}

const struct ri_framework ri_framework_deepspeed = {
	.name = "deepspeed",
	.summary = "DeepSpeed, as read by init_distributed",
	.when = "A rank gets all five, so that DeepSpeed looks nowhere else. Its launcher takes "
		"them from its options, where $MASTER_ADDR and similar may stand.",
	.writes = writes,
	.rank = {
		.gets = RI_FROM(RANK) | RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_RANK) | RI_RENDEZVOUS,
		.needs = RI_FROM(RANK) | RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_RANK) | RI_RENDEZVOUS,
	},
	.render = render,
};
