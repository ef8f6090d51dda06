/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part in the link of its job, whose ranks may be stopped, and where the nodes meet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "link/part.h"
#include "model/context.h"
#include "topology_of.h"

/* Two pods of a PyTorchJob, of which this is the second. */
#define POD \
	"PET_NNODES=2", "PET_NODE_RANK=1", "PET_MASTER_ADDR=worker-0", "PET_MASTER_PORT=23456", \
		"WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=worker-0", "MASTER_PORT=23456", \
		"PYTHONUNBUFFERED=1"

/* The only task of the second node of a Slurm step. */
#define TASK \
	"SLURM_JOB_ID=4242", "SLURM_JOBID=4242", "SLURM_STEP_ID=0", "SLURM_STEPID=0", \
		"SLURM_PROCID=1", "SLURM_NTASKS=2", "SLURM_NPROCS=2", "SLURM_LOCALID=0", \
		"SLURM_NODEID=1", "SLURM_NNODES=2", "SLURM_JOB_NUM_NODES=2", \
		"SLURM_STEP_NUM_NODES=2", "SLURM_STEP_NUM_TASKS=2", \
		"SLURM_STEP_TASKS_PER_NODE=1(x2)", "SLURM_TASKS_PER_NODE=1(x2)", \
		"SLURM_JOB_NODELIST=n[0-1]", "SLURM_NODELIST=n[0-1]", \
		"SLURM_STEP_NODELIST=n[0-1]", "SLURMD_NODENAME=n1"

static struct ri_link_part part;
static struct ri_command command;

static void find(char *const *strings, char *const *words, uint64_t fan_out, uint16_t port)
{
	const struct ri_wishes wishes = { .nproc_count = fan_out };
	struct ri_context own = context;

	ri_arena_release(&arena);
	topology = (struct ri_topology){ .identity = NULL };
	findings.count = 0;
	ri_command_read(&command, words, RI_MODE_AUTO);
	assert_int_equal(ri_env_init(&env, strings, &arena, &err), 0);
	own.command = &command;
	own.fan_out = fan_out;
	own.wishes = &wishes;
	if (ri_topology_read(&topology, &own, &err) < 0)
		fail_msg("[%s] %s: %s", ri_code_name(err.code), err.subject, err.text);
	assert_int_equal(ri_link_part_find(&part, &topology, &own, port), 0);
}

static void assert_part(bool may_stop)
{
	if (part.why_not != NULL)
		fail_msg("%s", part.why_not);
	assert_int_equal(part.may_stop, may_stop);
}

static void test_a_node_that_starts_its_ranks(void **state)
{
	(void)state;
	find(LIST(POD), LIST("python3", "train.py"), 4, 0);
	assert_part(true);
	assert_int_equal(part.node, 1);
	assert_int_equal(part.nodes, 2);
	assert_string_equal(part.centre, "worker-0");
}

/* What the platform started once may be anything, a parameter server too. */
static void test_a_pod_with_a_script(void **state)
{
	(void)state;
	find(LIST(POD), LIST("python3", "train.py"), 0, 0);
	assert_part(false);
	find(LIST(POD), LIST("sh", "run.sh"), 0, 0);
	assert_part(false);
}

static void test_torchrun(void **state)
{
	static const struct { const char *words[4]; const char *variable; bool fixed; } runs[] = {
		{ { "train.py" }, "A=b", true },
		{ { "--nnodes=2", "train.py" }, "A=b", true },
		{ { "--nnodes", "2", "train.py" }, "A=b", true },
		{ { "--nnodes=2:2", "train.py" }, "A=b", true },
		{ { "--nnodes=1:2", "train.py" }, "A=b", false },
		{ { "--nnodes=1:22", "train.py" }, "A=b", false },
		{ { "--max-restarts=0", "train.py" }, "A=b", true },
		{ { "--max_restarts=3", "train.py" }, "A=b", false },
		{ { "train.py" }, "PET_MAX_RESTARTS=0", true },
		{ { "train.py" }, "PET_MAX_RESTARTS=3", false },
		{ { "--max-restart=3", "train.py" }, "A=b", false },
		{ { "--nn", "1:4", "train.py" }, "A=b", false },
		{ { "--nn", "2", "train.py" }, "A=b", true },
		/* its script's own words say nothing */
		{ { "train.py", "--max-restarts=3" }, "A=b", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		const char *const *words = runs[i].words;

		find(LIST(POD, runs[i].variable),
			LIST("torchrun", words[0], words[1], words[2]), 0, 0);
		assert_part(runs[i].fixed);
	}
	find(LIST(POD, "PET_NNODES=1:2"), LIST("torchrun", "train.py"), 0, 0);
	assert_part(true);	/* the first of two values is the one that counts */
	find(LIST(POD), LIST("accelerate", "launch", "train.py"), 0, 0);
	assert_part(false);
}

static void test_the_only_task_of_a_node(void **state)
{
	(void)state;
	find(LIST(TASK), LIST("python3", "train.py"), 0, 0);
	assert_part(true);
	find(LIST(TASK), LIST("bash", "run.sh"), 0, 0);
	assert_part(false);
}

static void test_who_takes_no_part(void **state)
{
	(void)state;
	find(LIST("OMPI_COMM_WORLD_RANK=13", "OMPI_COMM_WORLD_SIZE=16",
		"OMPI_COMM_WORLD_LOCAL_RANK=5", "OMPI_COMM_WORLD_LOCAL_SIZE=8",
		"MASTER_ADDR=node-0"), LIST("python3", "train.py"), 0, 0);
	assert_string_equal(part.why_not, "each rank of this node has a rankinit of its own");
	find(LIST("PET_NNODES=1", "PET_NODE_RANK=0", "WORLD_SIZE=1", "RANK=0",
		"MASTER_ADDR=worker-0"), LIST("python3", "train.py"), 4, 0);
	assert_string_equal(part.why_not, "the job has one node, as far as is known");
	find(LIST("HOME=/root"), LIST("python3", "train.py"), 0, 0);
	assert_string_equal(part.why_not, "this process is not recognised as part of a job");
	find(LIST(POD), LIST("mpirun", "python3", "train.py"), 0, 0);
	assert_string_equal(part.why_not, "the command starts the ranks of the whole job");
}

/* Never where rank 0 or a launcher of the job wants to listen. */
static void test_ports(void **state)
{
	(void)state;
	find(LIST(POD), LIST("python3", "train.py"), 4, 0);
	for (size_t i = 0; i < RI_LINK_PORTS; i++)
		assert_int_equal(part.ports[i], RI_LINK_PORT + i);
	find(LIST("PET_NNODES=2", "PET_NODE_RANK=1", "WORLD_SIZE=2", "RANK=1",
		"MASTER_ADDR=worker-0", "MASTER_PORT=9472"),
		LIST("torchrun", "--rdzv-endpoint=worker-0:9471", "train.py"), 0, 0);
	assert_int_equal(part.ports[0], 9473);
	assert_int_equal(part.ports[RI_LINK_PORTS - 3], 9478);
	assert_int_equal(part.ports[RI_LINK_PORTS - 2], 0);
	find(LIST(POD, "PET_RDZV_ENDPOINT=[::1]:9473"), LIST("torchrun", "train.py"), 0, 0);
	assert_int_equal(part.ports[2], 9474);
	/* at which a launcher is told to meet */
	find(LIST(POD), LIST("torchrun", "--master-port=9471", "train.py"), 0, 0);
	assert_int_equal(part.ports[0], 9472);
	find(LIST(POD), LIST("torchrun", "--master-port=9471", "train.py"), 0, 9471);
	assert_int_equal(part.ports[0], 0);
	find(LIST(POD), LIST("python3", "train.py"), 4, 7777);
	assert_int_equal(part.ports[0], 7777);
	assert_int_equal(part.ports[1], 0);
}

/* Jobs of one secret on one host: something in the name differs, or there are no orders. */
static void test_names_of_jobs(void **state)
{
	(void)state;
	find(LIST(TASK), LIST("python3", "train.py"), 0, 0);
	assert_string_equal(part.job, "nodes 2, port 14242, attempt 0, id 4242.0");
	assert_true(part.unique);
	find(LIST(TASK, "SLURM_RESTART_COUNT=2"), LIST("python3", "train.py"), 0, 0);
	assert_string_equal(part.job, "nodes 2, port 14242, attempt 2, id 4242.0");
	find(LIST(POD), LIST("python3", "train.py"), 4, 0);
	assert_string_equal(part.job, "nodes 2, port 23456, attempt 0, id ");
	assert_true(part.unique);
}

/* A node of whom nobody says a port. */
#define BARE "PET_NNODES=2", "PET_NODE_RANK=1", "MASTER_ADDR=worker-0"

/* What is told, the name that it makes, and whether that is the job's own. */
static void assert_name(char *const *env_, char *const *words, const char *name, bool apart)
{
	find(env_, words, 0, 0);
	assert_null(part.why_not);
	assert_string_equal(part.job, name);
	assert_int_equal(part.unique, apart);
}

static void test_what_the_command_says_of_its_meeting(void **state)
{
	static const char plain[] = "nodes 2, port 29500, attempt 0, id ";
	static const char at_7000[] = "nodes 2, port 29500, attempt 0, id , endpoint :7000";
	static const char *const same[] = {
		"--rdzv-endpoint=worker-0:7000", "--rdzv_endpoint=localhost:7000",
		"--rdzv-endpoint=$MASTER_ADDR:7000", "--rdzv-endp=127.0.0.1:7000",
	};

	(void)state;
	assert_name(LIST(BARE), LIST("torchrun", "t.py"), plain, false);
	/* node 0 may be localhost to itself; all of these are one job */
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_name(LIST(BARE), LIST("torchrun", same[i], "t.py"), at_7000, true);
	assert_name(LIST(BARE, "PET_RDZV_ENDPOINT=worker-0:7000"), LIST("torchrun", "t.py"),
		at_7000, true);
	/* the store is on another node: jobs may have the same port there and here */
	assert_name(LIST(BARE), LIST("torchrun", "--rdzv-endpoint=worker-1:7000", "t.py"),
		"nodes 2, port 29500, attempt 0, id , endpoint worker-1:7000", true);
	/* one that many jobs share */
	assert_name(LIST(BARE), LIST("torchrun", "--rdzv-backend=etcd-v2",
		"--rdzv-endpoint=etcd:2379", "t.py"),
		"nodes 2, port 29500, attempt 0, id , endpoint etcd:2379", false);
	assert_name(LIST(BARE), LIST("torchrun", "--rdzv-backend=etcd-v2", "--rdzv-id=a",
		"--rdzv-endpoint=etcd:2379", "t.py"),
		"nodes 2, port 29500, attempt 0, id , rdzv a, endpoint etcd:2379", true);
	/* defaults, said or not */
	assert_name(LIST(BARE), LIST("torchrun", "--rdzv-id=none", "t.py"), plain, false);
	assert_name(LIST(BARE), LIST("torchrun", "--rdzv-endpoint=", "t.py"), plain, false);
	assert_name(LIST(BARE), LIST("torchrun", "--rdzv-endpoint=worker-0", "t.py"),
		"nodes 2, port 29500, attempt 0, id , endpoint :29400", false);
	assert_name(LIST(BARE), LIST("torchrun",
		"--rdzv-endpoint=$MASTER_ADDR:$MASTER_PORT", "t.py"),
		"nodes 2, port 29500, attempt 0, id , endpoint :29500", false);
	/* a port of its own */
	assert_name(LIST(BARE), LIST("torchrun", "--master-port=7001", "t.py"),
		"nodes 2, port 7001, attempt 0, id ", true);
	assert_name(LIST(BARE, "MASTER_PORT=7001"), LIST("torchrun", "t.py"),
		"nodes 2, port 7001, attempt 0, id ", true);
	assert_name(LIST(BARE), LIST("accelerate", "launch", "--main_process_port", "7001",
		"t.py"), "nodes 2, port 7001, attempt 0, id ", true);
	/* nobody knows what the words of a script are about */
	assert_name(LIST(BARE), LIST("torchrun", "t.py", "--rdzv-id=a"), plain, false);
	assert_name(LIST(BARE), LIST("python3", "t.py", "--master-port=7001"), plain, false);
}

/* A platform's name for node 0 is one job's; an address may be that of a host with several. */
static void test_what_the_platform_says_of_node_0(void **state)
{
	(void)state;
	assert_name(LIST("LWS_LEADER_ADDRESS=lws-0.lws.default", "LWS_GROUP_SIZE=2",
		"LWS_WORKER_INDEX=1"), LIST("torchrun", "t.py"),
		"nodes 2, port 29500, attempt 0, id , host lws-0.lws.default", true);
	assert_name(LIST("TF_CONFIG={\"cluster\":{\"worker\":[\"gpu-0:6000\",\"gpu-1:6000\"]},"
		"\"task\":{\"type\":\"worker\",\"index\":1}}"), LIST("torchrun", "t.py"),
		"nodes 2, port 29500, attempt 0, id ", false);
	assert_name(LIST("LWS_LEADER_ADDRESS=10.0.0.1", "LWS_GROUP_SIZE=2",
		"LWS_WORKER_INDEX=1"), LIST("torchrun", "t.py"),
		"nodes 2, port 29500, attempt 0, id ", false);
}

/* Jobs that --simulate plays are each other's neighbours. */
static void test_a_simulated_job(void **state)
{
	struct ri_context own = context;
	struct ri_host host = { .root = -1, .job = "1 of process 2" };

	(void)state;
	find(LIST(BARE), LIST("torchrun", "t.py"), 0, 0);
	own.command = &command;
	own.host = &host;
	assert_int_equal(ri_link_part_find(&part, &topology, &own, 0), 0);
	assert_string_equal(part.job,
		"nodes 2, port 29500, attempt 0, id , simulated 1 of process 2");
	assert_true(part.unique);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_a_node_that_starts_its_ranks, give_back),
		cmocka_unit_test_teardown(test_a_pod_with_a_script, give_back),
		cmocka_unit_test_teardown(test_torchrun, give_back),
		cmocka_unit_test_teardown(test_the_only_task_of_a_node, give_back),
		cmocka_unit_test_teardown(test_who_takes_no_part, give_back),
		cmocka_unit_test_teardown(test_ports, give_back),
		cmocka_unit_test_teardown(test_names_of_jobs, give_back),
		cmocka_unit_test_teardown(test_what_the_command_says_of_its_meeting, give_back),
		cmocka_unit_test_teardown(test_what_the_platform_says_of_node_0, give_back),
		cmocka_unit_test_teardown(test_a_simulated_job, give_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
