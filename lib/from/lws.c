/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "lws": a pod of a LeaderWorkerSet. Each group is a job of its own,
 * and its leader has index 0.
 */
#include "from/reading.h"

#define LWS "LeaderWorkerSet api/leaderworkerset/v1/leaderworkerset_types.go"

static const struct ri_variable reads[] = {
	{ .name = "LWS_LEADER_ADDRESS", .meaning = "the host of the group's leader", .cite = LWS },
	{ .name = "LWS_GROUP_SIZE", .meaning = "pods of the group, including the leader",
	  .cite = LWS },
	{ .name = "LWS_WORKER_INDEX", .meaning = "index of this pod in its group", .cite = LWS },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees_text(env, "LWS_LEADER_ADDRESS") &&
		ri_source_sees_text(env, "LWS_GROUP_SIZE") &&
		ri_source_sees_text(env, "LWS_WORKER_INDEX");
}

static void read_lws(struct ri_reading *reading)
{
	ri_claim_number(reading, RI_FACT_NODE_RANK, "LWS_WORKER_INDEX");
	ri_claim_number(reading, RI_FACT_NNODES, "LWS_GROUP_SIZE");
	ri_claim_host(reading, RI_FACT_MASTER_ADDR, "LWS_LEADER_ADDRESS");
}

const struct ri_source ri_source_lws = {
	.name = "lws",
	.summary = "pod of a LeaderWorkerSet: a node of its group, and the leader's host",
	.identity = RI_SCOPE_NODE,
	.of_container = true,
	.reads = reads,
	.detect = detect,
	.read = read_lws,
};
