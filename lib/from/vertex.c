/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "vertex": a replica of a Vertex AI custom job. The place of a pool
 * says what it is for: the primary, the workers, then parameter or reduction
 * servers, and evaluators. Ranks are in the first two alone.
 */
#include <string.h>

#include "from/cluster.h"

static const struct ri_variable reads[] = {
	{ .name = "CLUSTER_SPEC",
	  .meaning = "JSON: the pools, and the replica and pool of this process",
	  .cite = "cloud.google.com/vertex-ai/docs/training/distributed-training, CLUSTER_SPEC; "
		  "Configure a distributed training job" },
	{ .name = NULL },
};

/* Anybody may call a variable so; its pools are Vertex's own. */
static bool detect(const struct ri_env *env)
{
	const char *value = ri_env_get(env, "CLUSTER_SPEC");

	return value != NULL && strstr(value, "\"workerpool0\"") != NULL;
}

static void read_vertex(struct ri_reading *reading)
{
	static const char *const ranked[] = { "workerpool0", "workerpool1", NULL };
	static const char *const others[] = { "workerpool2", "workerpool3", NULL };
	static const char *const roles[] = { RI_ROLE_PS, RI_ROLE_EVALUATOR };
	static const struct ri_cluster_types types = { ranked, others, roles };

	ri_cluster_claim(reading, "CLUSTER_SPEC", &types);
}

#define PRIMARY "{\"cluster\":{\"workerpool0\":[\"<master>:2222\"]"
#define WORKERS ",\"workerpool1\":[<others:,>\"<host>:2222\"</others>]"
#define TASK(type, index) \
	"},\"environment\":\"cloud\",\"task\":{\"type\":\"" type "\",\"index\":" index "}}"

static const struct ri_shape_row rows[] = {
	{ "CLUSTER_SPEC", PRIMARY TASK("workerpool0", "0"), RI_OF_ONE_NODE },
	{ "CLUSTER_SPEC", PRIMARY WORKERS TASK("workerpool0", "0"),
	  RI_OF_SEVERAL_NODES | RI_OF_FIRST },
	{ "CLUSTER_SPEC", PRIMARY WORKERS TASK("workerpool1", "<worker>"),
	  RI_OF_SEVERAL_NODES | RI_OF_OTHERS },
	{ .name = NULL },
};

/*
 * Vertex shuts all workers down where one fails for good. What a container is given to end
 * is not documented; a Spot machine has 30 s.
 */
static const struct ri_shape shapes[] = {
	{ .name = "vertex", .summary = "Vertex AI starts a container for each replica",
	  .scope = RI_SCOPE_NODE, .rows = rows, .port = 29500, .grace_s = 30,
	  .succeeded = "JOB_STATE_SUCCEEDED", .failed = "JOB_STATE_FAILED",
	  .stopped = "JOB_STATE_CANCELLED",
	  .cite = "cloud.google.com/vertex-ai/docs/training/understanding-training-service; "
		  "cloud.google.com/compute/docs/instances/spot" },
	{ .name = NULL },
};

const struct ri_source ri_source_vertex = {
	.name = "vertex",
	.summary = "replica of a Vertex AI custom job: a node, in the first two pools",
	.identity = RI_SCOPE_NODE,
	.of_container = true,
	.traits = RI_TRAIT_NAMES_JOB,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_vertex,
};
