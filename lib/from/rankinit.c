/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "rankinit": an outer rankinit made the variables of this process.
 * Its mark tells its own output from what others left behind. Where it
 * launched a launcher (mode node, none) the four are not of its making.
 */
#include "from/quartet.h"

static const struct ri_variable reads[] = {
	{ .name = "RANKINIT", .meaning = "VERSION:MODE, the mark; only mode process is used",
	  .cite = "rankinit(8)" },
	RI_QUARTET_READS,
	{ .name = "NODE_RANK", .meaning = "index of this node", .cite = "rankinit(8)" },
	{ .name = "NNODES", .meaning = "nodes; more nodes than ranks mean that the outer rankinit "
		"did not set the ranks",
	  .cite = "rankinit(8)" },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_quartet_is_marked(env) && ri_quartet_sees(env);
}

/* A node's identity leaves an image's RANK in place, and says of how many nodes. */
static bool is_of_image(const struct ri_reading *reading)
{
	uint64_t nodes, size;

	return ri_reading_number(reading, RI_FACT_NNODES, "NNODES", &nodes) &&
		ri_reading_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE", &size) &&
		size < nodes;
}

static void read_rankinit(struct ri_reading *reading)
{
	/* Workers of a launcher that rankinit launched carry the mark too. */
	if (reading->identity != NULL || is_of_image(reading))
		return;
	ri_quartet_claim(reading);
	if (ri_claim_filled(reading, RI_FACT_NODE_RANK, "NODE_RANK") == NULL)
		ri_claim_open(reading, RI_FACT_NODE_RANK, "RANKINIT",
			"unknown to the outer rankinit");
	ri_quartet_claim_rendezvous(reading);
}

const struct ri_source ri_source_rankinit = {
	.name = "rankinit",
	.summary = "a process that an outer rankinit launched",
	.identity = RI_SCOPE_PROCESS,
	.unsigned_tuple = true,
	.traits = RI_TRAIT_BELOW,
	.reads = reads,
	.detect = detect,
	.read = read_rankinit,
};
