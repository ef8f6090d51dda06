/* SPDX-License-Identifier: Apache-2.0 */
/* The quartet, and who writes it for each process: torchrun, deepspeed, an outer rankinit. */
#include "from/reading.h"

#include <string.h>

bool ri_quartet_sees(const struct ri_env *env)
{
	return ri_source_sees(env, "RANK") && ri_source_sees(env, "WORLD_SIZE") &&
		ri_source_sees(env, "LOCAL_RANK");
}

void ri_quartet_claim(struct ri_reading *reading)
{
	ri_claim_number(reading, RI_FACT_RANK, "RANK");
	ri_claim_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE");
	ri_claim_number(reading, RI_FACT_LOCAL_RANK, "LOCAL_RANK");
	ri_claim_filled(reading, RI_FACT_LOCAL_WORLD_SIZE, "LOCAL_WORLD_SIZE");
}

void ri_quartet_claim_rendezvous(struct ri_reading *reading)
{
	ri_claim_weigh(ri_claim_host(reading, RI_FACT_MASTER_ADDR, "MASTER_ADDR"),
		RI_STRENGTH_STATED);
	/* PyTorch takes an empty variable for one that does not exist. */
	ri_claim_weigh(ri_claim_filled(reading, RI_FACT_MASTER_PORT, "MASTER_PORT"),
		RI_STRENGTH_STATED);
}

#define AGENT "PyTorch torch/distributed/elastic/agent/server/local_elastic_agent.py"

static void read_torchrun(struct ri_reading *reading)
{
	ri_quartet_claim(reading);
	ri_claim_rows(reading, ri_source_torchrun.reads);
	ri_quartet_claim_rendezvous(reading);
}

/*
 * GROUP_RANK is what tells a worker from a process that was given TORCHELASTIC_RUN_ID by
 * an image or a test.
 */
const struct ri_source ri_source_torchrun = {
	.name = "torchrun",
	.summary = "a worker of torchrun",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.traits = RI_TRAIT_STORE,
	.reads = RI_READS(
		{ "TORCHELASTIC_RUN_ID", "the job's name; only its presence counts", AGENT, RI_SEEN,
		  .value = "none" },
		RI_QUARTET_READS(RI_SEEN),
		{ "GROUP_RANK", "index of this node", RI_QUARTET_ELASTIC, RI_SEEN,
		  RI_FILLED(NODE_RANK), "<node>" },
		{ "GROUP_WORLD_SIZE", "nodes", AGENT, 0, RI_FILLED(NNODES), "<nodes>" }),
	/* An agent that is done closes the rendezvous, and ends the workers of the others. */
	RI_SHAPES({ .name = "torchrun", .summary = "torchrun starts each worker",
		.scope = RI_SCOPE_PROCESS, .reads = &ri_source_torchrun.reads, .grace_s = 30,
		RI_CITE("PyTorch torch/distributed/elastic/__init__.py; "
			"multiprocessing/api.py, PContext.close") }),
	.read = read_torchrun,
};

/*
 * Did an outer rankinit write the quartet for a process? A launcher between may have
 * written it again.
 */
static bool is_marked(const struct ri_env *env)
{
	const char *mark = ri_env_get(env, "RANKINIT");
	const char *mode = mark == NULL ? NULL : strchr(mark, ':');

	return mode != NULL && strcmp(mode, ":process") == 0;
}

#define LAUNCH "DeepSpeed deepspeed/launcher/launch.py"

/*
 * Where a rankinit stands around this process, it or the launcher wrote RANK
 * last. What fits DeepSpeed's own names is DeepSpeed's. LOCAL_WORLD_SIZE is not:
 * torchrun or an image left that behind.
 */
static void read_deepspeed(struct ri_reading *reading)
{
	uint64_t size, nodes, local;

	if (is_marked(reading->context->env) &&
		!(ri_reading_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE", &size) &&
			ri_reading_number(reading, RI_FACT_NNODES, "CROSS_SIZE", &nodes) &&
			ri_reading_number(
				reading, RI_FACT_LOCAL_WORLD_SIZE, "LOCAL_SIZE", &local) &&
			nodes * local == size))
		return;
	ri_claim_rows(reading, ri_source_deepspeed.reads);
	ri_quartet_claim_rendezvous(reading);
}

/* By launch.py, on its node. */
const struct ri_source ri_source_deepspeed = {
	.name = "deepspeed",
	.summary = "a worker of the deepspeed launcher",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	/* CROSS_RANK, CROSS_SIZE and LOCAL_SIZE tell it from other users of RANK. */
	.reads = RI_READS(
		{ "RANK", "rank", LAUNCH, RI_SEEN, RI_NUMBER(RANK), "<rank>" },
		{ "WORLD_SIZE", "world size", LAUNCH, RI_SEEN, RI_NUMBER(WORLD_SIZE),
		  "<world_size>" },
		{ "LOCAL_RANK", "local rank", LAUNCH, RI_SEEN, RI_NUMBER(LOCAL_RANK),
		  "<local_rank>" },
		{ "LOCAL_SIZE", "processes on this node", LAUNCH, RI_SEEN,
		  RI_NUMBER(LOCAL_WORLD_SIZE), "<ranks>" },
		{ "CROSS_RANK", "index of this node", LAUNCH, RI_SEEN, RI_NUMBER(NODE_RANK),
		  "<node>" },
		{ "CROSS_SIZE", "nodes", LAUNCH, RI_SEEN, RI_NUMBER(NNODES), "<nodes>" },
		{ "MASTER_ADDR", "host on which rank 0 listens", LAUNCH, .value = "<master>" },
		{ "MASTER_PORT", "port on which rank 0 listens", LAUNCH,
		  .value = "<master_port>" }),
	/* Where a process fails, launch.py ends the others of its own node alone. */
	RI_SHAPES({ .name = "deepspeed",
		.summary = "deepspeed's launch.py starts each process",
		.scope = RI_SCOPE_PROCESS, .reads = &ri_source_deepspeed.reads, .grace_s = 30,
		.goes_on = true, RI_CITE(LAUNCH ", terminate_process_tree, sigkill_handler") }),
	.read = read_deepspeed,
};

static void read_rankinit(struct ri_reading *reading)
{
	uint64_t nodes, size;

	/*
	 * Workers of a launcher that rankinit launched carry the mark too. A node's identity
	 * leaves an image's RANK in place, and says of how many nodes.
	 */
	if (reading->identity != NULL ||
		(ri_reading_number(reading, RI_FACT_NNODES, "NNODES", &nodes) &&
			ri_reading_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE", &size) &&
			size < nodes))
		return;
	ri_quartet_claim(reading);
	if (ri_claim_filled(reading, RI_FACT_NODE_RANK, "NODE_RANK") == NULL)
		ri_claim_open(reading, RI_FACT_NODE_RANK, "RANKINIT",
			"unknown to the outer rankinit");
	ri_quartet_claim_rendezvous(reading);
}

/*
 * The mark tells its output from what others left behind. Where it launched a launcher
 * (mode node, none) the four are not of its making.
 */
const struct ri_source ri_source_rankinit = {
	.name = "rankinit",
	.summary = "a process that an outer rankinit launched",
	.identity = RI_SCOPE_PROCESS,
	.unsigned_tuple = true,
	.traits = RI_TRAIT_BELOW,
	.reads = RI_READS(
		{ "RANKINIT", "VERSION:MODE, the mark; only mode process is used",
		  .cite = "rankinit(8)" },
		RI_QUARTET_READS(RI_SEEN),
		{ "NODE_RANK", "index of this node", .cite = "rankinit(8)" },
		{ "NNODES",
		  "nodes; more nodes than ranks mean that the outer rankinit did not set the "
		  "ranks", .cite = "rankinit(8)" }),
	.detect = is_marked,
	.read = read_rankinit,
};
