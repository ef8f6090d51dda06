/* SPDX-License-Identifier: Apache-2.0 */
/* Of which nodes it is known where their processes meet those of the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/host.h"
#include "link/part.h"
#include "model/context.h"
#include "topology_of.h"

/* Two pods of a PyTorchJob, of which this is the second. */
#define POD_OF(master, port) \
	"PET_NNODES=2", "PET_NODE_RANK=1", "WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=" master, \
		"MASTER_PORT=" port, "PYTHONUNBUFFERED=1"
#define POD POD_OF("worker-0", "23456")
#define PYTHON LIST("python3", "train.py")

/* The one rank of the second of two nodes, by Azure ML's guide. */
#define ONE_RANK \
	"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_RANK=0", \
		"OMPI_COMM_WORLD_LOCAL_SIZE=1", "MASTER_ADDR=worker-0", "MASTER_PORT=23456"

static struct ri_rendezvous place;
static struct ri_command command;
static struct ri_wishes wishes;
static enum ri_mode asked;

static bool find(char *const *strings, char *const *words, uint64_t fan_out, bool is_mpi)
{
	struct ri_context own = context;
	struct ri_link_part part;

	give_back(NULL);
	place = (struct ri_rendezvous){ .port = 0 };
	ri_command_read(&command, words, asked);
	assert_int_equal(ri_env_init(&env, strings, &arena, &err), 0);
	wishes.nproc_count = fan_out;
	own.command = &command;
	own.fan_out = fan_out;
	own.wishes = &wishes;
	if (ri_topology_read(&topology, &own, &err) < 0)
		fail_msg("[%s] %s: %s", ri_code_name(err.code), err.subject, err.text);
	assert_int_equal(ri_link_part_find(&part, &topology, &own, 0), 0);
	return ri_rendezvous_find(&place, &topology, &own, &part, is_mpi);
}

static int forget(void **state)
{
	wishes = (struct ri_wishes){ .nproc_count = 0 };
	asked = RI_MODE_AUTO;
	return give_back(state);
}

static void ranks_that_are_started_here(void **state)
{
	(void)state;
	assert_true(find(LIST(POD), LIST("./train"), 4, false));
	assert_int_equal(place.node, 1);
	assert_int_equal(place.nodes, 2);
	assert_int_equal(place.ranks, 4);
	assert_string_equal(place.host, "worker-0");
	assert_int_equal(place.port, 23456);
	assert_false(place.crowded);
}

static void a_program_of_python_s(void **state)
{
	(void)state;
	assert_true(find(LIST(POD), PYTHON, 0, false));
	assert_int_equal(place.ranks, 1);
	/* what a shell or another program does nobody knows */
	assert_false(find(LIST(POD), LIST("sh", "-c", "torchrun train.py"), 0, false));
	assert_false(find(LIST(POD), LIST("./train"), 0, false));
	/* unless it was said that it starts the ranks of its node */
	asked = RI_MODE_NODE;
	assert_true(find(LIST(POD), LIST("sh", "run.sh"), 0, false));
}

static void several_nodes_of_one_machine(void **state)
{
	(void)state;
	assert_true(find(LIST(POD, RI_OVERLAY_VARIABLE "={}"), PYTHON, 0, false));
	assert_true(place.crowded);
}

static void an_mpi_rank_may_have_no_store(void **state)
{
	(void)state;
	assert_true(find(LIST(ONE_RANK), PYTHON, 0, false));
	assert_false(find(LIST(ONE_RANK), PYTHON, 0, true));
	assert_true(find(LIST(ONE_RANK), PYTHON, 4, true));
	assert_true(find(LIST(ONE_RANK), LIST("torchrun", "train.py"), 0, true));
}

static void who_is_no_node_of_several(void **state)
{
	(void)state;
	assert_false(find(LIST("HOME=/root"), PYTHON, 0, false));
	assert_false(find(LIST("PET_NNODES=1", "PET_NODE_RANK=0", "WORLD_SIZE=1", "RANK=0",
		"MASTER_ADDR=worker-0", "MASTER_PORT=1"), PYTHON, 4, false));
	assert_false(find(LIST(POD), LIST("mpirun", "./train"), 0, false));
}

static void launchers(void **state)
{
	static const struct {
		const char *words[6];
		const char *variable;
		unsigned port;
	} runs[] = {
		{ { "torchrun", "t.py" }, "A=b", 23456 },
		{ { "python3", "-m", "torch.distributed.run", "t.py" }, "A=b", 23456 },
		{ { "torchrun", "--nnodes=2", "t.py" }, "A=b", 23456 },
		{ { "torchrun", "--nnodes=1:2", "t.py" }, "A=b", 0 },
		{ { "torchrun", "t.py" }, "PET_NNODES=1:2", 0 },
		{ { "torchrun", "--standalone", "t.py" }, "A=b", 0 },
		{ { "torchrun", "--rdzv-endpoint=worker-0:29400", "t.py" }, "A=b", 29400 },
		{ { "torchrun", "--rdzv-endpoint", "worker-0:29400", "t.py" }, "A=b", 29400 },
		{ { "torchrun", "--rdzv-endpoint=worker-3:29400", "t.py" }, "A=b", 0 },
		{ { "torchrun", "--rdzv-endpoint=worker-0", "t.py" }, "A=b", 0 },
		{ { "torchrun", "--rdzv-endpoint=worker-0:x", "t.py" }, "A=b", 0 },
		{ { "torchrun", "t.py" }, "PET_RDZV_ENDPOINT=worker-0:29400", 29400 },
		{ { "torchrun", "--rdzv-backend=c10d", "--rdzv-endpoint=worker-0:29400", "t.py" },
			"A=b", 29400 },
		{ { "torchrun", "--rdzv-backend=etcd-v2", "--rdzv-endpoint=worker-0:29400",
			"t.py" }, "A=b", 0 },
		{ { "torchrun", "--rdzv-backend=c10d", "t.py" }, "A=b", 0 },
		{ { "torchrun", "--rdzv-conf=is_host=1", "t.py" }, "A=b", 0 },
		{ { "torchrun", "--master-addr=worker-0", "--master-port=1234", "t.py" }, "A=b",
			1234 },
		{ { "torchrun", "--master_addr=$MASTER_ADDR", "--master_port=${MASTER_PORT}",
			"t.py" }, "A=b", 23456 },
		{ { "torchrun", "--master-addr=10.0.0.1", "t.py" }, "A=b", 0 },
		{ { "torchrun", "t.py" }, "PET_MASTER_ADDR=10.0.0.1", 23456 },
		{ { "torchrun", "t.py" }, "PET_MASTER_PORT=1234", 23456 },
		{ { "accelerate", "launch", "t.py" }, "A=b", 23456 },
		{ { "accelerate", "launch", "--main_process_ip=worker-0",
			"--main_process_port=1234", "t.py" }, "A=b", 1234 },
		{ { "composer", "-n", "2", "t.py" }, "A=b", 23456 },
		{ { "fabric", "run", "t.py" }, "A=b", 0 },
		{ { "fabric", "run", "--main-address=worker-0", "--main-port=29401", "t.py" },
			"A=b", 29401 },
		{ { "python3", "-m", "deepspeed.launcher.launch", "--master_addr=$MASTER_ADDR",
			"--master_port=$MASTER_PORT", "t.py" }, "A=b", 23456 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		const char *const *words = runs[i].words;
		bool found = find(LIST(runs[i].variable, POD), LIST(words[0], words[1], words[2],
			words[3], words[4], words[5]), 0, false);

		if (found != (runs[i].port != 0) || place.port != runs[i].port)
			fail_msg("%zu: %s %s %s: %u", i, words[0], words[1], runs[i].variable,
				place.port);
	}
}

/* PET_* follow what the user states, and stay where the platform alone has another one. */
static void variables_that_rankinit_changes(void **state)
{
	(void)state;
	assert_true(find(LIST("NNODES=2", "NODE_RANK=1", "MASTER_ADDR=worker-0",
		"MASTER_PORT=23456", "PET_MASTER_ADDR=10.0.0.1", "PET_MASTER_PORT=1234"),
		LIST("torchrun", "t.py"), 0, false));
	assert_string_equal(place.host, "worker-0");
	assert_int_equal(place.port, 23456);
	/* the command's own words stay */
	assert_true(find(LIST("NNODES=2", "NODE_RANK=1", "MASTER_ADDR=worker-0",
		"MASTER_PORT=23456", "PET_MASTER_PORT=1234"),
		LIST("torchrun", "--master-port=4321", "t.py"), 0, false));
	assert_int_equal(place.port, 4321);
	/* the control */
	assert_true(find(LIST("LWS_LEADER_ADDRESS=worker-0", "LWS_GROUP_SIZE=2",
		"LWS_WORKER_INDEX=1", "PET_MASTER_PORT=1234"), LIST("torchrun", "t.py"), 0, false));
	assert_int_equal(place.port, 1234);
}

static void other_frameworks_meet_elsewhere(void **state)
{
	static const char tasks[] = "TF_CONFIG={\"cluster\":{\"worker\":[\"a:1\",\"b:1\"]},"
		"\"task\":{\"type\":\"worker\",\"index\":1}}";

	(void)state;
	assert_false(find(LIST(POD, tasks), PYTHON, 0, false));
	assert_true(find(LIST(POD, tasks), LIST("torchrun", "train.py"), 0, false));
	wishes.frameworks = "tensorflow,nccl";
	assert_false(find(LIST(POD), PYTHON, 0, false));
	wishes.frameworks = "none";
	assert_false(find(LIST(POD), PYTHON, 4, false));
	wishes.frameworks = "jax";
	assert_true(find(LIST(POD), PYTHON, 0, false));
	wishes.frameworks = NULL;
	wishes.tf_ps.value = "1";
	assert_false(find(LIST(POD), PYTHON, 4, false));
}

static void jax_may_be_told_another_place(void **state)
{
	static const struct { const char *variable; bool found; } runs[] = {
		{ "JAX_COORDINATOR_ADDRESS=worker-0:23456", true },
		{ "JAX_COORDINATOR_ADDRESS=worker-0:1234", false },
		{ "JAX_COORDINATOR_ADDRESS=worker-3:23456", false },
		{ "JAX_COORDINATOR_ADDRESS=", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
		if (find(LIST(POD, runs[i].variable), PYTHON, 4, false) != runs[i].found)
			fail_msg("%s", runs[i].variable);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(ranks_that_are_started_here, forget),
		cmocka_unit_test_teardown(a_program_of_python_s, forget),
		cmocka_unit_test_teardown(variables_that_rankinit_changes, forget),
		cmocka_unit_test_teardown(several_nodes_of_one_machine, forget),
		cmocka_unit_test_teardown(an_mpi_rank_may_have_no_store, forget),
		cmocka_unit_test_teardown(who_is_no_node_of_several, forget),
		cmocka_unit_test_teardown(launchers, forget),
		cmocka_unit_test_teardown(other_frameworks_meet_elsewhere, forget),
		cmocka_unit_test_teardown(jax_may_be_told_another_place, forget),
	};

	return cmocka_run_group_tests_name("rendezvous", tests, NULL, NULL);
}
