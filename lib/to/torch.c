/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framework "torch": torch.distributed with init_method="env://", and all
 * that follow its names (Lightning, Accelerate, Composer, DeepSpeed).
 */
#include "to/writing.h"

#define RENDEZVOUS "PyTorch torch/distributed/rendezvous.py, _env_rendezvous_handler"
#define ELASTIC "PyTorch torch/distributed/run.py, Environment Variables"

static const struct ri_variable writes[] = {
	{ .name = "RANK", .meaning = "index of this process in the job", .cite = RENDEZVOUS },
	{ .name = "WORLD_SIZE", .meaning = "processes in the job", .cite = RENDEZVOUS },
	{ .name = "LOCAL_RANK", .meaning = "index of this process on its node", .cite = ELASTIC },
	{ .name = "LOCAL_WORLD_SIZE", .meaning = "processes on this node", .cite = ELASTIC },
	{ .name = "NODE_RANK", .meaning = "index of this node",
	  .cite = "Lightning src/lightning/fabric/plugins/environments/lightning.py" },
	{ .name = "MASTER_ADDR", .meaning = "the host that rank 0 listens on",
	  .cite = RENDEZVOUS },
	{ .name = "MASTER_PORT", .meaning = "the port that rank 0 listens on",
	  .cite = RENDEZVOUS },
	{ .name = NULL },
};

static void render(struct ri_writing *writing, const struct ri_topology *topology)
{
	ri_want_fact(writing, "RANK", topology, RI_FACT_RANK);
	ri_want_fact(writing, "WORLD_SIZE", topology, RI_FACT_WORLD_SIZE);
	ri_want_fact(writing, "LOCAL_RANK", topology, RI_FACT_LOCAL_RANK);
	ri_want_fact(writing, "LOCAL_WORLD_SIZE", topology, RI_FACT_LOCAL_WORLD_SIZE);
	ri_want_fact(writing, "NODE_RANK", topology, RI_FACT_NODE_RANK);
	/* A port without a host would be a default that nobody asked for. */
	if (!ri_topology_knows(topology, RI_FACT_MASTER_ADDR))
		return;
	ri_want_fact(writing, "MASTER_ADDR", topology, RI_FACT_MASTER_ADDR);
	ri_want_fact(writing, "MASTER_PORT", topology, RI_FACT_MASTER_PORT);
}

const struct ri_framework ri_framework_torch = {
	.name = "torch",
	.summary = "torch.distributed env:// and all that use its names",
	.writes = writes,
	.render = render,
};
