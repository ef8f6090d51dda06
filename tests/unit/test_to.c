/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "to/to.h"
#include "out_of_memory.h"
#include "topology_of.h"

static struct ri_env_edits edits;

static void render(char *const *strings)
{
	edits = (struct ri_env_edits){ .count = 0 };
	take(strings);
	assert_int_equal(ri_edits_render(&edits, &topology, &context, &err), 0);
}

static void assert_set(const char *name, const char *value)
{
	const struct ri_env_edit *edit = ri_env_edits_find(&edits, name);

	if (edit == NULL)
		fail_msg("%s is not set", name);
	assert_string_equal(edit->value, value);
}

static void assert_untouched(const char *name)
{
	assert_null(ri_env_edits_find(&edits, name));
}

static void test_frameworks_are_complete(void **state)
{
	const struct ri_framework *framework;
	size_t count = 0;

	(void)state;
	for (; (framework = ri_frameworks[count]) != NULL; count++) {
		assert_true(framework->name != NULL && *framework->name != '\0');
		assert_true(framework->summary != NULL && *framework->summary != '\0');
		assert_true(framework->when != NULL && *framework->when != '\0');
		assert_true(framework->render != NULL || framework->rank.gets != 0);
		assert_true(framework->writes != NULL || framework->looks[0].name != NULL);
		for (const struct ri_variable *v = framework->writes;
			v != NULL && v->name != NULL; v++) {
			assert_true(*v->name != '\0' && strchr(v->name, '=') == NULL);
			assert_true(v->meaning != NULL && *v->meaning != '\0');
			assert_true(v->cite != NULL && *v->cite != '\0');
		}
		for (size_t i = 0; i < count; i++)
			assert_string_not_equal(framework->name, ri_frameworks[i]->name);
	}
	assert_true(count > 0);
}

/* The main job: an Azure Machine Learning MPI job as its guides show it. */
static void test_azure_ml_mpi_job(void **state)
{
	(void)state;
	render(LIST("AZ_BATCH_MASTER_NODE=10.0.0.4:6000", RANK_13));
	assert_set("RANK", "13");
	assert_set("WORLD_SIZE", "16");
	assert_set("LOCAL_RANK", "5");
	assert_set("LOCAL_WORLD_SIZE", "8");
	assert_set("NODE_RANK", "1");
	assert_set("MASTER_ADDR", "10.0.0.4");
	assert_set("MASTER_PORT", "6105");
	assert_int_equal(edits.count, 7);
	assert_int_equal(findings.count, 1);
	assert_found(RI_CODE_NODE_RANK_ASSUMED, "NODE_RANK");
}

static void test_no_identity_no_edits(void **state)
{
	(void)state;
	render(LIST("MASTER_ADDR=[::1]", "MASTER_PORT=x", "AZ_BATCH_MASTER_NODE=10.0.0.4:6000"));
	assert_int_equal(edits.count, 0);
	render(LIST("PATH=/bin"));
	assert_int_equal(edits.count, 0);
}

static void test_identity_is_always_written(void **state)
{
	(void)state;
	render(LIST(RANK_13, "RANK=0", "LOCAL_RANK=tcp://10.0.0.1:1", "WORLD_SIZE="));
	assert_set("RANK", "13");
	assert_set("LOCAL_RANK", "5");
	assert_set("WORLD_SIZE", "16");
}

static void test_equal_value_needs_no_edit(void **state)
{
	(void)state;
	render(LIST(RANK_13, "RANK=13", "WORLD_SIZE=16 ", "LOCAL_RANK=5", "LOCAL_RANK=6"));
	assert_untouched("RANK");
	assert_set("WORLD_SIZE", "16");
	assert_set("LOCAL_RANK", "5");
}

static void test_valid_master_stays(void **state)
{
	(void)state;
	render(LIST(RANK_13, "MASTER_ADDR=10.0.0.9", "MASTER_PORT=1234",
		"AZ_BATCH_MASTER_NODE=10.0.0.4:6000"));
	assert_untouched("MASTER_ADDR");
	assert_untouched("MASTER_PORT");
	assert_found(RI_CODE_ENV_DIFFERS, "MASTER_ADDR");
}

static void test_port_left_in_master_addr_is_taken_off(void **state)
{
	(void)state;
	render(LIST(RANK_13, "MASTER_ADDR=10.0.0.4:6000"));
	assert_set("MASTER_ADDR", "10.0.0.4");
	assert_set("MASTER_PORT", "29500");
	assert_found(RI_CODE_ENV_REPAIRED, "MASTER_ADDR");
}

static void test_unknown_facts_are_not_written(void **state)
{
	(void)state;
	render(LIST("OMPI_COMM_WORLD_RANK=6", "OMPI_COMM_WORLD_SIZE=7",
		"OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2"));
	assert_untouched("NODE_RANK");
	assert_untouched("MASTER_ADDR");
	assert_untouched("MASTER_PORT");
}

static void test_single_process(void **state)
{
	(void)state;
	render(LIST("OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1",
		"OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=1"));
	assert_set("MASTER_ADDR", "127.0.0.1");
	assert_set("MASTER_PORT", "29500");
	assert_set("NODE_RANK", "0");
	assert_int_equal(findings.count, 0);
}

static void test_every_value_is_in_the_table(void **state)
{
	(void)state;
	render(LIST("AZ_BATCH_MASTER_NODE=10.0.0.4:6000", RANK_13));
	for (size_t i = 0; i < edits.count; i++) {
		const struct ri_variable *v = ri_frameworks[0]->writes;

		while (v->name != NULL && strcmp(v->name, edits.items[i].name) != 0)
			v++;
		assert_non_null(v->name);
		assert_true(edits.items[i].value[0] != '\0');
	}
}

static void test_two_frameworks_may_want_the_same(void **state)
{
	struct ri_writing writing = { .context = &context, .err = &err };

	(void)state;
	ri_want(&writing, "RANK", "1");
	ri_want(&writing, "RANK", "1");
	assert_int_equal(writing.wanted.count, 1);
	assert_int_equal(err.code, RI_CODE_NONE);
}

static void test_two_frameworks_may_not_differ(void **state)
{
	struct ri_writing writing = { .context = &context, .err = &err };

	(void)state;
	ri_want(&writing, "RANK", "1");
	ri_want(&writing, "RANK", "2");
	assert_int_equal(err.code, RI_CODE_ENV_CONFLICT);
	assert_string_equal(err.subject, "RANK");
	assert_string_equal(writing.wanted.items[0].value, "1");
}

static int render_with_room_for(size_t bytes)
{
	struct ri_env_edits made = { .room = 77 };
	void *last = &arena;

	take(LIST(RANK_13, "AZ_BATCH_MASTER_NODE=10.0.0.4:6000"));
	if (!memory_exhaust(&arena))
		return 99;
	while (last != NULL)
		last = ri_arena_alloc(&arena, 16);
	arena.used -= bytes;
	if (ri_edits_render(&made, &topology, &context, &err) == 0)
		return made.count == 7 ? 0 : 98;
	return err.code == RI_CODE_MEMORY && made.room == 77 ? 1 : 97;
}

static int render_in_little_memory(void)
{
	int result = 1;

	for (size_t bytes = 0; bytes < 4096 && result == 1; bytes += 16) {
		result = render_with_room_for(bytes);
		give_back(NULL);
	}
	return result;
}

static void test_out_of_memory(void **state)
{
	(void)state;
	assert_int_equal(memory_limited(render_in_little_memory), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, give_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_frameworks_are_complete),
		TEST(test_azure_ml_mpi_job),
		TEST(test_no_identity_no_edits),
		TEST(test_identity_is_always_written),
		TEST(test_equal_value_needs_no_edit),
		TEST(test_valid_master_stays),
		TEST(test_port_left_in_master_addr_is_taken_off),
		TEST(test_unknown_facts_are_not_written),
		TEST(test_single_process),
		TEST(test_every_value_is_in_the_table),
		TEST(test_two_frameworks_may_want_the_same),
		TEST(test_two_frameworks_may_not_differ),
		TEST(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
