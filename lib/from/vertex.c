/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "vertex": a replica of a Vertex AI custom job. The pools follow each
 * other, and the one of workerpool0 is the primary.
 */
#include <string.h>

#include "from/cluster.h"

static const struct ri_variable reads[] = {
	{ .name = "CLUSTER_SPEC",
	  .meaning = "JSON: the pools, and which replica of which one this is",
	  .cite = "cloud.google.com/vertex-ai/docs/training/distributed-training, CLUSTER_SPEC" },
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
	static const char *const pools[] = {
		"workerpool0", "workerpool1", "workerpool2", "workerpool3", NULL,
	};
	static const struct ri_cluster_types types = { pools, pools + 4 };

	ri_cluster_claim(reading, "CLUSTER_SPEC", &types);
}

const struct ri_source ri_source_vertex = {
	.name = "vertex",
	.summary = "replica of a Vertex AI custom job: a node of its pools",
	.identity = RI_SCOPE_NODE,
	.reads = reads,
	.detect = detect,
	.read = read_vertex,
};
