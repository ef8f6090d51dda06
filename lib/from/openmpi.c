/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "openmpi": a rank that mpirun of Open MPI 3, 4 or 5 started. The
 * tuple is there; the node's index and the master have to be read from what
 * the daemons tell their children (ompi.h).
 */
#include <string.h>

#include "from/ompi.h"
#include "from/reading.h"

#define SCHIZO "Open MPI 4.1 orte/mca/schizo/ompi/schizo_ompi.c"
#define PMDL "openpmix 5.0 src/mca/pmdl/ompi/pmdl_ompi.c"
#define PLM "Open MPI 4.1 orte/mca/plm/base/plm_base_launch_support.c"
#define PTL "openpmix 5.0 src/mca/ptl/base"

static const char local_daemon[] = "OMPI_MCA_orte_local_daemon_uri";
static const char mpirun[] = "OMPI_MCA_orte_hnp_uri", regex[] = "OMPI_MCA_orte_node_regex";

static const struct ri_source_row reads[] = {
	{ "OMPI_COMM_WORLD_RANK", "rank", SCHIZO "; " PMDL, RI_SEEN, RI_NUMBER(RANK) },
	{ "OMPI_COMM_WORLD_SIZE", "world size", SCHIZO "; " PMDL, RI_SEEN, RI_NUMBER(WORLD_SIZE) },
	{ "OMPI_COMM_WORLD_LOCAL_RANK", "local rank", SCHIZO "; " PMDL, 0, RI_NUMBER(LOCAL_RANK) },
	{ "OMPI_COMM_WORLD_LOCAL_SIZE", "ranks of this job on this node", SCHIZO "; " PMDL, 0,
	  RI_NUMBER(LOCAL_WORLD_SIZE) },
	{ "OMPI_MCA_orte_num_nodes", "nodes that have ranks (3, 4)", SCHIZO, 0, RI_NUMBER(NNODES) },
	{ local_daemon, "the daemon of this node (3, 4)", .cite = SCHIZO },
	{ mpirun, "mpirun itself (3, 4)", .cite = SCHIZO },
	{ "OMPI_MCA_ess_base_num_procs", "daemons in all; not set on the node of mpirun (3, 4)",
	  .cite = PLM },
	{ regex, "nodes of all daemons; not set on the node of mpirun (3, 4)", .cite = PLM },
	{ "PMIX_SERVER_URI41", "the daemon of this node (5)", .cite = PTL },
	{ "PMIX_SERVER_URI4", "the same", .cite = PTL },
	{ "PMIX_SERVER_URI3", "the same", .cite = PTL },
	{ "PMIX_SERVER_URI2", "the same", .cite = PTL },
	{ "PMIX_NAMESPACE",
	  "slurm.pmix.* in a task of srun: srun ran inside a rank, whose numbers are not used",
	  .cite = "Slurm src/plugins/mpi/pmix/pmixp_info.c" },
	{ .name = NULL },
};

/*
 * The variable of the daemon on this node, or NULL: of mpirun 3 or 4, or of a PMIx server that
 * is a daemon of mpirun 5, "prterun-host-pid@0.index;..."
 */
static const char *find_daemon(const struct ri_reading *reading)
{
	static const char *const names[] = {
		"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI2",
	};

	if (ri_reading_get(reading, local_daemon) != NULL)
		return local_daemon;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *uri = ri_reading_get(reading, names[i]);

		if (uri != NULL && strncmp(uri, "prte", 4) == 0)
			return names[i];
	}
	return NULL;
}

static bool read_place(struct ri_reading *reading, uint64_t daemon, struct ri_ompi_place *place)
{
	const char *daemons = "OMPI_MCA_ess_base_num_procs";

	*place = (struct ri_ompi_place){ .daemon = daemon };
	if (ri_reading_get(reading, daemons) != NULL &&
		!ri_reading_number(reading, RI_FACT_NNODES, daemons, &place->daemons))
		return false;
	ri_claim_get(reading, RI_FACT_NNODES, &place->nodes);
	return ri_claim_get(reading, RI_FACT_RANK, &place->rank) &&
		ri_claim_get(reading, RI_FACT_WORLD_SIZE, &place->world_size) &&
		ri_claim_get(reading, RI_FACT_LOCAL_RANK, &place->local_rank) &&
		ri_claim_get(reading, RI_FACT_LOCAL_WORLD_SIZE, &place->local_world_size) &&
		place->local_world_size <= place->world_size;
}

/* Claim an address of the daemon whose URI this variable holds. */
static bool claim_address(struct ri_reading *reading, const char *variable, const char *other)
{
	const char *uri = ri_reading_get(reading, variable);
	struct ri_span address;
	struct ri_fact *claim;

	if (uri == NULL || !ri_ompi_uri_address(uri, other, &address))
		return false;
	claim = ri_claim_text(reading, RI_FACT_MASTER_ADDR, variable, address);
	if (claim != NULL)
		claim->strength = RI_STRENGTH_DEFAULT;
	return true;
}

/*
 * Where rank 0 listens, as far as Open MPI 3 and 4 tell: first is the index
 * of node 0's daemon, own that of this node's. Every other source knows it better.
 */
static void claim_master(struct ri_reading *reading, uint64_t own, uint64_t first)
{
	const char *of_mpirun = ri_reading_get(reading, mpirun);
	const char *of_own = ri_reading_get(reading, local_daemon);
	const char *nodes = ri_reading_get(reading, regex);
	char name[RI_MAX_NAME + 1];
	struct ri_fact *claim;

	if ((first == 0 && claim_address(reading, mpirun, own == 0 ? NULL : of_own)) ||
		(first == own &&
			claim_address(reading, local_daemon, own == 0 ? NULL : of_mpirun)) ||
		nodes == NULL || !ri_ompi_regex_host(nodes, first, name, sizeof(name)))
		return;
	claim = ri_claim_text(reading, RI_FACT_MASTER_ADDR, regex,
		(struct ri_span){ name, strlen(name) });
	if (claim != NULL)
		claim->strength = RI_STRENGTH_DEFAULT;
}

static void read_openmpi(struct ri_reading *reading)
{
	const char *job = ri_reading_get(reading, "PMIX_NAMESPACE"), *daemon;
	struct ri_ompi_place place;
	struct ri_fact *claim;
	uint64_t index;

	/* The launcher that wrote PMIX_NAMESPACE started this process; mpirun's looks otherwise. */
	if (job != NULL && strncmp(job, "slurm.pmix.", strlen("slurm.pmix.")) == 0 &&
		ri_source_sees_slurm_task(reading->context->env)) {
		ri_findings_add(reading->context->findings, RI_SEVERITY_NOTE, RI_CODE_ENV_DIFFERS,
			"OMPI_COMM_WORLD_RANK", "is not used: PMIX_NAMESPACE shows that srun "
			"started this process inside a rank of mpirun");
		return;
	}
	ri_claim_rows(reading, reads);
	daemon = find_daemon(reading);
	if (daemon == NULL)
		return;
	if (!ri_ompi_uri_index(ri_reading_get(reading, daemon), &index)) {
		ri_claim_broken(reading, RI_FACT_NODE_RANK, daemon, "JOB.INDEX;ADDRESSES");
		return;
	}
	claim = read_place(reading, index, &place)
		? ri_claim(reading, RI_FACT_NODE_RANK, daemon) : NULL;
	if (claim == NULL)
		return;
	if (!ri_ompi_node_rank(&place, &claim->number))
		ri_claim_spoil(claim, RI_STATE_OPEN,
			"the daemon's index fits none of the nodes, or more than one");
	else if (index >= claim->number && daemon == local_daemon)
		claim_master(reading, index, index - claim->number);
}

/* As mpirun 4 sets it on several machines: it runs on the first, as the daemon of index 0. */
const struct ri_shape_row ri_shape_of_mpirun[] = {
	{ "OMPI_COMM_WORLD_RANK", "<rank>", 0 },
	{ "OMPI_COMM_WORLD_SIZE", "<world_size>", 0 },
	{ "OMPI_COMM_WORLD_LOCAL_RANK", "<local_rank>", 0 },
	{ "OMPI_COMM_WORLD_LOCAL_SIZE", "<ranks>", 0 },
	{ "OMPI_MCA_orte_num_nodes", "<nodes>", 0 },
	{ "OMPI_MCA_orte_hnp_uri", "2130313216.0;tcp://<master>:58493", 0 },
	{ "OMPI_MCA_orte_local_daemon_uri", "2130313216.<node>;tcp://<host>:58493", 0 },
	{ "OMPI_MCA_ess_base_num_procs", "<nodes>", RI_OF_OTHERS },
	{ .name = NULL },
};

const struct ri_source ri_source_openmpi = {
	.name = "openmpi",
	.summary = "a rank under mpirun of Open MPI 3, 4 or 5",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.mpi = RI_SOURCE_OPENMPI,
	.once = "mpirun --map-by ppr:1:node rankinit -- COMMAND",
	.over_ssh = true,
	.reads = reads,
	RI_SHAPES({ .name = "openmpi", .summary = "mpirun starts each rank",
		.scope = RI_SCOPE_PROCESS, .rows = ri_shape_of_mpirun, .grace_s = 5,
		RI_CITE("Open MPI mpirun(1), \"Signal Propagation\"") }),
	.read = read_openmpi,
};
