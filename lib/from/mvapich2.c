/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "mvapich2": a rank under mpirun_rsh of MVAPICH2. Its mpiexec is
 * Hydra's (hydra.c), and so is that of MVAPICH 3.
 */
#include "from/reading.h"

#define ACCELERATE "Accelerate src/accelerate/utils/environment.py"

static const struct ri_variable reads[] = {
	{ .name = "MV2_COMM_WORLD_RANK", .meaning = "rank", .cite = ACCELERATE },
	{ .name = "MV2_COMM_WORLD_SIZE", .meaning = "world size", .cite = ACCELERATE },
	{ .name = "MV2_COMM_WORLD_LOCAL_RANK", .meaning = "local rank", .cite = ACCELERATE },
	{ .name = "MV2_COMM_WORLD_LOCAL_SIZE", .meaning = "ranks on this node",
	  .cite = "MVAPICH2 User Guide, 9.1" },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "MV2_COMM_WORLD_RANK") &&
		ri_source_sees(env, "MV2_COMM_WORLD_SIZE");
}

static void read_mvapich2(struct ri_reading *reading)
{
	ri_claim_number(reading, RI_FACT_RANK, "MV2_COMM_WORLD_RANK");
	ri_claim_number(reading, RI_FACT_WORLD_SIZE, "MV2_COMM_WORLD_SIZE");
	ri_claim_filled(reading, RI_FACT_LOCAL_RANK, "MV2_COMM_WORLD_LOCAL_RANK");
	ri_claim_filled(reading, RI_FACT_LOCAL_WORLD_SIZE, "MV2_COMM_WORLD_LOCAL_SIZE");
}

static const struct ri_shape_row rows[] = {
	{ "MV2_COMM_WORLD_RANK", "<rank>", 0 },
	{ "MV2_COMM_WORLD_SIZE", "<world_size>", 0 },
	{ "MV2_COMM_WORLD_LOCAL_RANK", "<local_rank>", 0 },
	{ "MV2_COMM_WORLD_LOCAL_SIZE", "<ranks>", 0 },
	RI_SHAPE_STATES_MASTER,
	{ .name = NULL },
};

/* How long it waits is not documented: as mpirun of others. */
static const struct ri_shape shapes[] = {
	{ .name = "mvapich2", .summary = "mpirun_rsh starts each rank",
	  .scope = RI_SCOPE_PROCESS, .rows = rows, .port = 29500, .grace_s = 5,
	  .cite = ACCELERATE },
	{ .name = NULL },
};

const struct ri_source ri_source_mvapich2 = {
	.name = "mvapich2",
	.summary = "a rank under mpirun_rsh of MVAPICH2",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.mpi = RI_SOURCE_MVAPICH2,
	.over_ssh = true,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_mvapich2,
};
