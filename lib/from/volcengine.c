/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "volcengine": a node of a custom training task of Volcengine's (BytePlus') machine
 * learning platform. Its index counts the nodes of one role: it is the node's place where
 * that is the workers', and no TF_CONFIG tells more roles apart.
 */
#include <strings.h>

#include "from/reading.h"

#define GUIDE "volcengine.com/docs/6459/75329"

static const struct ri_variable reads[] = {
	{ .name = "MLP_ROLE", .meaning = "this node's role; WORKER if absent", .cite = GUIDE },
	{ .name = "MLP_ROLE_INDEX", .meaning = "index of this node in its role", .cite = GUIDE },
	{ .name = "MLP_WORKER_NUM", .meaning = "workers", .cite = GUIDE },
	{ .name = "MLP_WORKER_0_HOST", .meaning = "host of worker 0", .cite = GUIDE },
	{ .name = "MLP_WORKER_0_PORT", .meaning = "port of worker 0", .cite = GUIDE },
	{ .name = "MLP_WORKER_ALL_HOSTS", .meaning = "hosts of the workers, separated by commas",
	  .cite = GUIDE },
	{ .name = "MLP_WORKER_GPU", .meaning = "GPUs of each worker: processes to start there",
	  .cite = GUIDE },
	{ .name = "MLP_TASK_ID", .meaning = "the task", .cite = GUIDE },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "MLP_ROLE_INDEX") && ri_source_sees(env, "MLP_WORKER_NUM");
}

static bool is_worker_of_one_role(const struct ri_env *env)
{
	return (!ri_source_sees_text(env, "MLP_ROLE") ||
			strcasecmp(ri_env_get(env, "MLP_ROLE"), "worker") == 0) &&
		!ri_source_sees_text(env, "TF_CONFIG");
}

static void read_volcengine(struct ri_reading *reading)
{
	ri_claim_label(reading, RI_FACT_JOB_ID, "MLP_TASK_ID");
	if (!is_worker_of_one_role(reading->context->env)) {
		ri_claim_open(reading, RI_FACT_NODE_RANK, "MLP_ROLE_INDEX",
			"the index counts the nodes of its role alone");
		return;
	}
	ri_claim_number(reading, RI_FACT_NODE_RANK, "MLP_ROLE_INDEX");
	ri_claim_number(reading, RI_FACT_NNODES, "MLP_WORKER_NUM");
	ri_claim_host(reading, RI_FACT_MASTER_ADDR, "MLP_WORKER_0_HOST");
	ri_claim_filled(reading, RI_FACT_MASTER_PORT, "MLP_WORKER_0_PORT");
	ri_claim_hosts(reading, "MLP_WORKER_ALL_HOSTS", ',');
	ri_claim_gpus(reading, "MLP_WORKER_GPU");
}

static const struct ri_shape_row rows[] = {
	{ "MLP_ROLE", "WORKER", 0 },
	{ "MLP_ROLE_INDEX", "<node>", 0 },
	{ "MLP_WORKER_NUM", "<nodes>", 0 },
	{ "MLP_WORKER_0_HOST", "<master>", 0 },
	{ "MLP_WORKER_0_PORT", "<master_port>", 0 },
	{ "MLP_WORKER_ALL_HOSTS", "<each:,><host></each>", 0 },
	{ "MLP_WORKER_GPU", "<ranks>", 0 },
	{ "MLP_TASK_ID", "t-20210924211641-nznsh", 0 },
	{ .name = NULL },
};

static const struct ri_shape shapes[] = {
	{ .name = "volcengine", .summary = "Volcengine starts a container for each worker",
	  .scope = RI_SCOPE_NODE, .rows = rows, .port = 2222, .grace_s = 30,
	  .cite = RI_SHAPE_POD },
	{ .name = NULL },
};

const struct ri_source ri_source_volcengine = {
	.name = "volcengine",
	.summary = "a worker of a training task of Volcengine or BytePlus",
	.identity = RI_SCOPE_NODE,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_volcengine,
};
