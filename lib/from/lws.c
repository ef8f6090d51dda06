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

static const struct ri_shape_row rows[] = {
	{ "LWS_LEADER_ADDRESS", "<master>", 0 },
	{ "LWS_GROUP_SIZE", "<nodes>", 0 },
	{ "LWS_WORKER_INDEX", "<node>", 0 },
	{ .name = NULL },
};

/* RecreateGroupOnPodRestart, the usual policy, ends the whole group. It is no job with states. */
static const struct ri_shape shapes[] = {
	{ .name = "lws", .summary = "a LeaderWorkerSet starts a pod for each node",
	  .scope = RI_SCOPE_NODE, .rows = rows, .port = 29500, .grace_s = 30,
	  .cite = LWS ", RestartPolicy; " RI_SHAPE_POD },
	{ .name = NULL },
};

const struct ri_source ri_source_lws = {
	.name = "lws",
	.summary = "pod of a LeaderWorkerSet: a node of its group, and the leader's host",
	.identity = RI_SCOPE_NODE,
	.of_container = true,
	.traits = RI_TRAIT_NAMES_JOB,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_lws,
};
