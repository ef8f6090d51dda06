/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framework "jax": where jax.distributed.initialize() finds the coordinator,
 * which is process 0, and which devices a process takes.
 *
 * JAX reads neither the number of processes nor which one this is: under Slurm
 * and Open MPI 3 and 4 it finds both by itself, elsewhere a program passes on
 * what it reads, by the names that Kubeflow made usual. Keras passes on what it reads by
 * names of its own, and leaves the coordinator to JAX. rankinit pretends no
 * Slurm and no Open MPI: Lightning, DeepSpeed and mpi4py would believe it too.
 */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "to/to.h"

#define DISTRIBUTED "JAX jax/_src/distributed.py, State.initialize"
#define KERAS "Keras keras/src/distribution/distribution_lib.py, initialize"
#define KUBEFLOW "Kubeflow Trainer pkg/runtime/framework/plugins/jax/jax.go"

static const char address_name[] = "JAX_COORDINATOR_ADDRESS";
static const char devices_name[] = "JAX_LOCAL_DEVICE_IDS";

static const char *get_filled(const struct ri_writing *writing, const char *variable)
{
	const char *value = ri_env_get(writing->context->env, variable);

	return value == NULL || value[strspn(value, " \t\r\n")] == '\0' ? NULL : value;
}

/* JAX cuts it at the last colon. */
static bool is_address(const char *text)
{
	const char *colon = strrchr(text, ':');
	uint64_t port;

	return colon != NULL && colon != text && strpbrk(text, " \t\r\n/") == NULL &&
		ri_number_read(colon + 1, ri_fact_range(RI_FACT_MASTER_PORT), &port, NULL) ==
			RI_NUMBER_OK;
}

static char *make_address(const struct ri_writing *writing, const struct ri_topology *topology)
{
	const char *host = topology->facts[RI_FACT_MASTER_ADDR].text;
	const char *port = get_filled(writing, "JAX_COORDINATOR_PORT");
	bool brackets = strchr(host, ':') != NULL;
	uint64_t number = topology->facts[RI_FACT_MASTER_PORT].number;

	/* A service of that name makes it a link (ri_is_service_link), which is no number. */
	if (port != NULL)
		ri_number_read(port, ri_fact_range(RI_FACT_MASTER_PORT), &number, NULL);
	return ri_arena_format(writing->context->arena, "%s%s%s:%" PRIu64, brackets ? "[" : "",
		host, brackets ? "]" : "", number);
}

/* It stays, as MASTER_ADDR does. */
static void compare(const struct ri_writing *writing, const struct ri_topology *topology,
	const char *given)
{
	const struct ri_fact *master = &topology->facts[RI_FACT_MASTER_ADDR];
	size_t length = (size_t)(strrchr(given, ':') - given);
	bool brackets = given[0] == '[' && given[length - 1] == ']';

	given += brackets;
	length -= 2 * (size_t)brackets;
	if (master->state != RI_STATE_KNOWN || (strlen(master->text) == length &&
			memcmp(master->text, given, length) == 0))
		return;
	ri_warn(writing->context->findings, RI_CODE_ENV_DIFFERS, address_name,
		"%s is kept, but MASTER_ADDR is \"%s\"", RI_QUOTED(given - brackets), master->text);
}

static void want_address(struct ri_writing *writing, const struct ri_topology *topology)
{
	const char *given = get_filled(writing, address_name);
	char *made;

	if (given != NULL && is_address(given)) {
		compare(writing, topology, given);
		return;
	}
	if (!ri_topology_knows(topology, RI_FACT_MASTER_ADDR) ||
		!ri_topology_knows(topology, RI_FACT_MASTER_PORT)) {
		/* A user who asks for it needs it; a platform may have had its reasons. */
		if (!ri_writing_is_asked(writing))
			return;
		ri_fail(writing->err, RI_CODE_FRAMEWORK_INCOMPLETE, address_name,
			"JAX needs the host of process 0, and no source provides it");
		ri_fail_hint(writing->err, "set MASTER_ADDR to that host, or %s to its address "
			"with a port, the same on all ranks", address_name);
		return;
	}
	made = make_address(writing, topology);
	if (given != NULL && made != NULL)
		ri_finding_hint(ri_warn(writing->context->findings, RI_CODE_ENV_REPAIRED,
			address_name, "%s becomes \"%s\"", RI_QUOTED(given), made),
			"expected a host and a port");
	ri_want(writing, address_name, made);
}

/* Where JAX knows a local index it takes the one device of that index, and no other. */
static bool takes_one(const struct ri_writing *writing)
{
	/* jax/_src/clusters/slurm_cluster.py and ompi_cluster.py, is_env_present */
	static const char *const slurm[] = {
		"SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID",
		"SLURM_LOCALID",
	};
	const struct ri_env *env = writing->context->env;

	/* What started us does not reach the ranks that we start (to/scrub.def). */
	if (writing->context->fan_out != 0)
		return false;
	if (writing->context->command->mode != RI_MODE_NODE &&
		ri_env_get(env, "OMPI_MCA_orte_hnp_uri") != NULL)
		return true;
	for (size_t i = 0; i < RI_ARRAY_SIZE(slurm); i++)
		if (ri_env_get(env, slurm[i]) == NULL)
			return false;
	return true;
}

/* Of the only process of its node: "0,1,2" for all of them. */
static char *make_node_devices(struct ri_writing *writing, uint64_t devices)
{
	char *text;

	if (devices == 0) {
		ri_finding_hint(ri_note(writing->context->findings, RI_CODE_DEVICES_ONE,
			devices_name, "JAX uses one device if Slurm or Open MPI started the "
			"process, even if it is the only process of its node"),
			"set it to the devices of the node, as 0,1,2,3");
		return NULL;
	}
	text = ri_arena_format(writing->context->arena, "0");
	for (uint64_t i = 1; i < devices && text != NULL; i++)
		text = ri_arena_format(writing->context->arena, "%s,%" PRIu64, text, i);
	return text;
}

static void want_devices(struct ri_writing *writing, const struct ri_topology *topology)
{
	const char *list = get_filled(writing, "CUDA_VISIBLE_DEVICES");
	uint64_t devices = 0, local, rank;
	char *value;

	if (get_filled(writing, devices_name) != NULL)
		return;
	/*
	 * How many devices CUDA lets this process see, 0 where it does not say: the first one
	 * that is none ends the list (CUDA C++ Programming Guide, CUDA_VISIBLE_DEVICES).
	 */
	for (; list != NULL && *list != '\0' && *list != '-'; devices++) {
		list += strcspn(list, ",");
		list += *list == ',';
	}
	if (ri_writing_is_of_nodes(writing, topology) ||
		!ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &local))
		local = 1;
	rank = topology->facts[RI_FACT_LOCAL_RANK].number;
	/* Somebody gave each process devices of its own: it sees those alone. */
	if (local > 1 && devices > 1 && devices < local)
		return;
	if (local == 1 && (devices == 1 || !takes_one(writing)))
		return;
	if (local == 1)
		value = make_node_devices(writing, devices);
	else
		value = ri_arena_number(writing->context->arena, devices == 1 ? 0 : rank);
	if (value != NULL)
		ri_want(writing, devices_name, value);
}

static void render(struct ri_writing *writing, const struct ri_topology *topology)
{
	static const struct {
		const char *variable;
		enum ri_fact_id of_nodes, of_ranks;
	} places[] = {
		{ "JAX_NUM_PROCESSES", RI_FACT_NNODES, RI_FACT_WORLD_SIZE },
		{ "JAX_PROCESS_ID", RI_FACT_NODE_RANK, RI_FACT_RANK },
		{ "KERAS_DISTRIBUTION_NUM_PROCESSES", RI_FACT_NNODES, RI_FACT_WORLD_SIZE },
		{ "KERAS_DISTRIBUTION_PROCESS_ID", RI_FACT_NODE_RANK, RI_FACT_RANK },
	};
	const struct ri_command *command = writing->context->command;

	/* What a known launcher starts are torch's processes, of which JAX knows nothing. */
	if (command->mode == RI_MODE_NODE && command->launcher != NULL)
		return;
	for (size_t i = 0; i < RI_ARRAY_SIZE(places); i++)
		ri_want_fact(writing, places[i].variable, topology,
			ri_writing_is_of_nodes(writing, topology) ? places[i].of_nodes
				: places[i].of_ranks);
	want_address(writing, topology);
	want_devices(writing, topology);
}

const struct ri_framework ri_framework_jax = {
	.name = "jax",
	.summary = "jax.distributed.initialize(), and keras.distribution.initialize() on JAX",
	.when = "A rank gets its own number and the number of ranks; with --launch=node, or before "
		"ranks exist, the one process of a node gets the node's index and the number of "
		"nodes. A known launcher gets nothing.",
	.writes = RI_VARIABLES(
		{ address_name, "host and port of process 0; a valid value is kept", DISTRIBUTED },
		{ "JAX_NUM_PROCESSES", "processes in the job, for the program to pass on",
		  KUBEFLOW },
		{ "JAX_PROCESS_ID", "index of this process in the job, for the program to pass on",
		  KUBEFLOW },
		{ "KERAS_DISTRIBUTION_NUM_PROCESSES",
		  "the same count, which keras.distribution.initialize() reads", KERAS },
		{ "KERAS_DISTRIBUTION_PROCESS_ID", "the same index, likewise", KERAS },
		{ devices_name,
		  "the devices that this process uses, if JAX would otherwise use all devices of a "
		  "node with several processes, or only the first; an existing value is kept",
		  DISTRIBUTED }),
	.sources = (const char *const[]){ "jax_job", NULL },
	.render = render,
};
