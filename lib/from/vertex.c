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

const struct ri_source ri_source_vertex = {
	.name = "vertex",
	.summary = "replica of a Vertex AI custom job: a node, in the first two pools",
	.identity = RI_SCOPE_NODE,
	.of_container = true,
	.reads = reads,
	.detect = detect,
	.read = read_vertex,
};
