/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "pals": a rank under mpiexec of Cray's PALS. Slurm sets the same names
 * for MPI of Cray; then it is Slurm that tells who a task is.
 */
#include "from/reading.h"

#define CORAL "flux-coral2 src/shell/plugins/cray_pals.c"
#define SHASTA "Slurm src/plugins/mpi/cray_shasta/mpi_cray_shasta.c"

static const struct ri_variable reads[] = {
	{ .name = "PALS_RANKID", .meaning = "rank", .cite = CORAL },
	{ .name = "PMI_SIZE", .meaning = "world size", .cite = SHASTA },
	{ .name = "PALS_LOCAL_RANKID", .meaning = "local rank", .cite = SHASTA },
	{ .name = "PMI_LOCAL_RANK", .meaning = "the same", .cite = SHASTA },
	{ .name = "PALS_LOCAL_SIZE", .meaning = "ranks on this node", .cite = SHASTA },
	{ .name = "PMI_LOCAL_SIZE", .meaning = "the same", .cite = SHASTA },
	{ .name = "PALS_NODEID", .meaning = "index of this node", .cite = CORAL },
	{ .name = "PALS_APID", .meaning = "the application's name", .cite = CORAL },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "PALS_RANKID") && ri_source_sees(env, "PALS_NODEID") &&
		!ri_source_sees_slurm_task(env);
}

static void claim_either(struct ri_reading *reading, enum ri_fact_id id, const char *own,
	const char *other)
{
	if (ri_claim_filled(reading, id, own) == NULL)
		ri_claim_filled(reading, id, other);
}

static void read_pals(struct ri_reading *reading)
{
	ri_claim_number(reading, RI_FACT_RANK, "PALS_RANKID");
	ri_claim_filled(reading, RI_FACT_WORLD_SIZE, "PMI_SIZE");
	claim_either(reading, RI_FACT_LOCAL_RANK, "PALS_LOCAL_RANKID", "PMI_LOCAL_RANK");
	claim_either(reading, RI_FACT_LOCAL_WORLD_SIZE, "PALS_LOCAL_SIZE", "PMI_LOCAL_SIZE");
	ri_claim_number(reading, RI_FACT_NODE_RANK, "PALS_NODEID");
	ri_claim_label(reading, RI_FACT_JOB_ID, "PALS_APID");
}

static const struct ri_shape_row rows[] = {
	{ "PALS_RANKID", "<rank>", 0 },
	{ "PMI_SIZE", "<world_size>", 0 },
	{ "PALS_LOCAL_RANKID", "<local_rank>", 0 },
	{ "PALS_LOCAL_SIZE", "<ranks>", 0 },
	{ "PALS_NODEID", "<node>", 0 },
	{ "PALS_APID", "3c5a9a4e-6b3f-4a8e-9f0b-0d6e5a1c2b7d", 0 },
	RI_SHAPE_STATES_MASTER,
	{ .name = NULL },
};

/* How long it waits, and for whom, is not documented: as mpirun of others. */
static const struct ri_shape shapes[] = {
	{ .name = "pals", .summary = "mpiexec of PALS starts each rank",
	  .scope = RI_SCOPE_PROCESS, .rows = rows, .port = 29500, .grace_s = 5, .cite = CORAL },
	{ .name = NULL },
};

const struct ri_source ri_source_pals = {
	.name = "pals",
	.summary = "a rank under mpiexec of Cray PALS",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_pals,
};
