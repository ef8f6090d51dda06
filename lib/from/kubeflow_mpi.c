/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "kubeflow_mpi": an MPIJob or an MPI TrainJob. Its launcher pod runs
 * mpirun and is no rank, even where only the variables for mpirun tell
 * it from others: no identity, and no variable is set.
 *
 * mpirun carries these variables to the ranks. They come over ssh and lack
 * what their pod was given, so the host file is a last way to find the node
 * of rank 0, where it agrees with the rank's own place.
 */
#include <string.h>

#include "base/limits.h"
#include "from/allocation.h"
#include "from/from.h"
#include "from/reading.h"

#define OPERATOR "mpi-operator pkg/controller/mpi_job_controller.go"
#define TRAINER "Kubeflow trainer pkg/runtime/framework/plugins/mpi/mpi.go"
#define MEANING "path of the host file, which the operator mounts at " FOLDER
#define FOLDER "/etc/mpi/"

static const struct ri_source_row reads[] = {
	{ "OMPI_MCA_orte_default_hostfile", MEANING, OPERATOR "; " TRAINER,
	  .value = FOLDER "hostfile" },
	{ "I_MPI_HYDRA_HOST_FILE", MEANING, .cite = OPERATOR },
	{ "HYDRA_HOST_FILE", MEANING, .cite = OPERATOR },
	{ "K_MPI_JOB_ROLE", "launcher or worker", .cite = OPERATOR },
	{ .name = NULL },
};

/* The first three of reads. */
enum { PATHS = 3 };

static bool is_launcher(const struct ri_env *env)
{
	return ri_source_sees(env, "K_MPI_JOB_ROLE") &&
		strcmp(ri_env_get(env, "K_MPI_JOB_ROLE"), "launcher") == 0;
}

/* The variable that holds the operator's host file, or NULL: other files are no proof. */
static const char *find_path(const struct ri_env *env)
{
	for (size_t i = 0; i < PATHS; i++) {
		const char *path = ri_env_get(env, reads[i].name);

		if (path != NULL && strncmp(path, FOLDER, strlen(FOLDER)) == 0)
			return reads[i].name;
	}
	return NULL;
}

static bool detect(const struct ri_env *env)
{
	return is_launcher(env) || find_path(env) != NULL;
}

/*
 * Does this rank stand where it would if mpirun filled the hosts one after the
 * other, each with as many ranks? Then rank 0 is on the first one. Where ranks
 * went round all hosts in turn, too many other orders would look the same.
 */
static bool agrees(const struct ri_reading *reading, size_t hosts, uint64_t place)
{
	const char *source = reading->identity->name;
	uint64_t node, rank = 0, size = 0, local_rank = 0, local = 0;

	if (ri_claim_number_of(reading, RI_FACT_NODE_RANK, source, &node))
		return node == place;
	return ri_claim_number_of(reading, RI_FACT_RANK, source, &rank) &&
		ri_claim_number_of(reading, RI_FACT_WORLD_SIZE, source, &size) &&
		ri_claim_number_of(reading, RI_FACT_LOCAL_RANK, source, &local_rank) &&
		ri_claim_number_of(reading, RI_FACT_LOCAL_WORLD_SIZE, source, &local) &&
		local * hosts == size && rank - local_rank == place * local;
}

static void claim_hosts(struct ri_reading *reading)
{
	const char *variable = find_path(reading->context->env), *text, *name;
	const struct ri_context *context = reading->context;
	struct ri_hostfile file;
	size_t found = 0, length, place = 0;

	text = ri_reading_file(reading, ri_reading_get(reading, variable), RI_MAX_HOSTFILE);
	if (text == NULL || !ri_allocation_read_text(reading, variable, text, &file))
		return;
	name = ri_host_name(context->host, context->arena);
	/* A pod's own name is the first label of the one in the host file. */
	for (size_t i = 0; name != NULL && i < file.count; i++) {
		length = strcspn(file.hosts[i], ".");
		if (strcspn(name, ".") == length && strncmp(file.hosts[i], name, length) == 0) {
			place = i;
			found++;
		}
	}
	if (found == 1 && agrees(reading, file.count, place))
		ri_claim_word(reading, RI_FACT_MASTER_ADDR, variable, file.hosts[0],
			RI_STRENGTH_DEFAULT);
}

static void read_kubeflow_mpi(struct ri_reading *reading)
{
	const struct ri_context *context = reading->context;
	const struct ri_source *identity = reading->identity;

	/* Where the launcher is a worker too, its ranks inherit all of its variables. */
	if (identity == NULL && !ri_source_sees_mpi_rank(context->env))
		ri_claim_word(reading, RI_FACT_ROLE,
			is_launcher(context->env) ? "K_MPI_JOB_ROLE" : find_path(context->env),
			RI_ROLE_LAUNCHER, RI_STRENGTH_SAID);
	/* the master is unknown, and there are ranks elsewhere */
	else if (identity != NULL && identity->over_ssh && context->host != NULL &&
		find_path(context->env) != NULL && !ri_reading_has_master(reading) &&
		ri_claim_of(reading, RI_FACT_LOCAL_WORLD_SIZE, identity->name) != NULL &&
		!ri_identity_is_on_one_node(reading))
		claim_hosts(reading);
}

static const struct ri_shape_row host_file[] = {
	{ FOLDER "hostfile", "<each:><host> slots=<ranks>\n</each>", 0 },
	{ .name = NULL },
};

const struct ri_source ri_source_kubeflow_mpi = {
	.name = "kubeflow_mpi",
	.summary = "Kubeflow MPIJob: the launcher, which is not a rank, and the first host",
	.identity = RI_SCOPE_NONE,
	.reads = reads,
	/* One whose launcher is a worker, too (runLauncherAsWorker). */
	RI_SHAPES({ .name = "kubeflow_mpi",
		.summary = "an MPIJob's mpirun starts each rank",
		.scope = RI_SCOPE_PROCESS, .reads = reads, .rows = host_file,
		.beside = ri_shape_of_mpirun, .port = 29500, .grace_s = 5,
		.succeeded = "Succeeded", .failed = "Failed", .stopped = "Failed",
		RI_CITE("mpi-operator pkg/apis/kubeflow/v2beta1/types.go, JobConditionType; "
			"Open MPI mpirun(1)") }),
	.detect = detect,
	.read = read_kubeflow_mpi,
};
