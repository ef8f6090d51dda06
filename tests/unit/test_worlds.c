/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every launcher tells the same of the same world: each rank of it, in the
 * names of each source that has names for it, becomes the same topology. What
 * a source does not tell is right, absent, or marked as an assumption.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "thinned.h"
#include "topology_of.h"

enum { NODES = 6, SLOTS = 6, RANKS = NODES * SLOTS, STRINGS = 24, STRING = 96 };

static const char master[] = "10.0.0.1";

struct world {
	unsigned nodes;
	unsigned slots[NODES];
	bool even;
	bool by_slot;	/* node after node; else the ranks are dealt out in turn */
	unsigned size;
	unsigned node_of[RANKS];
	unsigned local_of[RANKS];
};

static void put(struct world *world, unsigned *used, unsigned node)
{
	world->node_of[world->size] = node;
	world->local_of[world->size] = used[node]++;
	world->size++;
}

static void place(struct world *world, bool by_slot)
{
	unsigned used[NODES] = { 0 }, before;

	world->by_slot = by_slot;
	world->size = 0;
	do {
		before = world->size;
		for (unsigned node = 0; node < world->nodes; node++)
			while (used[node] < world->slots[node]) {
				put(world, used, node);
				if (!by_slot)
					break;
			}
	} while (world->size != before);
}

/* One rank of a world, as the sources are asked about it. */
struct place {
	const struct world *world;
	unsigned rank, size, node, nodes, local, locals;
};

static char bytes[STRINGS][STRING], *strings[STRINGS + 1];
static size_t string_count;

static void say(const char *name, const char *format, ...)
{
	size_t length = (size_t)snprintf(bytes[string_count], STRING, "%s=", name);
	va_list args;

	va_start(args, format);
	vsnprintf(bytes[string_count] + length, STRING - length, format, args);
	va_end(args);
	strings[string_count] = bytes[string_count];
	strings[++string_count] = NULL;
	assert_true(string_count < STRINGS);
}

static void say_quartet(const struct place *place)
{
	say("RANK", "%u", place->rank);
	say("WORLD_SIZE", "%u", place->size);
	say("LOCAL_RANK", "%u", place->local);
}

static void say_torchrun(const struct place *place)
{
	say_quartet(place);
	say("LOCAL_WORLD_SIZE", "%u", place->locals);
	say("TORCHELASTIC_RUN_ID", "none");
	say("GROUP_RANK", "%u", place->node);
	say("GROUP_WORLD_SIZE", "%u", place->nodes);
}

static void say_deepspeed(const struct place *place)
{
	say_quartet(place);
	say("LOCAL_SIZE", "%u", place->locals);
	say("CROSS_RANK", "%u", place->node);
	say("CROSS_SIZE", "%u", place->nodes);
}

static void say_horovod(const struct place *place)
{
	unsigned before = 0, hosts = 0;

	for (unsigned node = 0; node < place->nodes; node++) {
		hosts += place->world->slots[node] > place->local;
		if (node < place->node)
			before = hosts;
	}
	say("HOROVOD_RANK", "%u", place->rank);
	say("HOROVOD_SIZE", "%u", place->size);
	say("HOROVOD_LOCAL_RANK", "%u", place->local);
	say("HOROVOD_LOCAL_SIZE", "%u", place->locals);
	say("HOROVOD_CROSS_RANK", "%u", before);
	say("HOROVOD_CROSS_SIZE", "%u", hosts);
}

static void say_env(const struct place *place)
{
	say_quartet(place);
	say("LOCAL_WORLD_SIZE", "%u", place->locals);
	say("NODE_RANK", "%u", place->node);
}

static void say_openmpi(const struct place *place)
{
	say("OMPI_COMM_WORLD_RANK", "%u", place->rank);
	say("OMPI_COMM_WORLD_SIZE", "%u", place->size);
	say("OMPI_COMM_WORLD_LOCAL_RANK", "%u", place->local);
	say("OMPI_COMM_WORLD_LOCAL_SIZE", "%u", place->locals);
	say("OMPI_MCA_orte_num_nodes", "%u", place->nodes);
	say("OMPI_MCA_orte_local_daemon_uri", "17.%u;tcp://10.0.0.%u:1", place->node, place->node);
}

static void say_jsm(const struct place *place)
{
	say("JSM_NAMESPACE_RANK", "%u", place->rank);
	say("JSM_NAMESPACE_SIZE", "%u", place->size);
	say("JSM_NAMESPACE_LOCAL_RANK", "%u", place->local);
	say("JSM_NAMESPACE_LOCAL_SIZE", "%u", place->locals);
}

static void say_flux(const struct place *place)
{
	say("FLUX_TASK_RANK", "%u", place->rank);
	say("FLUX_JOB_SIZE", "%u", place->size);
	say("FLUX_TASK_LOCAL_ID", "%u", place->local);
	say("FLUX_JOB_NNODES", "%u", place->nodes);
}

static void say_pals(const struct place *place)
{
	say("PALS_RANKID", "%u", place->rank);
	say("PMI_SIZE", "%u", place->size);
	say("PALS_LOCAL_RANKID", "%u", place->local);
	say("PALS_LOCAL_SIZE", "%u", place->locals);
	say("PALS_NODEID", "%u", place->node);
}

static void say_mvapich2(const struct place *place)
{
	say("MV2_COMM_WORLD_RANK", "%u", place->rank);
	say("MV2_COMM_WORLD_SIZE", "%u", place->size);
	say("MV2_COMM_WORLD_LOCAL_RANK", "%u", place->local);
	say("MV2_COMM_WORLD_LOCAL_SIZE", "%u", place->locals);
}

static void say_hydra(const struct place *place)
{
	say("PMI_RANK", "%u", place->rank);
	say("PMI_SIZE", "%u", place->size);
	say("MPI_LOCALRANKID", "%u", place->local);
	say("MPI_LOCALNRANKS", "%u", place->locals);
}

static void say_slurm(const struct place *place)
{
	const unsigned *slots = place->world->slots;

	say("SLURM_JOB_ID", "7");
	say("SLURM_STEP_ID", "0");
	say("SLURM_PROCID", "%u", place->rank);
	say("SLURM_STEP_NUM_TASKS", "%u", place->size);
	say("SLURM_LOCALID", "%u", place->local);
	say("SLURM_NODEID", "%u", place->node);
	say("SLURM_STEP_NUM_NODES", "%u", place->nodes);
	say("SLURM_STEP_NODELIST", "n[0-%u]", place->nodes - 1);
	say("SLURM_STEP_TASKS_PER_NODE", "%u", slots[0]);
	for (unsigned node = 1; node < place->nodes; node++) {
		char *list = bytes[string_count - 1];
		size_t length = strlen(list);

		snprintf(list + length, STRING - length, ",%u", slots[node]);
	}
}

enum {
	TELLS_LOCAL_SIZE = 1,
	TELLS_NODE = 2,
	TELLS_NODES = 4,
	BY_SLOT_ALONE = 8,	/* its worlds are no others */
};

static const struct teller {
	const char *name;
	void (*say)(const struct place *place);
	unsigned tells;
} tellers[] = {
	{ "torchrun", say_torchrun, TELLS_LOCAL_SIZE | TELLS_NODE | TELLS_NODES },
	{ "deepspeed", say_deepspeed, TELLS_LOCAL_SIZE | TELLS_NODE | TELLS_NODES },
	{ "horovod", say_horovod, TELLS_LOCAL_SIZE | BY_SLOT_ALONE },
	{ "openmpi", say_openmpi, TELLS_LOCAL_SIZE | TELLS_NODE | TELLS_NODES },
	{ "jsm", say_jsm, TELLS_LOCAL_SIZE },
	{ "flux", say_flux, TELLS_NODES },
	{ "pals", say_pals, TELLS_LOCAL_SIZE | TELLS_NODE },
	{ "mvapich2", say_mvapich2, TELLS_LOCAL_SIZE },
	{ "hydra", say_hydra, TELLS_LOCAL_SIZE },
	{ "slurm", say_slurm, TELLS_LOCAL_SIZE | TELLS_NODE | TELLS_NODES },
	{ "env", say_env, TELLS_LOCAL_SIZE | TELLS_NODE },
};

/* The number, or nothing, or a wrong one that is marked. */
static void assert_honest(enum ri_fact_id id, uint64_t expected, bool told)
{
	uint64_t got;

	if (told) {
		assert_number(id, expected);
	} else if (ri_topology_get(&topology, id, &got) && got != expected) {
		assert_true(find_finding(RI_CODE_NODE_RANK_ASSUMED) != NULL ||
			find_finding(RI_CODE_LOCAL_SIZE_ASSUMED) != NULL);
	}
}

static void assert_placed(const struct teller *teller, const struct place *place)
{
	/* Where all nodes have as many, in order, nothing is left to be told. */
	bool plain = place->world->even && place->world->by_slot;

	assert_string_equal(topology.identity, teller->name);
	assert_int_equal(topology.scope, RI_SCOPE_PROCESS);
	assert_number(RI_FACT_RANK, place->rank);
	assert_number(RI_FACT_WORLD_SIZE, place->size);
	assert_number(RI_FACT_LOCAL_RANK, place->local);
	assert_honest(RI_FACT_LOCAL_WORLD_SIZE, place->locals,
		plain || (teller->tells & TELLS_LOCAL_SIZE));
	assert_honest(RI_FACT_NODE_RANK, place->node, plain || (teller->tells & TELLS_NODE));
	assert_honest(RI_FACT_NNODES, place->nodes, (teller->tells & TELLS_NODES) ||
		place->nodes == 1 || (plain && !(teller->tells & TELLS_NODE)));
}

static void check_world(const struct world *world)
{
	struct place place = { .world = world, .size = world->size, .nodes = world->nodes };

	for (size_t i = 0; i < sizeof(tellers) / sizeof(tellers[0]); i++) {
		if ((tellers[i].tells & BY_SLOT_ALONE) && !world->by_slot)
			continue;
		for (unsigned rank = 0; rank < world->size; rank++) {
			place.rank = rank;
			place.node = world->node_of[rank];
			place.local = world->local_of[rank];
			place.locals = world->slots[place.node];
			string_count = 0;
			tellers[i].say(&place);
			take(strings);
			assert_placed(&tellers[i], &place);
			give_back(NULL);
		}
	}
}

static void check_both_ways(struct world *world)
{
	world->even = true;
	for (unsigned node = 1; node < world->nodes; node++)
		world->even &= world->slots[node] == world->slots[0];
	place(world, true);
	check_world(world);
	place(world, false);
	check_world(world);
}

static void test_even_worlds(void **state)
{
	struct world world;

	(void)state;
	for (unsigned slots = 1; slots <= SLOTS; slots++)
		for (world.nodes = 1; world.nodes <= NODES; world.nodes++) {
			for (unsigned node = 0; node < NODES; node++)
				world.slots[node] = slots;
			check_both_ways(&world);
		}
}

/* All of up to three nodes (some, below valgrind), and staircases of up to six. */
static void test_uneven_worlds(void **state)
{
	struct world world = { .nodes = 3 };

	(void)state;
	for (size_t i = 0; i < SLOTS * SLOTS * SLOTS; i += thinned(1, 13)) {
		world.slots[0] = 1 + (unsigned)i % SLOTS;
		world.slots[1] = 1 + (unsigned)i / SLOTS % SLOTS;
		world.slots[2] = 1 + (unsigned)i / SLOTS / SLOTS;
		world.nodes = 2 + i % 2;
		check_both_ways(&world);
	}
	for (world.nodes = 4; world.nodes <= NODES; world.nodes++) {
		for (unsigned node = 0; node < NODES; node++)
			world.slots[node] = 1 + node;
		check_both_ways(&world);
		for (unsigned node = 0; node < NODES; node++)
			world.slots[node] = SLOTS - node;
		check_both_ways(&world);
	}
}

static void say_runpod(const struct place *place)
{
	say("NODE_RANK", "%u", place->node);
	say("NUM_NODES", "%u", place->nodes);
	say("NUM_TRAINERS", "%u", place->locals);
	say("WORLD_SIZE", "%u", place->size);
	say("MASTER_ADDR", "%s", master);
}

static void say_dstack(const struct place *place)
{
	say("DSTACK_NODE_RANK", "%u", place->node);
	say("DSTACK_NODES_NUM", "%u", place->nodes);
	say("DSTACK_GPUS_PER_NODE", "%u", place->locals);
	say("DSTACK_MASTER_NODE_IP", "%s", master);
}

static void say_volcengine(const struct place *place)
{
	say("MLP_ROLE_INDEX", "%u", place->node);
	say("MLP_WORKER_NUM", "%u", place->nodes);
	say("MLP_WORKER_GPU", "%u", place->locals);
	say("MLP_WORKER_0_HOST", "%s", master);
	say("MLP_WORKER_0_PORT", "2222");
}

static void say_lepton(const struct place *place)
{
	say("LEPTON_JOB_WORKER_INDEX", "%u", place->node);
	say("LEPTON_JOB_TOTAL_WORKERS", "%u", place->nodes);
	say("LEPTON_RESOURCE_ACCELERATOR_NUM", "%u", place->locals);
	say("MASTER_ADDR", "%s", master);
}

static void say_beaker(const struct place *place)
{
	say("BEAKER_REPLICA_RANK", "%u", place->node);
	say("BEAKER_REPLICA_COUNT", "%u", place->nodes);
	say("BEAKER_LEADER_REPLICA_HOSTNAME", "%s", master);
}

/* Those that tell a node who it is, and most of them how many ranks it starts. */
static const struct {
	const char *name;
	void (*say)(const struct place *place);
	bool counts;
} node_tellers[] = {
	{ "env", say_runpod, true },
	{ "dstack", say_dstack, true },
	{ "volcengine", say_volcengine, true },
	{ "lepton", say_lepton, true },
	{ "beaker", say_beaker, false },
};

static void assert_node(const char *name, bool counts, const struct place *place)
{
	assert_string_equal(topology.identity, name);
	assert_int_equal(topology.scope, RI_SCOPE_NODE);
	assert_number(RI_FACT_NODE_RANK, place->node);
	assert_number(RI_FACT_NNODES, place->nodes);
	if (counts)
		assert_number(RI_FACT_NPROC, place->locals);
	assert_unknown(RI_FACT_RANK);
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].text, master);
	assert_int_equal(findings.count, 0);
}

static void test_nodes(void **state)
{
	struct place place;

	(void)state;
	for (size_t i = 0; i < sizeof(node_tellers) / sizeof(node_tellers[0]); i++)
		for (place.nodes = 1; place.nodes <= NODES; place.nodes++)
			for (place.node = 0; place.node < place.nodes; place.node++) {
				place.locals = SLOTS;
				place.size = place.nodes * SLOTS;
				string_count = 0;
				node_tellers[i].say(&place);
				take(strings);
				assert_node(node_tellers[i].name, node_tellers[i].counts, &place);
				give_back(NULL);
			}
}

/* A pod of a PyTorchJob without PET_ variables, whose first is told that it is the master. */
static void say_pod(const struct place *place)
{
	string_count = 0;
	say("RANK", "%u", place->node);
	say("WORLD_SIZE", "%u", place->nodes);
	say("MASTER_ADDR", "%s", place->node == 0 ? "localhost" : master);
	say("MASTER_PORT", "23456");
	say("KUBERNETES_SERVICE_HOST", "10.96.0.1");
}

static void read_pod(char *const *words)
{
	struct ri_context pod = context;
	struct ri_command command;

	ri_command_read(&command, words, RI_MODE_AUTO);
	pod.command = &command;
	assert_int_equal(ri_env_init(&env, strings, &arena, &err), 0);
	assert_int_equal(ri_topology_read(&topology, &pod, &err), 0);
}

static void assert_pod_alone(const struct place *place)
{
	read_pod(LIST("python3", "train.py"));
	assert_string_equal(topology.identity, "env");
	assert_int_equal(topology.scope, RI_SCOPE_PROCESS);
	assert_number(RI_FACT_RANK, place->node);
	assert_number(RI_FACT_WORLD_SIZE, place->nodes);
	assert_number(RI_FACT_LOCAL_RANK, 0);
	assert_number(RI_FACT_LOCAL_WORLD_SIZE, 1);
	assert_number(RI_FACT_NODE_RANK, place->node);
	assert_number(RI_FACT_NNODES, place->nodes);
	assert_int_equal(findings.count, 0);
	give_back(NULL);
}

static void assert_pod_of_launcher(const struct place *place)
{
	read_pod(LIST("torchrun", "train.py"));
	assert_string_equal(topology.identity, "env");
	assert_int_equal(topology.scope, RI_SCOPE_NODE);
	assert_number(RI_FACT_NODE_RANK, place->node);
	assert_number(RI_FACT_NNODES, place->nodes);
	assert_unknown(RI_FACT_RANK);
	assert_int_equal(findings.count, 0);
	give_back(NULL);
}

/* Each pod is one rank to a program, and a node to a launcher. */
static void test_pods(void **state)
{
	struct place place = { .rank = 0 };

	(void)state;
	for (place.nodes = 2; place.nodes <= NODES; place.nodes++)
		for (place.node = 0; place.node < place.nodes; place.node++) {
			say_pod(&place);
			assert_pod_alone(&place);
			assert_pod_of_launcher(&place);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_even_worlds, give_back),
		cmocka_unit_test_teardown(test_uneven_worlds, give_back),
		cmocka_unit_test_teardown(test_nodes, give_back),
		cmocka_unit_test_teardown(test_pods, give_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
