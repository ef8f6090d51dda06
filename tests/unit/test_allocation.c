/* SPDX-License-Identifier: Apache-2.0 */
/* What schedulers say beside the ranks: hosts, processes asked for, the job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "out_of_memory.h"
#include "topology_of.h"
#include "watched.h"
#include "tree.h"

#define JOB "PBS_JOBID=1670.mgt1", "PBS_NODEFILE=/nodes"
#define STEP \
	"SLURM_JOB_ID=42", "SLURM_STEP_ID=0", "SLURM_PROCID=1", "SLURM_LOCALID=0", \
		"SLURM_NODEID=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_NUM_NODES=2", \
		"SLURM_STEP_NODELIST=n[09-10]"

static struct tree root;
static struct ri_host host;

static int make_machine(void **state)
{
	(void)state;
	tree_make(&root);
	host = (struct ri_host){ .root = root.fd };
	return 0;
}

static int remove_machine(void **state)
{
	(void)state;
	tree_remove(&root);
	return 0;
}

static int read_with(struct ri_host *machine, char *const *strings)
{
	struct ri_context with = context;

	with.host = machine;
	if (ri_env_init(&env, strings, &arena, &err) < 0)
		return -1;
	return ri_topology_read(&topology, &with, &err);
}

static void assert_hosts(const char *variable, const char *first, const char *second)
{
	const struct ri_fact *hosts = &topology.facts[RI_FACT_HOSTS];

	assert_int_equal(hosts->state, RI_STATE_KNOWN);
	assert_int_equal(hosts->number, 2);
	assert_string_equal(hosts->list[0], first);
	assert_string_equal(hosts->list[1], second);
	assert_string_equal(hosts->origin.variable, variable);
}

static void assert_job(const char *name)
{
	assert_int_equal(topology.facts[RI_FACT_JOB_ID].state, RI_STATE_KNOWN);
	assert_string_equal(topology.facts[RI_FACT_JOB_ID].text, name);
}

static void test_pbs_processes_of_each_node(void **state)
{
	(void)state;
	tree_file(&root, "nodes", "b\nb\na\na\n");
	assert_int_equal(read_with(&host, LIST(JOB)), 0);
	assert_null(topology.identity);
	assert_hosts("PBS_NODEFILE", "b", "a");
	assert_number(RI_FACT_NNODES, 2);
	assert_number(RI_FACT_NPROC, 2);
	assert_job("1670.mgt1");
	assert_found(RI_CODE_SOURCE_ALLOCATION, "PBS_JOBID");
}

static void test_pbs_processes_that_differ(void **state)
{
	(void)state;
	tree_file(&root, "nodes", "b\nb\na\n");
	assert_int_equal(read_with(&host, LIST(JOB)), 0);
	assert_hosts("PBS_NODEFILE", "b", "a");
	assert_unknown(RI_FACT_NPROC);
}

static void test_lsf_leaves_the_script_host_out(void **state)
{
	(void)state;
	tree_file(&root, "nodes", "batch\nc2\nc1\n");
	assert_int_equal(read_with(&host, LIST("LSB_JOBID=7", "LSB_DJOB_RANKFILE=/nodes")), 0);
	assert_hosts("LSB_DJOB_RANKFILE", "c2", "c1");
	assert_number(RI_FACT_NNODES, 2);
	assert_unknown(RI_FACT_NPROC);
	assert_job("7");
}

static void test_slurm_step(void **state)
{
	(void)state;
	take(LIST(STEP, "SLURM_RESTART_COUNT=3", "SLURM_JOB_NODELIST=n[01-20]"));
	assert_string_equal(topology.identity, "slurm");
	assert_true(ri_source_of("slurm")->manages);
	assert_hosts("SLURM_STEP_NODELIST", "n09", "n10");
	assert_number(RI_FACT_RESTART_COUNT, 3);
	assert_job("42.0");
	assert_number(RI_FACT_MASTER_PORT, 10042);
	assert_string_equal(topology.facts[RI_FACT_MASTER_PORT].origin.variable, "SLURM_JOB_ID");
}

#define RANK_2_OF_4(node) \
	"SLURM_JOB_ID=42", "SLURM_STEP_ID=0", "SLURM_PROCID=2", "SLURM_LOCALID=0", \
		"SLURM_NODEID=" node, "SLURM_STEP_NUM_TASKS=4", "SLURM_STEP_NUM_NODES=2", \
		"SLURM_STEP_NODELIST=n[09-10]"

static void assert_note(enum ri_code code, const char *text)
{
	assert_non_null(find_finding(code));
	assert_string_equal(find_finding(code)->text, text);
}

/* What is said and cannot be used is not "not said". */
static void test_slurm_step_that_contradicts_itself(void **state)
{
	(void)state;
	take(LIST(RANK_2_OF_4("2"), "SLURM_STEP_TASKS_PER_NODE=2(x2)"));
	assert_note(RI_CODE_LOCAL_SIZE_ASSUMED, "SLURM_STEP_TASKS_PER_NODE has no tasks on the "
		"node of SLURM_NODEID: 2 is right if every node has as many");
	assert_note(RI_CODE_NODE_RANK_ASSUMED, "SLURM_NODEID is not used: 1 is right if every "
		"node has 2 ranks, in order");
	give_back(NULL);
	take(LIST(RANK_2_OF_4("1"), "SLURM_STEP_TASKS_PER_NODE=3(x2)"));
	assert_note(RI_CODE_ENV_IGNORED, "the value is \"3(x2)\", expected 4 tasks "
		"(SLURM_STEP_NUM_TASKS) on 2 nodes (SLURM_STEP_NUM_NODES); it is not used");
	assert_note(RI_CODE_LOCAL_SIZE_ASSUMED, "SLURM_STEP_TASKS_PER_NODE contradicts the "
		"step's tasks and nodes: 2 is right if every node has as many");
	give_back(NULL);
	/* nothing is said */
	take(LIST(RANK_2_OF_4("1")));
	assert_note(RI_CODE_LOCAL_SIZE_ASSUMED, "slurm does not give the number of ranks on this "
		"node: 2 is right if every node has as many");
}

static void test_slurm_batch_script(void **state)
{
	(void)state;
	take(LIST("SLURM_JOB_ID=42", "SLURM_JOB_NUM_NODES=2", "SLURM_JOB_NODELIST=n[1-2]"));
	assert_null(topology.identity);
	assert_hosts("SLURM_JOB_NODELIST", "n1", "n2");
	assert_number(RI_FACT_NNODES, 2);
	assert_unknown(RI_FACT_MASTER_ADDR);
	assert_job("42");
}

static void test_job_of_flux(void **state)
{
	(void)state;
	take(LIST("FLUX_TASK_RANK=0", "FLUX_JOB_SIZE=1", "FLUX_TASK_LOCAL_ID=0",
		"FLUX_JOB_ID=\xc6\x92" "2Vh"));
	assert_job("\xc6\x92" "2Vh");
}

static void test_files_are_opened_by_their_readers_alone(void **state)
{
	(void)state;
	assert_true(watch(NULL, LIST(JOB)).file);
	assert_false(watch(NULL, LIST("LSB_JOBID=7", "LSB_HOSTS=a")).file);
	assert_false(watch(NULL, LIST(STEP)).file);
}

static int read_exhausted(char *const *strings)
{
	if (ri_env_init(&env, strings, &arena, &err) < 0 || !memory_exhaust(&arena))
		return 1;
	return read_with(&host, strings) < 0 && err.code == RI_CODE_MEMORY ? 0 : 2;
}

static int read_file_exhausted(void)
{
	return read_exhausted(LIST(JOB));
}

static int read_list_exhausted(void)
{
	return read_exhausted(LIST("SLURM_JOB_ID=42", "SLURM_JOB_NODELIST=n[0-999999]"));
}

static void test_out_of_memory(void **state)
{
	(void)state;
	tree_file(&root, "nodes", "b\n");
	assert_int_equal(memory_limited(read_file_exhausted), 0);
	assert_int_equal(memory_limited(read_list_exhausted), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, give_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_pbs_processes_of_each_node),
		TEST(test_pbs_processes_that_differ),
		TEST(test_lsf_leaves_the_script_host_out),
		TEST(test_slurm_step),
		TEST(test_slurm_step_that_contradicts_itself),
		TEST(test_slurm_batch_script),
		TEST(test_job_of_flux),
		TEST(test_files_are_opened_by_their_readers_alone),
		TEST(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, make_machine, remove_machine);
}
