/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framework "lightning": Lightning and Fabric where they find no other
 * cluster. They compute the rank from NODE_RANK and LOCAL_RANK, and start the
 * ranks of a node themselves unless LOCAL_RANK is there, whatever it says.
 */
#include <string.h>

#include "to/writing.h"

#define PLUGIN "Lightning src/lightning/fabric/plugins/environments/lightning.py"

static const struct ri_variable writes[] = {
	{ .name = "NODE_RANK", .meaning = "index of this node", .cite = PLUGIN },
	{ .name = "LOCAL_RANK",
	  .meaning = "index of this process on its node; removed if Lightning starts the ranks",
	  .cite = PLUGIN },
	{ .name = "MASTER_ADDR", .meaning = "host on which rank 0 listens", .cite = PLUGIN },
	{ .name = "MASTER_PORT", .meaning = "port on which rank 0 listens", .cite = PLUGIN },
	{ .name = "SLURM_NTASKS",
	  .meaning = "removed if Lightning starts the ranks: with it, Lightning assumes that srun "
	  "starts them",
	  .cite = "Lightning src/lightning/fabric/plugins/environments/slurm.py, detect" },
	{ .name = NULL },
};

static void render(struct ri_writing *writing, const struct ri_topology *topology)
{
	const struct ri_launcher *launcher;

	(void)topology;
	if (ri_writing_mode(writing) != RI_MODE_NODE)
		return;
	ri_want_gone(writing, "LOCAL_RANK");
	launcher = writing->context->command->launcher;
	/* a launcher that we do not know may well be a script with a Trainer in it */
	if (launcher == NULL || strcmp(launcher->name, "fabric") == 0)
		ri_want_gone(writing, "SLURM_NTASKS");
}

const struct ri_framework ri_framework_lightning = {
	.name = "lightning",
	.summary = "Lightning and Fabric, as read by LightningEnvironment",
	.when = "A rank gets NODE_RANK, LOCAL_RANK and MASTER_*; a launcher gets NODE_RANK and "
		"MASTER_*, and LOCAL_RANK is removed.",
	.writes = writes,
	.rank = {
		.gets = RI_FROM(NODE_RANK) | RI_FROM(LOCAL_RANK) | RI_RENDEZVOUS,
		.needs = RI_FROM(NODE_RANK) | RI_FROM(LOCAL_RANK) | RI_RENDEZVOUS,
	},
	.node = {
		.gets = RI_FROM(NODE_RANK) | RI_RENDEZVOUS,
		.needs = RI_FROM(NODE_RANK) | RI_RENDEZVOUS,
	},
	.render = render,
};
