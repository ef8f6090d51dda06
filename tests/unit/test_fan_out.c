/* SPDX-License-Identifier: Apache-2.0 */
/* Several ranks of a node, started here: who they are, and what they find. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/context.h"
#include "to/to.h"
#include "topology_of.h"

/* One process on each of two nodes. */
#define RANK_1_OF_2_NODES \
	"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_RANK=0", \
		"OMPI_COMM_WORLD_LOCAL_SIZE=1"

static struct ri_command command = { .mode = RI_MODE_PROCESS };
static struct ri_wishes wishes;
static const char *host_name;	/* of this machine */
static const struct ri_meeting *meeting;	/* what the machine says; NULL: nobody asks */
static struct ri_env_edits edits;

static struct ri_given given(const char *subject, const char *value)
{
	return (struct ri_given){ .subject = subject, .value = value };
}

/* The first of count ranks; the code of what refuses it, or none. */
static enum ri_code fan_out(uint64_t count, char *const *strings)
{
	struct ri_host machine = { .root = -1, .name = host_name };
	const struct ri_context here = {
		.env = &env, .arena = &arena, .findings = &findings, .command = &command,
		.wishes = &wishes, .fan_out = count, .host = &machine,
		.meeting = meeting,
	};

	wishes.nproc = given("--nproc-per-node", "N");
	wishes.nproc_count = count;
	edits = (struct ri_env_edits){ .count = 0 };
	assert_int_equal(ri_env_init(&env, strings, &arena, &err), 0);
	if (ri_topology_read(&topology, &here, &err) == 0)
		ri_edits_render(&edits, &topology, &here, &err);
	return err.code;
}

static int start_again(void **state)
{
	wishes = (struct ri_wishes){ .nproc_count = 0 };
	host_name = NULL;
	meeting = NULL;
	return give_back(state);
}

static void assert_refused_for(enum ri_code code, const char *subject)
{
	assert_string_equal(ri_code_name(err.code), ri_code_name(code));
	assert_string_equal(err.subject, subject);
	assert_int_equal(ri_code_status(err.code), 125);
}

static void assert_place(uint64_t rank, uint64_t size, uint64_t local, uint64_t node)
{
	assert_number(RI_FACT_RANK, rank);
	assert_number(RI_FACT_WORLD_SIZE, size);
	assert_number(RI_FACT_LOCAL_RANK, local);
	assert_number(RI_FACT_NODE_RANK, node);
}

static bool is_another(const char *host)
{
	(void)host;
	return false;
}

static unsigned pick_next(unsigned usual)
{
	return usual + 1;
}

/* Only the machine knows, and only of one node, and of what nobody stated. */
static void test_the_machine_is_asked_where_to_meet(void **state)
{
	static const struct ri_meeting other = { is_another, pick_next };
	static const struct ri_meeting agreed = { is_another, NULL };

	(void)state;
	assert_int_equal(fan_out(2, LIST("MASTER_ADDR=a")), RI_CODE_NONE);
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].text, "a");
	assert_number(RI_FACT_MASTER_PORT, 29500);
	give_back(state);
	meeting = &other;
	assert_int_equal(fan_out(2, LIST("MASTER_ADDR=a")), RI_CODE_NONE);
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].text, "127.0.0.1");
	assert_number(RI_FACT_MASTER_PORT, 29501);
	assert_int_equal(findings.count, 2);
	assert_found(RI_CODE_ENV_DIFFERS, "MASTER_ADDR");
	assert_found(RI_CODE_MASTER_PORT_TAKEN, "MASTER_PORT");
	give_back(state);
	meeting = &agreed;
	assert_int_equal(fan_out(2, LIST("A=B")), RI_CODE_NONE);
	assert_number(RI_FACT_MASTER_PORT, 29500);
	give_back(state);
	meeting = &other;
	wishes.facts[RI_FACT_MASTER_ADDR] = given("--master-addr", "b");
	assert_int_equal(fan_out(2, LIST("MASTER_PORT=5")), RI_CODE_NONE);
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].text, "b");
	assert_number(RI_FACT_MASTER_PORT, 5);
	assert_int_equal(findings.count, 0);
	start_again(state);
	meeting = &other;
	assert_int_equal(fan_out(2, LIST(RANK_1_OF_2_NODES, "MASTER_ADDR=a")), RI_CODE_NONE);
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].text, "a");
	assert_number(RI_FACT_MASTER_PORT, 29500);
}

static void test_nobody_says_anything(void **state)
{
	(void)state;
	assert_int_equal(fan_out(4, LIST("A=B")), RI_CODE_NONE);
	assert_place(0, 4, 0, 0);
	assert_number(RI_FACT_LOCAL_WORLD_SIZE, 4);
	assert_number(RI_FACT_NNODES, 1);
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].text, "127.0.0.1");
	assert_string_equal(topology.identity, "manual");
	assert_int_equal(topology.source_count, 1);
	assert_string_equal(topology.sources[0], "manual");
	assert_string_equal(topology.facts[RI_FACT_NNODES].origin.source, "default");
	assert_int_equal(findings.count, 0);
}

static void test_every_rank_of_every_node_is_another(void **state)
{
	char node[2] = "0";

	for (uint64_t at = 0; at < 3; at++) {
		node[0] = (char)('0' + at);
		wishes.facts[RI_FACT_NODE_RANK] = given("--node-rank", node);
		wishes.facts[RI_FACT_NNODES] = given("--nnodes", "3");
		assert_int_equal(fan_out(5, LIST("MASTER_ADDR=a")), RI_CODE_NONE);
		for (uint64_t local = 0; local < 5; local++) {
			ri_topology_go_to(&topology, local);
			assert_place(at * 5 + local, 15, local, at);
			assert_number(RI_FACT_LOCAL_WORLD_SIZE, 5);
		}
		ri_topology_go_to(&topology, 0);
		assert_place(at * 5, 15, 0, at);
		start_again(state);
	}
}

static void test_nothing_happens_where_none_are_started(void **state)
{
	(void)state;
	assert_int_equal(fan_out(0, LIST(RANK_13)), RI_CODE_NONE);
	assert_place(13, 16, 5, 1);
	assert_null(ri_env_edits_find(&edits, "OMPI_COMM_WORLD_RANK"));
	start_again(state);
	assert_int_equal(fan_out(0, LIST("A=B")), RI_CODE_NONE);
	assert_null(topology.identity);
}

static void test_one_process_of_a_node_is_the_node(void **state)
{
	const struct ri_env_edit *edit;

	(void)state;
	assert_int_equal(fan_out(4, LIST("OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2",
		"OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=1", "MASTER_ADDR=a",
		"SLURM_PROCID=1", "SLURM_JOB_ID=3")), RI_CODE_NONE);
	assert_place(4, 8, 0, 1);
	assert_string_equal(topology.facts[RI_FACT_NODE_RANK].origin.variable,
		"OMPI_COMM_WORLD_RANK");
	assert_string_equal(topology.facts[RI_FACT_NNODES].origin.variable,
		"OMPI_COMM_WORLD_SIZE");
	assert_int_equal(findings.count, 0);
	edit = ri_env_edits_find(&edits, "OMPI_COMM_WORLD_RANK");
	assert_non_null(edit);
	assert_null(edit->value);
	assert_non_null(ri_env_edits_find(&edits, "SLURM_PROCID"));
	assert_null(ri_env_edits_find(&edits, "SLURM_JOB_ID"));
}

static void test_several_processes_of_a_node_are_refused(void **state)
{
	(void)state;
	fan_out(4, LIST(RANK_13));
	assert_refused_for(RI_CODE_LAUNCH_RANKS, "OMPI_COMM_WORLD_LOCAL_SIZE");
	assert_non_null(strstr(err.hint, "--nproc-per-node"));
}

static void test_a_stated_node_rank_stays(void **state)
{
	(void)state;
	wishes.facts[RI_FACT_NODE_RANK] = given("--node-rank", "1");
	assert_int_equal(fan_out(2, LIST("OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2",
		"OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=1")), RI_CODE_NONE);
	assert_place(2, 4, 0, 1);
	assert_string_equal(topology.facts[RI_FACT_NODE_RANK].origin.variable, "--node-rank");
	start_again(state);
	wishes.facts[RI_FACT_NODE_RANK] = given("--node-rank", "1");
	assert_int_equal(fan_out(2, LIST("OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2",
		"OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=1")), RI_CODE_NONE);
	assert_place(2, 4, 0, 1);
}

static void test_a_forced_source_must_be_there(void **state)
{
	(void)state;
	wishes.source = given("--source", "openmpi");
	fan_out(4, LIST("A=B"));
	assert_refused_for(RI_CODE_SOURCE_ABSENT, "--source");
	start_again(state);
	wishes.source = given("--source", "manual");
	assert_int_equal(fan_out(4, LIST("A=B")), RI_CODE_NONE);
}

static void test_hosts_count_nodes(void **state)
{
	(void)state;
	wishes.facts[RI_FACT_HOSTS] = given("--hosts", "a,b");
	host_name = "b";
	assert_int_equal(fan_out(4, LIST("A=B")), RI_CODE_NONE);
	assert_place(4, 8, 0, 1);
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].text, "a");
	start_again(state);
	wishes.facts[RI_FACT_HOSTS] = given("--hosts", "a,b");
	host_name = "c";
	fan_out(4, LIST("A=B"));
	assert_refused_for(RI_CODE_LAUNCH_INCOMPLETE, "--hosts");
}

static void test_too_many_ranks(void **state)
{
	(void)state;
	wishes.facts[RI_FACT_NODE_RANK] = given("--node-rank", "2047");
	wishes.facts[RI_FACT_NNODES] = given("--nnodes", "2048");
	assert_int_equal(fan_out(512, LIST("MASTER_ADDR=a")), RI_CODE_NONE);
	assert_number(RI_FACT_WORLD_SIZE, RI_MAX_RANKS);
	ri_topology_go_to(&topology, 511);
	assert_number(RI_FACT_RANK, RI_MAX_RANKS - 1);
	start_again(state);
	wishes.facts[RI_FACT_NODE_RANK] = given("--node-rank", "0");
	wishes.facts[RI_FACT_NNODES] = given("--nnodes", "2049");
	fan_out(512, LIST("MASTER_ADDR=a"));
	assert_refused_for(RI_CODE_OPTION_VALUE, "--nproc-per-node");
}

static void test_slurm_names_go_only_here(void **state)
{
	static const char *const names[] = {
		"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_NPROCS",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_true(ri_scrub_removes(names[i], strlen(names[i]), true));
		assert_false(ri_scrub_removes(names[i], strlen(names[i]), false));
	}
	assert_false(ri_scrub_removes("SLURM_NODEID", 12, true));
	assert_false(ri_scrub_removes("PMIX_MCA_gds", 12, true));
}

/* In mode node the launcher is told, if it listens. */
static void test_a_launcher_is_told(void **state)
{
	const struct ri_context here = {
		.env = &env, .arena = &arena, .findings = &findings, .command = &command,
		.wishes = &wishes,
	};
	const struct ri_env_edit *edit;

	(void)state;
	ri_command_read(&command, LIST("torchrun", "--standalone", "t.py"), RI_MODE_AUTO);
	wishes.nproc = given("--nproc-per-node", "8");
	wishes.nproc_count = 8;
	assert_int_equal(ri_env_init(&env, LIST("PET_NPROC_PER_NODE=2"), &arena, &err), 0);
	assert_int_equal(ri_topology_read(&topology, &here, &err), 0);
	assert_null(topology.identity);
	edits = (struct ri_env_edits){ .count = 0 };
	assert_int_equal(ri_edits_render(&edits, &topology, &here, &err), 0);
	assert_int_equal(edits.count, 1);
	edit = ri_env_edits_find(&edits, "PET_NPROC_PER_NODE");
	assert_non_null(edit);
	assert_string_equal(edit->value, "8");
	ri_command_read(&command, LIST("fabric", "run", "t.py"), RI_MODE_AUTO);
	edits = (struct ri_env_edits){ .count = 0 };
	assert_int_equal(ri_edits_render(&edits, &topology, &here, &err), 0);
	assert_int_equal(edits.count, 0);
	assert_found(RI_CODE_NPROC_UNUSED, "--nproc-per-node");
	command = (struct ri_command){ .mode = RI_MODE_PROCESS };
}

static void test_a_launcher_of_the_job_has_no_ranks(void **state)
{
	(void)state;
	assert_int_equal(fan_out(4, LIST("K_MPI_JOB_ROLE=launcher")), RI_CODE_NONE);
	assert_null(topology.identity);
	assert_int_equal(findings.count, 0);
}

static void test_another_role_has_ranks(void **state)
{
	(void)state;
	assert_int_equal(fan_out(4, LIST("TF_CONFIG={\"cluster\": "
		"{\"worker\": [\"a:1\", \"a:2\"]}, "
		"\"task\": {\"type\": \"worker\", \"index\": 0}}")), RI_CODE_NONE);
	assert_place(0, 4, 0, 0);
}

static void test_what_is_stated_and_what_is_started_are_one_source(void **state)
{
	(void)state;
	wishes.facts[RI_FACT_MASTER_ADDR] = given("--master-addr", "a");
	assert_int_equal(fan_out(4, LIST("MASTER_PORT=5")), RI_CODE_NONE);
	assert_int_equal(topology.source_count, 2);
	assert_string_equal(topology.sources[0], "manual");
	assert_string_equal(topology.sources[1], "env");
	start_again(state);
	assert_int_equal(fan_out(4, LIST("MASTER_PORT=5")), RI_CODE_NONE);
	assert_int_equal(topology.source_count, 2);
	assert_string_equal(topology.sources[0], "manual");
	assert_string_equal(topology.sources[1], "env");
}

static void test_no_rank_is_stated(void **state)
{
	static const enum ri_fact_id tuple[] = {
		RI_FACT_RANK, RI_FACT_WORLD_SIZE, RI_FACT_LOCAL_RANK, RI_FACT_LOCAL_WORLD_SIZE,
	};

	for (size_t i = 0; i < sizeof(tuple) / sizeof(tuple[0]); i++) {
		wishes.facts[tuple[i]] = given("--one-of-them", "1");
		fan_out(4, LIST("A=B"));
		assert_refused_for(RI_CODE_OPTION_CONFLICT, "--one-of-them");
		start_again(state);
	}
}

static void test_the_first_node_may_be_the_only_one(void **state)
{
	(void)state;
	wishes.facts[RI_FACT_NODE_RANK] = given("--node-rank", "0");
	assert_int_equal(fan_out(4, LIST("A=B")), RI_CODE_NONE);
	assert_place(0, 4, 0, 0);
	assert_string_equal(topology.facts[RI_FACT_NODE_RANK].origin.variable, "--node-rank");
	start_again(state);
	wishes.facts[RI_FACT_NODE_RANK] = given("--node-rank", "1");
	fan_out(4, LIST("A=B"));
	assert_refused_for(RI_CODE_LAUNCH_INCOMPLETE, "--node-rank");
}

/* RANK and WORLD_SIZE together may be those of nodes; one alone is nobody's. */
static void test_a_lone_rank_is_whose(void **state)
{
	(void)state;
	fan_out(4, LIST("RANK=0", "WORLD_SIZE=2"));
	assert_refused_for(RI_CODE_LAUNCH_INCOMPLETE, "RANK");
	/* who is refused is nobody, and what is explained says so */
	assert_null(topology.identity);
	assert_int_equal(topology.source_count, 0);
	start_again(state);
	assert_int_equal(fan_out(4, LIST("WORLD_SIZE=2")), RI_CODE_NONE);
	start_again(state);
	assert_int_equal(fan_out(4, LIST("RANK=0")), RI_CODE_NONE);
	start_again(state);
	assert_int_equal(fan_out(4, LIST("RANK=0", "WORLD_SIZE=1")), RI_CODE_NONE);
}

#define TEST(name) cmocka_unit_test_teardown(name, start_again)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_machine_is_asked_where_to_meet),
		TEST(test_nobody_says_anything),
		TEST(test_every_rank_of_every_node_is_another),
		TEST(test_nothing_happens_where_none_are_started),
		TEST(test_one_process_of_a_node_is_the_node),
		TEST(test_several_processes_of_a_node_are_refused),
		TEST(test_a_stated_node_rank_stays),
		TEST(test_a_forced_source_must_be_there),
		TEST(test_hosts_count_nodes),
		TEST(test_too_many_ranks),
		TEST(test_slurm_names_go_only_here),
		TEST(test_a_launcher_is_told),
		TEST(test_a_launcher_of_the_job_has_no_ranks),
		TEST(test_another_role_has_ranks),
		TEST(test_what_is_stated_and_what_is_started_are_one_source),
		TEST(test_no_rank_is_stated),
		TEST(test_the_first_node_may_be_the_only_one),
		TEST(test_a_lone_rank_is_whose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
