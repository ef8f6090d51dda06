/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "tf_config": TF_CONFIG, by whichever platform it was set. Chief (or master) and
 * workers are nodes, in this order; parameter servers and evaluators have a
 * role and no rank. Its ports are TensorFlow's own.
 */
#include "from/cluster.h"

static const struct ri_variable reads[] = {
	{ .name = "TF_CONFIG", .meaning = "JSON: the cluster, and this process's task in it",
	  .cite = RI_CLUSTER_TF },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees_text(env, "TF_CONFIG");
}

static const struct ri_shape_row rows[] = {
	{ "TF_CONFIG", "{\"cluster\":{\"worker\":[<each:,>\"<host>:<port>\"</each>]},"
		"\"task\":{\"type\":\"worker\",\"index\":<node>}}", 0 },
	{ .name = NULL },
};

/* Many platforms set it: how they end the others is not known, and the least is here. */
static const struct ri_shape shapes[] = {
	{ .name = "tf_config", .summary = "TF_CONFIG for a worker on each node",
	  .scope = RI_SCOPE_NODE, .rows = rows, .port = 29500, .grace_s = 5,
	  .cite = RI_CLUSTER_TF },
	{ .name = NULL },
};

const struct ri_source ri_source_tf_config = {
	.name = "tf_config",
	.summary = "TF_CONFIG: chief and workers are nodes",
	.identity = RI_SCOPE_NODE,
	.shares = "TF_CONFIG",
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = ri_cluster_claim_tf,
};
