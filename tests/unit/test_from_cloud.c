/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of clouds: what the golden cases cannot show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/limits.h"
#include "model/context.h"
#include "out_of_memory.h"
#include "topology_of.h"
#include "tree.h"
#include "watched.h"

#define BATCH "AZ_BATCH_HOST_LIST=10.0.0.4,10.0.0.5"
#define ARN "TRAINING_JOB_ARN=arn:aws:sagemaker:us-west-2:123456789012:training-job/resnet"
#define CONFIG "opt/ml/input/config/resourceconfig.json"
#define CONFIG_2_OF_2 "{\"current_host\":\"algo-2\",\"hosts\":[\"algo-1\",\"algo-2\"]}"

static struct tree root;
static struct ri_host host;

static int make_machine(void **state)
{
	(void)state;
	tree_make(&root);
	tree_folder(&root, "proc");
	tree_folder(&root, "proc/net");
	tree_folder(&root, "opt");
	tree_folder(&root, "opt/ml");
	tree_folder(&root, "opt/ml/input");
	tree_folder(&root, "opt/ml/input/config");
	host = (struct ri_host){ .root = root.fd };
	return 0;
}

static int end(void **state)
{
	tree_remove(&root);
	return give_back(state);
}

static int read_there(enum ri_host_proc proc, char *const *strings)
{
	struct ri_context with = context;

	with.host = &host;
	host.proc = proc;
	if (ri_env_init(&env, strings, &arena, &err) < 0)
		return -1;
	return ri_topology_read(&topology, &with, &err);
}

static struct watched watch_for(const char *source, char *const *strings)
{
	const struct ri_wishes wishes = { .source = { "--source", source } };

	return watch(source == NULL ? NULL : &wishes, strings);
}

static void test_the_place_is_looked_for_where_there_is_no_rank(void **state)
{
	(void)state;
	assert_true(watch_for(NULL, LIST(BATCH)).name);
	assert_true(watched.proc);
	assert_false(watch_for(NULL, LIST("AZ_BATCHAI_TASK_INDEX=0")).name);
	assert_false(watch_for(NULL, LIST(BATCH, RANK_13)).name);
	/* the default of an image is no rank, and neither is Azure ML's name */
	assert_true(watch_for(NULL, LIST(BATCH, "RANK=0", "WORLD_SIZE=1", "LOCAL_RANK=0")).name);
	assert_true(watch_for(NULL, LIST(BATCH, "AZUREML_RUN_ID=x")).name);
	/* the rank must not count */
	assert_true(watch_for("azure_batch", LIST(BATCH, RANK_13)).name);
	assert_false(watch_for("openmpi", LIST(BATCH, RANK_13)).name);
}

static void test_the_place_is_looked_for_in_hosts_by_hand(void **state)
{
	const struct ri_wishes hosts = { .facts[RI_FACT_HOSTS] = { "--hosts", "a,b" } };
	const struct ri_wishes file = {
		.hostfile = { "--hostfile", "/hosts" }, .hostfile_text = "a\nb\n",
	};
	const struct ri_wishes nodes = { .facts[RI_FACT_NNODES] = { "--nnodes", "2" } };

	(void)state;
	assert_true(watch(&hosts, LIST(RANK_13)).name);
	assert_true(watch(&file, LIST(RANK_13)).name);
	assert_false(watch(&nodes, LIST(RANK_13)).name);
}

static void test_a_hidden_source_is_there_if_asked_for(void **state)
{
	(void)state;
	assert_false(watch_for(NULL, LIST("A=b")).file);
	assert_true(watch_for("sagemaker", LIST("A=b")).file);
	assert_false(watch_for("aws_batch", LIST("A=b")).file);
	assert_true(watch_for(NULL, LIST(ARN)).file);
	/* other systems have jobs and names too */
	assert_false(watch_for(NULL, LIST("TRAINING_JOB_ARN=x:sagemaker:")).file);
	assert_false(watch_for(NULL, LIST("TRAINING_JOB_ARN=arn:aws:batch:x")).file);
	assert_false(watch_for(NULL, LIST("SM_HOSTS=[]", "SM_CURRENT_HOST= ")).file);
}

/* Somebody else's addresses would make it somebody else's node. */
static void test_a_foreign_proc_is_not_read(void **state)
{
	(void)state;
	tree_file(&root, "proc/net/fib_trie", "|-- 10.0.0.5\n/32 host LOCAL\n");
	assert_int_equal(read_there(RI_PROC_FOREIGN, LIST(BATCH)), 0);
	assert_null(topology.identity);
	give_back(NULL);
	assert_int_equal(read_there(RI_PROC_OURS, LIST(BATCH)), 0);
	assert_string_equal(topology.identity, "azure_batch");
	assert_number(RI_FACT_NODE_RANK, 1);
	assert_string_equal(topology.facts[RI_FACT_NODE_RANK].origin.variable,
		"AZ_BATCH_HOST_LIST");
}

static void test_a_rank_does_not_look_for_its_node(void **state)
{
	(void)state;
	watch(NULL, LIST(RANK_13, BATCH, "AZ_BATCH_MASTER_NODE=10.0.0.4:1",
		"AZ_BATCHAI_MPI_HOST_FILE=/hosts", "AWS_BATCH_JOB_NUM_NODES=2",
		"AWS_BATCH_JOB_NODE_INDEX=0"));
	assert_string_equal(topology.identity, "openmpi");
	assert_false(watched.file || watched.name || watched.proc);
}

static void test_sagemaker_says_where_it_was_read(void **state)
{
	const struct ri_fact *fact = &topology.facts[RI_FACT_NODE_RANK];

	(void)state;
	tree_file(&root, CONFIG, CONFIG_2_OF_2);
	assert_int_equal(read_there(RI_PROC_OURS, LIST(ARN)), 0);
	assert_number(RI_FACT_NODE_RANK, 1);
	assert_string_equal(fact->origin.variable, "/" CONFIG);
	assert_string_equal(fact->origin.raw, "algo-2");
	fact = &topology.facts[RI_FACT_HOSTS];
	assert_string_equal(fact->origin.variable, "/" CONFIG);
	assert_string_equal(fact->origin.raw, "[\"algo-1\",\"algo-2\"]");
	fact = &topology.facts[RI_FACT_MASTER_ADDR];
	assert_string_equal(fact->origin.source, "sagemaker");
	assert_int_equal(fact->strength, RI_STRENGTH_SAID);
}

static void test_sagemaker_file_that_cannot_be_read(void **state)
{
	static char large[RI_MAX_FILE + 1];

	(void)state;
	memset(large, ' ', sizeof(large));
	tree_bytes(&root, CONFIG, large, sizeof(large));
	assert_int_equal(read_there(RI_PROC_OURS, LIST(ARN)), 0);
	assert_null(topology.identity);
	assert_found(RI_CODE_SOURCE_INCOMPLETE, "/" CONFIG);
	give_back(NULL);
	/* nobody may read files */
	take(LIST(ARN));
	assert_null(topology.identity);
	assert_int_equal(findings.count, 0);
}

static void assert_unread(const char *hint, char *const *strings)
{
	const struct ri_error *finding;

	give_back(NULL);
	assert_int_equal(read_there(RI_PROC_OURS, strings), 0);
	finding = find_finding(RI_CODE_SOURCE_INCOMPLETE);
	assert_non_null(finding);
	assert_string_equal(finding->hint, hint);
}

static void test_half_of_the_toolkit_is_named(void **state)
{
	(void)state;
	assert_unread("SM_HOSTS is set, but it is not used without SM_CURRENT_HOST",
		LIST(ARN, "SM_HOSTS=[\"algo-1\"]", "SM_CURRENT_HOST= "));
	assert_unread("SM_CURRENT_HOST is set, but it is not used without SM_HOSTS",
		LIST(ARN, "SM_CURRENT_HOST=algo-1"));
	assert_unread("", LIST(ARN));
}

static void test_sagemaker_error_names_the_line(void **state)
{
	(void)state;
	tree_file(&root, CONFIG, "{\n\n\"a\033\": }");
	assert_int_equal(read_there(RI_PROC_OURS, LIST(ARN)), -1);
	assert_int_equal(err.code, RI_CODE_FILE_SYNTAX);
	assert_string_equal(err.subject, "/" CONFIG);
	assert_non_null(strstr(err.text, "line 3 "));
	assert_null(strchr(err.text, '\033'));
}

/* One a line, as the golden cases cannot write it. */
static void test_skypilot_hosts(void **state)
{
	(void)state;
	take(LIST("SKYPILOT_NODE_RANK=1", "SKYPILOT_NUM_NODES=2", "SKYPILOT_NUM_GPUS_PER_NODE=8",
		"SKYPILOT_NODE_IPS=10.0.0.4\n10.0.0.5\n", "SKYPILOT_TASK_ID=sky-1"));
	assert_string_equal(topology.identity, "skypilot");
	assert_int_equal(topology.scope, RI_SCOPE_NODE);
	assert_number(RI_FACT_NODE_RANK, 1);
	assert_number(RI_FACT_HOSTS, 2);
	assert_number(RI_FACT_NPROC, 8);
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].text, "10.0.0.4");
	assert_string_equal(topology.facts[RI_FACT_JOB_ID].text, "sky-1");
	assert_int_equal(findings.count, 0);
	give_back(NULL);
	take(LIST("SKYPILOT_NODE_RANK=1", "SKYPILOT_NUM_NODES=2",
		"SKYPILOT_NODE_IPS=10.0.0.4\n\n10.0.0.5"));
	assert_found(RI_CODE_ENV_IGNORED, "SKYPILOT_NODE_IPS");
}

static void test_dstack_hosts(void **state)
{
	(void)state;
	take(LIST("DSTACK_NODE_RANK=1", "DSTACK_NODES_NUM=2", "DSTACK_MASTER_NODE_IP=10.0.0.4",
		"DSTACK_NODES_IPS=10.0.0.4\n10.0.0.5", "DSTACK_RUN_ID=51e837bf"));
	assert_string_equal(topology.identity, "dstack");
	assert_number(RI_FACT_HOSTS, 2);
	assert_string_equal(topology.facts[RI_FACT_HOSTS].list[1], "10.0.0.5");
	assert_string_equal(topology.facts[RI_FACT_JOB_ID].text, "51e837bf");
	assert_int_equal(findings.count, 0);
}

static void test_half_of_it_is_not_there(void **state)
{
	(void)state;
	assert_false(watch_for(NULL, LIST("AWS_BATCH_JOB_NUM_NODES=2")).name);
	assert_false(watch_for(NULL, LIST("AWS_BATCH_JOB_NODE_INDEX=0")).name);
	take(LIST("SKYPILOT_NUM_NODES=2"));
	assert_int_equal(topology.source_count, 0);
	take(LIST("SKYPILOT_NODE_RANK=0"));
	assert_int_equal(topology.source_count, 0);
}

static void test_aws_batch_job(void **state)
{
	(void)state;
	take(LIST("AWS_BATCH_JOB_NUM_NODES=1", "AWS_BATCH_JOB_NODE_INDEX=0",
		"AWS_BATCH_JOB_ID=6f1ec7a2#0", "AWS_BATCH_JOB_ATTEMPT=3"));
	assert_string_equal(topology.facts[RI_FACT_JOB_ID].text, "6f1ec7a2");
	assert_number(RI_FACT_RESTART_COUNT, 2);
	give_back(NULL);
	take(LIST("AWS_BATCH_JOB_NUM_NODES=1", "AWS_BATCH_JOB_NODE_INDEX=0", "AWS_BATCH_JOB_ID="));
	assert_unknown(RI_FACT_JOB_ID);
	assert_unknown(RI_FACT_RESTART_COUNT);
}

static void test_host_file_of_batch_ai(void **state)
{
	char *const *strings = LIST("AZ_BATCHAI_MPI_HOST_FILE=/hosts", "AZ_BATCHAI_TASK_INDEX=0");

	(void)state;
	/* nobody may read files */
	take(strings);
	assert_null(find_finding(RI_CODE_ENV_IGNORED));
	assert_found(RI_CODE_SOURCE_INCOMPLETE, "AZ_BATCHAI_TASK_INDEX");
	give_back(NULL);
	tree_file(&root, "hosts", "a\nb slots=one\n");
	assert_int_equal(read_there(RI_PROC_OURS, strings), 0);
	assert_found(RI_CODE_ENV_IGNORED, "AZ_BATCHAI_MPI_HOST_FILE");
	assert_non_null(strstr(find_finding(RI_CODE_ENV_IGNORED)->text, "line 2"));
	give_back(NULL);
	tree_file(&root, "hosts", "");
	assert_int_equal(read_there(RI_PROC_OURS, strings), 0);
	assert_found(RI_CODE_ENV_IGNORED, "AZ_BATCHAI_MPI_HOST_FILE");
	assert_null(strstr(find_finding(RI_CODE_ENV_IGNORED)->text, "line"));
}

static int read_without_memory(void)
{
	if (!memory_exhaust(&arena))
		return 97;
	if (read_there(RI_PROC_OURS, LIST(BATCH)) == 0)
		return 96;
	return err.code == RI_CODE_MEMORY ? 0 : 95;
}

static void test_out_of_memory(void **state)
{
	(void)state;
	tree_file(&root, "proc/net/fib_trie", "|-- 10.0.0.5\n/32 host LOCAL\n");
	assert_int_equal(memory_limited(read_without_memory), 0);
}

static int read_hosts_without_memory(void)
{
	if (read_there(RI_PROC_OURS, LIST("AZ_BATCHAI_MPI_HOST_FILE=/hosts")) == 0)
		return 96;
	return err.code == RI_CODE_MEMORY && topology.facts[RI_FACT_HOSTS].next == NULL ? 0 : 95;
}

/* The text fits, and the table of its lines does not. */
static void test_host_file_without_memory(void **state)
{
	const size_t lines = 8 << 20;
	char *text = malloc(2 * lines + 1);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < lines; i++)
		memcpy(text + 2 * i, "a\n", 2);
	text[2 * lines] = '\0';
	tree_file(&root, "hosts", text);
	free(text);
	assert_int_equal(memory_limited(read_hosts_without_memory), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_machine, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_place_is_looked_for_where_there_is_no_rank),
		TEST(test_the_place_is_looked_for_in_hosts_by_hand),
		TEST(test_a_hidden_source_is_there_if_asked_for),
		TEST(test_a_foreign_proc_is_not_read),
		TEST(test_a_rank_does_not_look_for_its_node),
		TEST(test_sagemaker_says_where_it_was_read),
		TEST(test_sagemaker_file_that_cannot_be_read),
		TEST(test_half_of_the_toolkit_is_named),
		TEST(test_sagemaker_error_names_the_line),
		TEST(test_skypilot_hosts),
		TEST(test_dstack_hosts),
		TEST(test_half_of_it_is_not_there),
		TEST(test_aws_batch_job),
		TEST(test_host_file_of_batch_ai),
		TEST(test_out_of_memory),
		TEST(test_host_file_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
