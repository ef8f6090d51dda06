/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "beaker": a replica of a task of AI2's Beaker. Replicas without a leader are jobs
 * of their own.
 */
#include "from/reading.h"

/* as its users' public scripts have it: torchrun --rdzv_endpoint, --node_rank */
#define SCRIPTS "allenai/OLMo scripts/beaker"

static const struct ri_variable reads[] = {
	{ .name = "BEAKER_LEADER_REPLICA_HOSTNAME", .meaning = "host of replica 0",
	  .cite = SCRIPTS },
	{ .name = "BEAKER_REPLICA_RANK", .meaning = "index of this replica", .cite = SCRIPTS },
	{ .name = "BEAKER_REPLICA_COUNT", .meaning = "replicas", .cite = SCRIPTS },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees_text(env, "BEAKER_LEADER_REPLICA_HOSTNAME") &&
		ri_source_sees(env, "BEAKER_REPLICA_RANK") &&
		ri_source_sees(env, "BEAKER_REPLICA_COUNT");
}

static void read_beaker(struct ri_reading *reading)
{
	ri_claim_number(reading, RI_FACT_NODE_RANK, "BEAKER_REPLICA_RANK");
	ri_claim_number(reading, RI_FACT_NNODES, "BEAKER_REPLICA_COUNT");
	ri_claim_host(reading, RI_FACT_MASTER_ADDR, "BEAKER_LEADER_REPLICA_HOSTNAME");
}

static const struct ri_shape_row rows[] = {
	{ "BEAKER_LEADER_REPLICA_HOSTNAME", "<master>", 0 },
	{ "BEAKER_REPLICA_RANK", "<node>", 0 },
	{ "BEAKER_REPLICA_COUNT", "<nodes>", 0 },
	{ .name = NULL },
};

/* How long a replica has after a stop is not documented. */
static const struct ri_shape shapes[] = {
	{ .name = "beaker", .summary = "Beaker starts a container for each replica",
	  .scope = RI_SCOPE_NODE, .rows = rows, .port = 29500, .grace_s = 10,
	  .cite = SCRIPTS },
	{ .name = NULL },
};

const struct ri_source ri_source_beaker = {
	.name = "beaker",
	.summary = "a replica of a Beaker task that has a leader",
	.identity = RI_SCOPE_NODE,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_beaker,
};
