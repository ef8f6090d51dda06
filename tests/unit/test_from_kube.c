/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of Kubernetes: what the variables of a golden case do not show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "topology_of.h"
#include "watched.h"

static const struct ri_fact *fact_of(enum ri_fact_id id)
{
	return &topology.facts[id];
}

static void assert_identity(const char *name)
{
	assert_non_null(topology.identity);
	assert_string_equal(topology.identity, name);
	assert_int_equal(topology.scope, RI_SCOPE_NODE);
}

static void test_an_elastic_job_leaves_its_size_open(void **state)
{
	(void)state;
	take(LIST("PET_NNODES=1:4", "PET_NODE_RANK=1", "PET_MASTER_ADDR=a"));
	assert_null(topology.identity);
	assert_int_equal(fact_of(RI_FACT_NNODES)->state, RI_STATE_OPEN);
	assert_string_equal(fact_of(RI_FACT_NNODES)->reason, "the job is elastic");
	assert_int_equal(fact_of(RI_FACT_NODE_RANK)->state, RI_STATE_ABSENT);
	assert_null(fact_of(RI_FACT_NODE_RANK)->next);
}

/* Of the two the pod's own variable counts, and RANK is a candidate that lost. */
static void test_the_index_of_a_pod_has_two_names(void **state)
{
	(void)state;
	take(LIST("PET_NNODES=2", "PET_NODE_RANK=1", "RANK=1", "WORLD_SIZE=16",
		"PET_NPROC_PER_NODE=8", "MASTER_ADDR=a"));
	assert_identity("kubeflow_pytorch");
	assert_string_equal(fact_of(RI_FACT_NODE_RANK)->origin.variable, "PET_NODE_RANK");
	assert_string_equal(fact_of(RI_FACT_NODE_RANK)->next->origin.variable, "RANK");
	assert_unknown(RI_FACT_RANK);
	assert_unknown(RI_FACT_WORLD_SIZE);
	assert_number(RI_FACT_NPROC, 8);
	assert_int_equal(findings.count, 0);
}

static void test_words_are_no_number_of_processes(void **state)
{
	static const char *const words[] = { "auto", "cpu", "gpu", "xpu", "" };

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		char processes[64];

		snprintf(processes, sizeof(processes), "PET_NPROC_PER_NODE=%s", words[i]);
		take(LIST("PET_NNODES=1", "PET_NODE_RANK=0", processes));
		assert_unknown(RI_FACT_NPROC);
		assert_int_equal(findings.count, 0);
	}
}

static void test_a_launcher_is_known_by_its_role(void **state)
{
	(void)state;
	take(LIST("K_MPI_JOB_ROLE=launcher", "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile"));
	assert_null(topology.identity);
	assert_string_equal(fact_of(RI_FACT_ROLE)->text, RI_ROLE_LAUNCHER);
	assert_string_equal(fact_of(RI_FACT_ROLE)->origin.variable, "K_MPI_JOB_ROLE");
	take(LIST("HYDRA_HOST_FILE=/etc/mpi/hostfile"));
	assert_string_equal(fact_of(RI_FACT_ROLE)->text, RI_ROLE_LAUNCHER);
	assert_string_equal(fact_of(RI_FACT_ROLE)->origin.variable, "HYDRA_HOST_FILE");
	take(LIST("HYDRA_HOST_FILE=/etc/hosts.mpi"));
	assert_unknown(RI_FACT_ROLE);
}

static void test_a_rank_is_no_launcher(void **state)
{
	(void)state;
	take(LIST(RANK_13, "K_MPI_JOB_ROLE=launcher"));
	assert_unknown(RI_FACT_ROLE);
	take(LIST("K_MPI_JOB_ROLE=launcher", "RANK=0", "WORLD_SIZE=1", "LOCAL_RANK=0",
		"LOCAL_WORLD_SIZE=1", "GROUP_RANK=0", "TORCHELASTIC_RUN_ID=none"));
	assert_unknown(RI_FACT_ROLE);
}

/* Nothing is opened, and no name asked for, where no host file may be read. */
static void test_only_an_mpijob_opens_files(void **state)
{
	(void)state;
	watch(NULL, LIST("TF_CONFIG={}", "PET_NNODES=1", "PET_NODE_RANK=0",
		"VC_TASK_INDEX=0", "JOB_COMPLETION_INDEX=0", "CLUSTER_SPEC={}",
		"K_MPI_JOB_ROLE=worker"));
	assert_false(watched.file || watched.name);
	watch(NULL, LIST("K_MPI_JOB_ROLE=launcher", "HYDRA_HOST_FILE=/etc/mpi/hostfile"));
	assert_false(watched.file || watched.name);
	watch(NULL, LIST(RANK_13, "HYDRA_HOST_FILE=/etc/mpi/hostfile"));
	assert_true(watched.file);
}

#define TF_CONFIG(domain) \
	"TF_CONFIG={\"cluster\":{\"worker\":[\"a" domain ":1\",\"b" domain ":1\"]}," \
	"\"task\":{\"type\":\"worker\",\"index\":1}}"

static void test_services_tell_a_tfjob(void **state)
{
	(void)state;
	take(LIST(TF_CONFIG(".ns.svc")));
	assert_identity("kubeflow_tf");
	take(LIST(TF_CONFIG(".ns.svc.cluster.local")));
	assert_identity("kubeflow_tf");
	take(LIST(TF_CONFIG(".svcs")));
	assert_identity("tf_config");
	assert_int_equal(topology.source_count, 1);
}

static void test_a_jobset_has_a_name(void **state)
{
	(void)state;
	take(LIST("JOBSET_NAME=bert", "GLOBAL_REPLICAS=1", "JOB_COMPLETION_INDEX=1"));
	assert_string_equal(fact_of(RI_FACT_JOB_ID)->text, "bert");
	assert_null(topology.identity);
	take(LIST("REPLICATED_JOB_NAME=workers", "JOB_COMPLETION_INDEX=1", "PET_NNODES=4",
		"PET_NODE_RANK="));
	assert_unknown(RI_FACT_JOB_ID);
	assert_null(topology.identity);
	assert_string_equal(fact_of(RI_FACT_NODE_RANK)->next->reason,
		"the index starts again at 0 in each Job of the set, unless GLOBAL_REPLICAS is 1");
}

static void test_an_index_that_starts_anew_is_open(void **state)
{
	(void)state;
	take(LIST("VC_TASK_INDEX=1", "VC_PS_HOSTS=a", "VC_WORKER_HOSTS=b,c"));
	assert_null(topology.identity);
	assert_int_equal(fact_of(RI_FACT_NODE_RANK)->next->state, RI_STATE_OPEN);
	assert_string_equal(fact_of(RI_FACT_NODE_RANK)->next->reason,
		"the index starts again at 0 in each task");
	/* the same list twice is one task */
	take(LIST("VC_TASK_INDEX=1", "VC_WORKER_HOSTS=b,c", "VC_WORKER_HOSTS=b,c"));
	assert_identity("volcano");
	assert_number(RI_FACT_NNODES, 2);
}

/* Where to meet follows the order of the sources, whoever counts the nodes. */
static void test_the_inner_source_names_the_master(void **state)
{
	(void)state;
	take(LIST("PET_NNODES=1:4", "PET_NODE_RANK=1", "PET_MASTER_ADDR=a",
		"LWS_LEADER_ADDRESS=b", "LWS_GROUP_SIZE=2", "LWS_WORKER_INDEX=1"));
	assert_identity("lws");
	assert_string_equal(fact_of(RI_FACT_MASTER_ADDR)->text, "a");
}

#define TEST(name) cmocka_unit_test_teardown(name, give_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_elastic_job_leaves_its_size_open),
		TEST(test_the_index_of_a_pod_has_two_names),
		TEST(test_words_are_no_number_of_processes),
		TEST(test_a_launcher_is_known_by_its_role),
		TEST(test_a_rank_is_no_launcher),
		TEST(test_only_an_mpijob_opens_files),
		TEST(test_services_tell_a_tfjob),
		TEST(test_a_jobset_has_a_name),
		TEST(test_an_index_that_starts_anew_is_open),
		TEST(test_the_inner_source_names_the_master),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
