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

static const struct ri_source_row reads[] = {
	{ "OMPI_COMM_WORLD_RANK", "rank", SCHIZO "; " PMDL, RI_SEEN, RI_NUMBER(RANK) },
	{ "OMPI_COMM_WORLD_SIZE", "world size", SCHIZO "; " PMDL, RI_SEEN, RI_NUMBER(WORLD_SIZE) },
	{ "OMPI_COMM_WORLD_LOCAL_RANK", "local rank", SCHIZO "; " PMDL, 0, RI_NUMBER(LOCAL_RANK) },
	{ "OMPI_COMM_WORLD_LOCAL_SIZE", "ranks of this job on this node", SCHIZO "; " PMDL, 0,
	  RI_NUMBER(LOCAL_WORLD_SIZE) },
	{ "OMPI_MCA_orte_num_nodes", "nodes that have ranks (3, 4)", SCHIZO, 0, RI_NUMBER(NNODES) },
	{ "OMPI_MCA_orte_local_daemon_uri", "the daemon of this node (3, 4)", .cite = SCHIZO },
	{ "OMPI_MCA_orte_hnp_uri", "mpirun itself (3, 4)", .cite = SCHIZO },
	{ "OMPI_MCA_ess_base_num_procs", "daemons in all; not set on the node of mpirun (3, 4)",
	  .cite = PLM },
	{ "OMPI_MCA_orte_node_regex", "nodes of all daemons; not set on the node of mpirun (3, 4)",
	  .cite = PLM },
	{ "PMIX_SERVER_URI41", "the daemon of this node (5)", .cite = PTL },
	{ "PMIX_SERVER_URI4", "the same", .cite = PTL },
	{ "PMIX_SERVER_URI3", "the same", .cite = PTL },
	{ "PMIX_SERVER_URI2", "the same", .cite = PTL },
	{ "PMIX_NAMESPACE",
	  "slurm.pmix.* in a task of srun: srun ran inside a rank, whose numbers are not used",
	  .cite = "Slurm src/plugins/mpi/pmix/pmixp_info.c" },
	{ .name = NULL },
};

/* What there is to find the node by. */
struct daemon {
	const char *variable;	/* NULL: nothing */
	const char *uri;
	uint64_t index;
};

/* A PMIx server that is a daemon of mpirun 5: "prterun-host-pid@0.index;..." */
static const char *find_pmix_uri(struct ri_reading *reading, const char **variable)
{
	static const char *const names[] = {
		"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI2",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *uri = ri_reading_get(reading, names[i]);

		if (uri != NULL && strncmp(uri, "prte", 4) == 0) {
			*variable = names[i];
			return uri;
		}
	}
	return NULL;
}

static struct daemon find_daemon(struct ri_reading *reading)
{
	struct daemon daemon = { .variable = "OMPI_MCA_orte_local_daemon_uri" };

	daemon.uri = ri_reading_get(reading, daemon.variable);
	if (daemon.uri == NULL)
		daemon.uri = find_pmix_uri(reading, &daemon.variable);
	if (daemon.uri == NULL)
		return (struct daemon){ .variable = NULL };
	if (!ri_ompi_uri_index(daemon.uri, &daemon.index)) {
		ri_claim_broken(reading, RI_FACT_NODE_RANK, daemon.variable,
			"JOB.INDEX;ADDRESSES");
		daemon.variable = NULL;
	}
	return daemon;
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

/* Claim the node's rank; *offset becomes the index of node 0's daemon. */
static bool claim_node_rank(struct ri_reading *reading, struct daemon daemon, uint64_t *offset)
{
	struct ri_ompi_place place;
	struct ri_fact *claim;

	if (!read_place(reading, daemon.index, &place))
		return false;
	claim = ri_claim(reading, RI_FACT_NODE_RANK, daemon.variable);
	if (claim == NULL)
		return false;
	if (!ri_ompi_node_rank(&place, &claim->number)) {
		ri_claim_spoil(claim, RI_STATE_OPEN,
			"the daemon's index fits none of the nodes, or more than one");
		return false;
	}
	*offset = daemon.index - claim->number;
	return daemon.index >= claim->number;
}

/* Claim an address of the daemon whose URI this variable holds. */
static bool claim_address(struct ri_reading *reading, const char *variable, const char *other)
{
	const char *uri = ri_reading_get(reading, variable);
	struct ri_slice address;
	struct ri_fact *claim;

	if (uri == NULL || !ri_ompi_uri_address(uri, other, &address))
		return false;
	claim = ri_claim_text(reading, RI_FACT_MASTER_ADDR, variable, address);
	if (claim != NULL)
		claim->strength = RI_STRENGTH_DEFAULT;
	return true;
}

/* Claim the name of the node that the daemon of that index runs on. */
static void claim_regex_host(struct ri_reading *reading, uint64_t index)
{
	const char *variable = "OMPI_MCA_orte_node_regex";
	const char *regex = ri_reading_get(reading, variable);
	char name[RI_MAX_NAME + 1];
	struct ri_fact *claim;

	if (regex == NULL || !ri_ompi_regex_host(regex, index, name, sizeof(name)))
		return;
	claim = ri_claim_text(reading, RI_FACT_MASTER_ADDR, variable,
		(struct ri_slice){ name, strlen(name) });
	if (claim != NULL)
		claim->strength = RI_STRENGTH_DEFAULT;
}

/*
 * Where rank 0 listens, as far as Open MPI 3 and 4 tell: offset is the index
 * of node 0's daemon. Every other source knows it better.
 */
static void claim_master(struct ri_reading *reading, struct daemon daemon, uint64_t offset)
{
	const char *hnp = ri_reading_get(reading, "OMPI_MCA_orte_hnp_uri");
	const char *other = daemon.index == 0 ? NULL : daemon.uri;

	if (strcmp(daemon.variable, "OMPI_MCA_orte_local_daemon_uri") != 0)
		return;
	if (offset == 0 && claim_address(reading, "OMPI_MCA_orte_hnp_uri", other))
		return;
	if (offset == daemon.index &&
		claim_address(reading, daemon.variable, daemon.index == 0 ? NULL : hnp))
		return;
	claim_regex_host(reading, offset);
}

/* The launcher that wrote PMIX_NAMESPACE started this process; mpirun's looks otherwise. */
static bool is_stale(const struct ri_reading *reading)
{
	const char *job = ri_reading_get(reading, "PMIX_NAMESPACE");

	return job != NULL && strncmp(job, "slurm.pmix.", strlen("slurm.pmix.")) == 0 &&
		ri_source_sees_slurm_task(reading->context->env);
}

static void read_openmpi(struct ri_reading *reading)
{
	struct daemon daemon;
	uint64_t offset;

	if (is_stale(reading)) {
		ri_findings_add(reading->context->findings, RI_SEVERITY_NOTE, RI_CODE_ENV_DIFFERS,
			"OMPI_COMM_WORLD_RANK", "is not used: PMIX_NAMESPACE shows that srun "
			"started this process inside a rank of mpirun");
		return;
	}
	ri_claim_rows(reading, reads);
	daemon = find_daemon(reading);
	if (daemon.variable != NULL && claim_node_rank(reading, daemon, &offset))
		claim_master(reading, daemon, offset);
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
