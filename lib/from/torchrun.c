/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "torchrun": a worker of torchrun or torch.distributed.run. GROUP_RANK
 * is what tells it from a process that was given TORCHELASTIC_RUN_ID by an
 * image or a test.
 */
#include "from/quartet.h"

#define AGENT "PyTorch torch/distributed/elastic/agent/server/local_elastic_agent.py"

static const struct ri_variable reads[] = {
	{ .name = "TORCHELASTIC_RUN_ID", .meaning = "the job's name; only its presence counts",
	  .cite = AGENT },
	RI_QUARTET_READS,
	{ .name = "GROUP_RANK", .meaning = "index of this node", .cite = RI_QUARTET_ELASTIC },
	{ .name = "GROUP_WORLD_SIZE", .meaning = "nodes", .cite = AGENT },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "TORCHELASTIC_RUN_ID") && ri_source_sees(env, "GROUP_RANK") &&
		ri_quartet_sees(env);
}

static void read_torchrun(struct ri_reading *reading)
{
	ri_quartet_claim(reading);
	ri_claim_filled(reading, RI_FACT_NODE_RANK, "GROUP_RANK");
	ri_claim_filled(reading, RI_FACT_NNODES, "GROUP_WORLD_SIZE");
	ri_quartet_claim_rendezvous(reading);
}

static const struct ri_shape_row rows[] = {
	{ "TORCHELASTIC_RUN_ID", "none", 0 },
	{ "RANK", "<rank>", 0 },
	{ "WORLD_SIZE", "<world_size>", 0 },
	{ "LOCAL_RANK", "<local_rank>", 0 },
	{ "LOCAL_WORLD_SIZE", "<ranks>", 0 },
	{ "GROUP_RANK", "<node>", 0 },
	{ "GROUP_WORLD_SIZE", "<nodes>", 0 },
	{ "MASTER_ADDR", "<master>", 0 },
	{ "MASTER_PORT", "<master_port>", 0 },
	{ .name = NULL },
};

/* An agent that is done closes the rendezvous, and the workers of the others are ended. */
static const struct ri_shape shapes[] = {
	{ .name = "torchrun", .summary = "torchrun starts each worker",
	  .scope = RI_SCOPE_PROCESS, .rows = rows, .port = 29500, .grace_s = 30,
	  .cite = "PyTorch torch/distributed/elastic/__init__.py; "
		  "multiprocessing/api.py, PContext.close" },
	{ .name = NULL },
};

const struct ri_source ri_source_torchrun = {
	.name = "torchrun",
	.summary = "a worker of torchrun",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.traits = RI_TRAIT_STORE,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_torchrun,
};
