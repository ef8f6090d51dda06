/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "hydra": a rank that mpiexec of MPICH or Intel MPI started. PMI_RANK
 * alone is no proof, since Slurm, Flux and PALS set it as well; the local
 * index and count are Hydra's own.
 *
 * Hydra does not say which node this is. Where it used Slurm as its launcher
 * there is one proxy for each node, and Slurm's variables are the proxy's.
 */
#include "from/allocation.h"
#include "from/reading.h"

#define PROXY "MPICH src/pm/hydra/proxy/pmip_cb.c"
#define TOOLS "MPICH src/pm/hydra/tools/bootstrap/external"

static const struct ri_variable reads[] = {
	{ .name = "PMI_RANK", .meaning = "rank", .cite = PROXY },
	{ .name = "PMI_SIZE", .meaning = "world size", .cite = PROXY },
	{ .name = "MPI_LOCALRANKID", .meaning = "local rank", .cite = PROXY },
	{ .name = "MPI_LOCALNRANKS", .meaning = "ranks of this job on this node", .cite = PROXY },
	{ .name = "SLURM_STEP_NUM_TASKS", .meaning = "proxies, if Slurm started them",
	  .cite = TOOLS "/slurm_launch.c" },
	{ .name = "SLURM_STEP_NUM_NODES", .meaning = "nodes of the proxies",
	  .cite = TOOLS "/slurm_launch.c" },
	{ .name = "SLURM_NODEID", .meaning = "index of this node's proxy",
	  .cite = TOOLS "/slurm_query_proxy_id.c" },
	{ .name = "SLURM_STEP_NODELIST", .meaning = "nodes of the proxies, that of rank 0 first",
	  .cite = TOOLS "/slurm_launch.c" },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "PMI_RANK") && ri_source_sees(env, "PMI_SIZE") &&
		ri_source_sees(env, "MPI_LOCALRANKID") && ri_source_sees(env, "MPI_LOCALNRANKS");
}

/* Is the Slurm step around us one of proxies, one for each of several nodes? */
static bool is_step_of_proxies(const struct ri_reading *reading)
{
	uint64_t size, local, tasks, nodes;

	/* A job that fits this node was started inside of the step instead. */
	return ri_claim_get(reading, RI_FACT_WORLD_SIZE, &size) &&
		ri_claim_get(reading, RI_FACT_LOCAL_WORLD_SIZE, &local) && local < size &&
		ri_reading_number(reading, RI_FACT_NNODES, "SLURM_STEP_NUM_TASKS", &tasks) &&
		ri_reading_number(reading, RI_FACT_NNODES, "SLURM_STEP_NUM_NODES", &nodes) &&
		tasks == nodes && nodes > 1;
}

static void read_hydra(struct ri_reading *reading)
{
	const struct ri_fact *hosts;

	ri_claim_number(reading, RI_FACT_RANK, "PMI_RANK");
	ri_claim_number(reading, RI_FACT_WORLD_SIZE, "PMI_SIZE");
	ri_claim_number(reading, RI_FACT_LOCAL_RANK, "MPI_LOCALRANKID");
	ri_claim_number(reading, RI_FACT_LOCAL_WORLD_SIZE, "MPI_LOCALNRANKS");
	if (!ri_allocation_is_direct(reading) || !is_step_of_proxies(reading))
		return;
	ri_claim_number(reading, RI_FACT_NNODES, "SLURM_STEP_NUM_NODES");
	ri_claim_number(reading, RI_FACT_NODE_RANK, "SLURM_NODEID");
	hosts = ri_claim_hostlist(reading, "SLURM_STEP_NODELIST");
	if (hosts != NULL)
		ri_allocation_claim_master(reading, hosts);
}

static const struct ri_shape_row rows[] = {
	{ "PMI_RANK", "<rank>", 0 },
	{ "PMI_SIZE", "<world_size>", 0 },
	{ "MPI_LOCALRANKID", "<local_rank>", 0 },
	{ "MPI_LOCALNRANKS", "<ranks>", 0 },
	RI_SHAPE_STATES_MASTER,
	{ .name = NULL },
};

/* How long it waits is not documented: as mpirun of others. Where one rank fails, it ends all. */
static const struct ri_shape shapes[] = {
	{ .name = "hydra", .summary = "mpiexec of MPICH or Intel MPI starts each rank",
	  .scope = RI_SCOPE_PROCESS, .rows = rows, .port = 29500, .grace_s = 5,
	  .cite = "MPICH doc/wiki/how_to/Using_the_Hydra_Process_Manager.md" },
	{ .name = NULL },
};

const struct ri_source ri_source_hydra = {
	.name = "hydra",
	.summary = "a rank under mpiexec of MPICH or Intel MPI",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.mpi = RI_SOURCE_MPICH,
	.once = "mpiexec -n NODES -ppn 1 rankinit -- COMMAND",
	.over_ssh = true,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_hydra,
};
