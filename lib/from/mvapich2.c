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

const struct ri_source ri_source_mvapich2 = {
	.name = "mvapich2",
	.summary = "a rank under mpirun_rsh of MVAPICH2",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.mpi = RI_SOURCE_MVAPICH2,
	.over_ssh = true,
	.reads = reads,
	.detect = detect,
	.read = read_mvapich2,
};
