/* SPDX-License-Identifier: Apache-2.0 */
/* What is taken from /proc/1/environ below a root, and when it is looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "out_of_memory.h"
#include "topology_of.h"
#include "watched.h"
#include "tree.h"

#define MASTER "AZ_BATCH_MASTER_NODE=10.0.0.4:6000"
#define ENVIRON "proc/1/environ"

static struct tree root;
static struct ri_host host;

static int make_machine(void **state)
{
	(void)state;
	tree_make(&root);
	tree_folder(&root, "proc");
	tree_folder(&root, "proc/1");
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

static void assert_master(const char *address)
{
	const struct ri_fact *fact = &topology.facts[RI_FACT_MASTER_ADDR];

	assert_int_equal(fact->state, RI_STATE_KNOWN);
	assert_string_equal(fact->text, address);
}

static void test_the_master_carries_its_origin(void **state)
{
	const struct ri_fact *fact = &topology.facts[RI_FACT_MASTER_ADDR];

	(void)state;
	tree_bytes(&root, ENVIRON, "A=b\0" MASTER "\0", 4 + sizeof(MASTER));
	assert_int_equal(read_with(&host, LIST(RANK_13)), 0);
	assert_master("10.0.0.4");
	assert_string_equal(fact->origin.source, "pid1");
	assert_string_equal(fact->origin.variable, "AZ_BATCH_MASTER_NODE");
	assert_string_equal(fact->origin.raw, "10.0.0.4:6000");
	assert_number(RI_FACT_MASTER_PORT, 6105);
	assert_int_equal(topology.source_count, 2);
	assert_string_equal(topology.sources[1], "pid1");
}

static void test_without_a_host_nothing_is_read(void **state)
{
	(void)state;
	tree_bytes(&root, ENVIRON, MASTER "\0", sizeof(MASTER));
	assert_int_equal(read_with(NULL, LIST(RANK_13)), 0);
	assert_unknown(RI_FACT_MASTER_ADDR);
	assert_found(RI_CODE_MASTER_ABSENT, "MASTER_ADDR");
	assert_int_equal(topology.source_count, 1);
}

/* A descriptor that cannot be read from shows that nobody looked. */
static void test_a_rank_that_knows_its_master_does_not_look(void **state)
{
	struct ri_host none = { .root = -1 };

	(void)state;
	assert_int_equal(read_with(&none, LIST(RANK_13, MASTER)), 0);
	assert_master("10.0.0.4");
	assert_false(none.walk);
	assert_int_equal(topology.source_count, 2);
}

static void test_what_cannot_be_read_says_nothing(void **state)
{
	static char large[RI_MAX_FILE + 1];

	assert_int_equal(read_with(&host, LIST(RANK_13)), 0);
	assert_unknown(RI_FACT_MASTER_ADDR);
	give_back(state);
	memset(large, 'x', sizeof(large));
	memcpy(large, MASTER, sizeof(MASTER));
	tree_bytes(&root, ENVIRON, large, sizeof(large));
	assert_int_equal(read_with(&host, LIST(RANK_13)), 0);
	assert_unknown(RI_FACT_MASTER_ADDR);
}

static void test_only_the_rendezvous_is_taken(void **state)
{
	static const char strings[] =
		"RANK=1\0WORLD_SIZE=32\0LOCAL_RANK=0\0NODE_RANK=9\0AZ_BATCHAI_TASK_INDEX=9\0"
		"AZ_BATCH_HOST_LIST=a,b\0MASTER_ADDR=a\0MASTER_PORT=7";

	(void)state;
	tree_bytes(&root, ENVIRON, strings, sizeof(strings));
	assert_int_equal(read_with(&host, LIST(RANK_13)), 0);
	assert_string_equal(topology.identity, "openmpi");
	assert_number(RI_FACT_RANK, 13);
	assert_number(RI_FACT_NODE_RANK, 1);
	assert_number(RI_FACT_HOSTS, 2);
	assert_number(RI_FACT_MASTER_PORT, 7);
	assert_null(topology.facts[RI_FACT_RANK].next);
	assert_null(topology.facts[RI_FACT_NODE_RANK].next);
}

/* Strings of nothing at all are strings: there has to be room for them. */
static void test_many_empty_strings(void **state)
{
	static char many[500000];

	(void)state;
	memset(many, 0, sizeof(many));
	memcpy(many + sizeof(many) - sizeof(MASTER), MASTER, sizeof(MASTER));
	tree_bytes(&root, ENVIRON, many, sizeof(many));
	assert_int_equal(read_with(&host, LIST(RANK_13)), 0);
	assert_master("10.0.0.4");
}

static int read_without_memory(void)
{
	if (!memory_exhaust(&arena))
		return 97;
	if (read_with(&host, LIST(RANK_13)) == 0)
		return 96;
	return err.code == RI_CODE_MEMORY ? 0 : 95;
}

static void test_out_of_memory(void **state)
{
	(void)state;
	tree_bytes(&root, ENVIRON, MASTER "\0", sizeof(MASTER));
	assert_int_equal(memory_limited(read_without_memory), 0);
}

static int end(void **state)
{
	remove_machine(state);
	return give_back(state);
}

static void test_process_1_is_asked_by_mpi_ranks_alone(void **state)
{
	(void)state;
	assert_false(watch(NULL, LIST("PATH=/bin", "RANK=0")).proc);
	/* half a tuple is nobody */
	assert_false(watch(NULL, LIST("PMI_RANK=0")).proc);
	assert_false(watch(NULL, LIST(RANK_13, MASTER)).proc);
	assert_true(watch(NULL, LIST(RANK_13)).proc);
	assert_false(watched.file);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_machine, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_master_carries_its_origin),
		TEST(test_without_a_host_nothing_is_read),
		TEST(test_a_rank_that_knows_its_master_does_not_look),
		TEST(test_what_cannot_be_read_says_nothing),
		TEST(test_only_the_rendezvous_is_taken),
		TEST(test_many_empty_strings),
		TEST(test_process_1_is_asked_by_mpi_ranks_alone),
		TEST(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
