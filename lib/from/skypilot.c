/* SPDX-License-Identifier: Apache-2.0 */
/* Source "skypilot": a node of a SkyPilot task. */
#include "from/reading.h"

#define GUIDE "docs.skypilot.co, Environment Variables and Secrets"

static const struct ri_variable reads[] = {
	{ .name = "SKYPILOT_NODE_RANK", .meaning = "index of this node", .cite = GUIDE },
	{ .name = "SKYPILOT_NUM_NODES", .meaning = "nodes", .cite = GUIDE },
	{ .name = "SKYPILOT_NODE_IPS",
	  .meaning = "addresses of the nodes, one on each line, node 0 first", .cite = GUIDE },
	{ .name = "SKYPILOT_NUM_GPUS_PER_NODE",
	  .meaning = "processes to start on each node; 0 without GPUs", .cite = GUIDE },
	{ .name = "SKYPILOT_TASK_ID", .meaning = "name of the task", .cite = GUIDE },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "SKYPILOT_NODE_RANK") &&
		(ri_source_sees(env, "SKYPILOT_NUM_NODES") ||
			ri_source_sees(env, "SKYPILOT_NODE_IPS"));
}

static void read_skypilot(struct ri_reading *reading)
{
	ri_claim_number(reading, RI_FACT_NODE_RANK, "SKYPILOT_NODE_RANK");
	ri_claim_filled(reading, RI_FACT_NNODES, "SKYPILOT_NUM_NODES");
	ri_claim_hosts(reading, "SKYPILOT_NODE_IPS", '\n');
	ri_claim_first_host(reading);
	ri_claim_gpus(reading, "SKYPILOT_NUM_GPUS_PER_NODE");
	ri_claim_label(reading, RI_FACT_JOB_ID, "SKYPILOT_TASK_ID");
}

static const struct ri_shape_row rows[] = {
	{ "SKYPILOT_NODE_RANK", "<node>", 0 },
	{ "SKYPILOT_NUM_NODES", "<nodes>", 0 },
	{ "SKYPILOT_NODE_IPS", "<each:\n><host></each>", 0 },
	{ "SKYPILOT_NUM_GPUS_PER_NODE", "<ranks>", 0 },
	{ "SKYPILOT_TASK_ID", "sky-2026-01-01-00-00-00-000000_simulated_1", 0 },
	{ .name = NULL },
};

/* Where a node fails, the others are ended. How long they have is not documented. */
static const struct ri_shape shapes[] = {
	{ .name = "skypilot", .summary = "SkyPilot starts the command on each node",
	  .scope = RI_SCOPE_NODE, .rows = rows, .port = 29500, .grace_s = 5,
	  .succeeded = "SUCCEEDED", .failed = "FAILED", .stopped = "CANCELLED",
	  .cite = "SkyPilot sky/skylet/job_lib.py, JobStatus; pull request 3081" },
	{ .name = NULL },
};

const struct ri_source ri_source_skypilot = {
	.name = "skypilot",
	.summary = "a node of a SkyPilot task",
	.identity = RI_SCOPE_NODE,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_skypilot,
};
