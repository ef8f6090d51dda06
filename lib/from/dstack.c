/* SPDX-License-Identifier: Apache-2.0 */
/* Source "dstack": a node of a dstack task, which its runner starts on each of them. */
#include "from/reading.h"

#define GUIDE "dstack.ai/docs/concepts/tasks, System environment variables"

static const struct ri_variable reads[] = {
	{ .name = "DSTACK_NODE_RANK", .meaning = "index of this node", .cite = GUIDE },
	{ .name = "DSTACK_NODES_NUM", .meaning = "nodes", .cite = GUIDE },
	{ .name = "DSTACK_MASTER_NODE_IP", .meaning = "address of node 0", .cite = GUIDE },
	{ .name = "DSTACK_NODES_IPS",
	  .meaning = "addresses of the nodes, one on each line, node 0 first", .cite = GUIDE },
	{ .name = "DSTACK_GPUS_PER_NODE",
	  .meaning = "processes to start on each node; 0 without GPUs", .cite = GUIDE },
	{ .name = "DSTACK_RUN_ID", .meaning = "the run", .cite = GUIDE },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "DSTACK_NODE_RANK") &&
		ri_source_sees(env, "DSTACK_NODES_NUM");
}

static void read_dstack(struct ri_reading *reading)
{
	ri_claim_number(reading, RI_FACT_NODE_RANK, "DSTACK_NODE_RANK");
	ri_claim_number(reading, RI_FACT_NNODES, "DSTACK_NODES_NUM");
	ri_claim_host(reading, RI_FACT_MASTER_ADDR, "DSTACK_MASTER_NODE_IP");
	ri_claim_hosts(reading, "DSTACK_NODES_IPS", '\n');
	ri_claim_gpus(reading, "DSTACK_GPUS_PER_NODE");
	ri_claim_label(reading, RI_FACT_JOB_ID, "DSTACK_RUN_ID");
}

static const struct ri_shape_row rows[] = {
	{ "DSTACK_NODE_RANK", "<node>", 0 },
	{ "DSTACK_NODES_NUM", "<nodes>", 0 },
	{ "DSTACK_MASTER_NODE_IP", "<master>", 0 },
	{ "DSTACK_NODES_IPS", "<each:\n><host></each>", 0 },
	{ "DSTACK_GPUS_PER_NODE", "<ranks>", 0 },
	{ "DSTACK_RUN_ID", "51e837bf-fae9-4a37-ac9c-85c005606c22", 0 },
	{ .name = NULL },
};

/* A job of a run that fails ends the others. How long they have is not documented. */
static const struct ri_shape shapes[] = {
	{ .name = "dstack", .summary = "dstack starts a task's container on each node",
	  .scope = RI_SCOPE_NODE, .rows = rows, .port = 29500, .grace_s = 10,
	  .succeeded = "done", .failed = "failed", .stopped = "terminated",
	  .cite = "dstack src/dstack/_internal/core/models/runs.py, RunStatus" },
	{ .name = NULL },
};

const struct ri_source ri_source_dstack = {
	.name = "dstack",
	.summary = "a node of a dstack task",
	.identity = RI_SCOPE_NODE,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_dstack,
};
