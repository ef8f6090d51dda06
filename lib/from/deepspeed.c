/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "deepspeed": a worker that deepspeed's launch.py started on its node.
 * CROSS_RANK, CROSS_SIZE and LOCAL_SIZE tell it from other users of RANK.
 */
#include "from/quartet.h"

#define LAUNCH "DeepSpeed deepspeed/launcher/launch.py"

static const struct ri_variable reads[] = {
	{ .name = "RANK", .meaning = "rank", .cite = LAUNCH },
	{ .name = "WORLD_SIZE", .meaning = "world size", .cite = LAUNCH },
	{ .name = "LOCAL_RANK", .meaning = "local rank", .cite = LAUNCH },
	{ .name = "LOCAL_SIZE", .meaning = "processes on this node", .cite = LAUNCH },
	{ .name = "CROSS_RANK", .meaning = "index of this node", .cite = LAUNCH },
	{ .name = "CROSS_SIZE", .meaning = "nodes", .cite = LAUNCH },
	{ .name = "MASTER_ADDR", .meaning = "host on which rank 0 listens", .cite = LAUNCH },
	{ .name = "MASTER_PORT", .meaning = "port on which rank 0 listens", .cite = LAUNCH },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "CROSS_RANK") && ri_source_sees(env, "CROSS_SIZE") &&
		ri_source_sees(env, "LOCAL_SIZE") && ri_quartet_sees(env);
}

/*
 * Where a rankinit stands around this process, it or the launcher wrote RANK
 * last. What fits DeepSpeed's own names is DeepSpeed's.
 */
static bool is_left_over(const struct ri_reading *reading)
{
	uint64_t size, nodes, local;

	return ri_quartet_is_marked(reading->context->env) &&
		!(ri_reading_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE", &size) &&
			ri_reading_number(reading, RI_FACT_NNODES, "CROSS_SIZE", &nodes) &&
			ri_reading_number(
				reading, RI_FACT_LOCAL_WORLD_SIZE, "LOCAL_SIZE", &local) &&
			nodes * local == size);
}

/* LOCAL_WORLD_SIZE is not its own: torchrun or an image left that behind. */
static void read_deepspeed(struct ri_reading *reading)
{
	if (is_left_over(reading))
		return;
	ri_claim_number(reading, RI_FACT_RANK, "RANK");
	ri_claim_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE");
	ri_claim_number(reading, RI_FACT_LOCAL_RANK, "LOCAL_RANK");
	ri_claim_number(reading, RI_FACT_LOCAL_WORLD_SIZE, "LOCAL_SIZE");
	ri_claim_number(reading, RI_FACT_NODE_RANK, "CROSS_RANK");
	ri_claim_number(reading, RI_FACT_NNODES, "CROSS_SIZE");
	ri_quartet_claim_rendezvous(reading);
}

static const struct ri_shape_row rows[] = {
	{ "RANK", "<rank>", 0 },
	{ "WORLD_SIZE", "<world_size>", 0 },
	{ "LOCAL_RANK", "<local_rank>", 0 },
	{ "LOCAL_SIZE", "<ranks>", 0 },
	{ "CROSS_RANK", "<node>", 0 },
	{ "CROSS_SIZE", "<nodes>", 0 },
	{ "MASTER_ADDR", "<master>", 0 },
	{ "MASTER_PORT", "<master_port>", 0 },
	{ .name = NULL },
};

/* Where a process fails, launch.py ends the others of its own node alone. */
static const struct ri_shape shapes[] = {
	{ .name = "deepspeed", .summary = "deepspeed's launch.py starts each process",
	  .scope = RI_SCOPE_PROCESS, .rows = rows, .port = 29500, .grace_s = 30, .goes_on = true,
	  .cite = LAUNCH ", terminate_process_tree, sigkill_handler" },
	{ .name = NULL },
};

const struct ri_source ri_source_deepspeed = {
	.name = "deepspeed",
	.summary = "a worker of the deepspeed launcher",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_deepspeed,
};
