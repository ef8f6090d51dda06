/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "pmi": a rank of a launcher that speaks PMI and has no source above. PMI's
 * own two variables do not tell the node: with several ranks the user has
 * to say the local rank as well, else they are no identity.
 */
#include "from/reading.h"

#define PMI1 "MPICH src/pmi, PMI-1 wire protocol"
#define CRAY "Slurm src/plugins/mpi/cray_shasta/mpi_cray_shasta.c"

static const struct ri_variable reads[] = {
	{ .name = "PMI_RANK", .meaning = "rank", .cite = PMI1 },
	{ .name = "PMI_SIZE", .meaning = "world size", .cite = PMI1 },
	{ .name = "PMI_LOCAL_RANK", .meaning = "local rank (Cray PMI)", .cite = CRAY },
	{ .name = "PMI_LOCAL_SIZE", .meaning = "ranks on this node (Cray PMI)",
	  .cite = CRAY },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "PMI_RANK") && ri_source_sees(env, "PMI_SIZE") &&
		!ri_source_sees(env, "MPI_LOCALRANKID") &&
		!ri_source_sees(env, "MPI_LOCALNRANKS");
}

/* Slurm, Flux and PALS set the two for their own ranks, and say more of them. */
static void read_pmi(struct ri_reading *reading)
{
	struct ri_fact *claim;
	uint64_t size;

	if (reading->launcher != NULL)
		return;
	ri_claim_number(reading, RI_FACT_RANK, "PMI_RANK");
	ri_claim_number(reading, RI_FACT_WORLD_SIZE, "PMI_SIZE");
	ri_claim_filled(reading, RI_FACT_LOCAL_WORLD_SIZE, "PMI_LOCAL_SIZE");
	claim = ri_claim_filled(reading, RI_FACT_LOCAL_RANK, "PMI_LOCAL_RANK");
	if (claim == NULL && ri_claim_get(reading, RI_FACT_WORLD_SIZE, &size) && size == 1)
		/* the only one there is */
		ri_claim(reading, RI_FACT_LOCAL_RANK, "PMI_SIZE");
}

static const struct ri_shape_row rows[] = {
	{ "PMI_RANK", "<rank>", 0 },
	{ "PMI_SIZE", "<world_size>", 0 },
	{ "PMI_LOCAL_RANK", "<local_rank>", 0 },
	{ "PMI_LOCAL_SIZE", "<ranks>", 0 },
	RI_SHAPE_STATES_MASTER,
	{ .name = NULL },
};

/* Its launcher is not known: it waits as others' mpirun does. */
static const struct ri_shape shapes[] = {
	{ .name = "pmi", .summary = "a launcher that speaks PMI starts each rank",
	  .scope = RI_SCOPE_PROCESS, .rows = rows, .port = 29500, .grace_s = 5, .cite = CRAY },
	{ .name = NULL },
};

const struct ri_source ri_source_pmi = {
	.name = "pmi",
	.summary = "a rank known by PMI alone, if it gives the local rank",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_pmi,
};
