/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>

#include "base/limits.h"
#include "model/context.h"
#include "to/to.h"
#include "out_of_memory.h"
#include "topology_of.h"

static struct ri_wishes wishes;
static struct ri_env_edits edits;

static int reset(void **state)
{
	wishes = (struct ri_wishes){ .frameworks = "tensorflow" };
	return give_back(state);
}

/* Rank, of that many on each host, of a job on the hosts. */
static void make_job(uint64_t rank, uint64_t local, const char *const *hosts, uint64_t count)
{
	const uint64_t numbers[] = {
		[RI_FACT_RANK] = rank, [RI_FACT_WORLD_SIZE] = count * local,
		[RI_FACT_LOCAL_RANK] = rank % local, [RI_FACT_LOCAL_WORLD_SIZE] = local,
		[RI_FACT_NODE_RANK] = rank / local, [RI_FACT_NNODES] = count,
		[RI_FACT_HOSTS] = count,
	};

	topology = (struct ri_topology){ .identity = "manual", .scope = RI_SCOPE_PROCESS };
	for (enum ri_fact_id id = 0; id < sizeof(numbers) / sizeof(numbers[0]); id++) {
		if (numbers[id] == 0 && id == RI_FACT_MASTER_ADDR)
			continue;
		topology.facts[id].state = RI_STATE_KNOWN;
		topology.facts[id].number = numbers[id];
	}
	topology.facts[RI_FACT_MASTER_PORT].state = RI_STATE_ABSENT;
	topology.facts[RI_FACT_HOSTS].list = hosts;
}

static int render(char *const *strings)
{
	struct ri_context with = context;

	with.wishes = &wishes;
	edits = (struct ri_env_edits){ .count = 0 };
	assert_int_equal(ri_env_init(&env, strings, &arena, &err), 0);
	return ri_variables_render(&edits, &topology, &with, &err);
}

static const char *config(void)
{
	const struct ri_env_edit *edit = ri_env_edits_find(&edits, "TF_CONFIG");

	return edit == NULL ? NULL : edit->value;
}

/* As many hosts as the list has room for, each with a name of that length. */
static void name_hosts(const char **hosts, uint64_t count, size_t length)
{
	for (uint64_t i = 0; i < count; i++) {
		char *name = ri_arena_alloc(&arena, length + 1);

		snprintf(name, length + 1, "%0*d", (int)length, (int)i);
		name[0] = 'n';
		hosts[i] = name;
	}
}

enum { HOSTS = 700 };

/* With hosts whose first name is longer or shorter, the string has exactly size bytes. */
static int render_of_size(size_t size)
{
	static const char *hosts[HOSTS];
	size_t bytes;

	name_hosts(hosts, HOSTS, 178);
	make_job(0, 1, hosts, HOSTS);
	assert_int_equal(render(LIST("A=b")), 0);
	bytes = strlen("TF_CONFIG=") + strlen(config()) + 1;
	assert_in_range(size, bytes + 1, bytes + 178 * 400);
	for (uint64_t i = 0; bytes < size; i++) {
		size_t more = size - bytes < 70 ? size - bytes : 70;
		char *longer = ri_arena_alloc(&arena, 178 + more + 1);

		memset(longer, 'x', 178 + more);
		hosts[i] = longer;
		bytes += more;
	}
	return render(LIST("A=b"));
}

static void test_as_long_as_a_variable_may_be(void **state)
{
	(void)state;
	assert_int_equal(render_of_size(RI_MAX_VARIABLE), 0);
	assert_int_equal(strlen("TF_CONFIG=") + strlen(config()) + 1, RI_MAX_VARIABLE);
}

static void test_one_byte_too_long(void **state)
{
	(void)state;
	assert_int_equal(render_of_size(RI_MAX_VARIABLE + 1), -1);
	assert_int_equal(err.code, RI_CODE_EXEC_TOO_BIG);
	assert_string_equal(err.subject, "TF_CONFIG");
	assert_non_null(strstr(err.text, "700 hosts"));
	assert_non_null(strstr(err.text, "131073 bytes"));
}

/* What is far too long is measured, and never made. */
static void test_far_too_long(void **state)
{
	static const char *hosts[HOSTS];

	(void)state;
	name_hosts(hosts, HOSTS, 250);
	make_job(0, 64, hosts, HOSTS);
	assert_int_equal(render(LIST("A=b")), -1);
	assert_int_equal(err.code, RI_CODE_EXEC_TOO_BIG);
	assert_non_null(strstr(err.text, "700 hosts and 64 tasks"));
}

/* For any even job every rank gets the same cluster, and a task of its own in it. */
static void check_job(uint64_t nodes, uint64_t local, const char *const *hosts)
{
	json_t *cluster = NULL;

	for (uint64_t rank = 0; rank < nodes * local; rank++) {
		json_t *found, *tasks, *task;
		const char *type;
		char address[64];

		make_job(rank, local, hosts, nodes);
		assert_int_equal(render(LIST("A=b")), 0);
		found = json_loads(config(), 0, NULL);
		assert_non_null(found);
		if (cluster == NULL)
			cluster = json_incref(json_object_get(found, "cluster"));
		assert_true(json_equal(cluster, json_object_get(found, "cluster")));
		task = json_object_get(found, "task");
		type = json_string_value(json_object_get(task, "type"));
		tasks = json_object_get(cluster, type);
		snprintf(address, sizeof(address), "%s:%d", hosts[rank / local],
			(int)(2222 + rank % local));
		assert_string_equal(address, json_string_value(json_array_get(tasks,
			(size_t)json_integer_value(json_object_get(task, "index")))));
		assert_string_equal(type, rank / local >= nodes - wishes.tf_ps_count ? "ps"
			: rank == 0 && wishes.tf_ps_count > 0 &&
				(nodes - wishes.tf_ps_count) * local > 1 ? "chief" : "worker");
		json_decref(found);
	}
	json_decref(cluster);
}

static void test_every_rank_finds_its_task(void **state)
{
	static const char *const hosts[] = { "a", "b", "c", "d", "e" };

	for (uint64_t n = 0; n < 5 * 4 * 5; n++) {
		uint64_t nodes = n % 5 + 1, local = n / 5 % 4 + 1, ps = n / 20 % 5;

		if (ps >= nodes || nodes * local == 1)
			continue;
		reset(state);
		wishes.tf_ps = (struct ri_given){ .subject = "--tf-ps", .value = "N" };
		wishes.tf_ps_count = ps;
		check_job(nodes, local, hosts);
	}
}

static const char *reason_of(const char *text, size_t tasks)
{
	struct ri_tf_config found;

	ri_tf_config_read(&found, text);
	assert_int_equal(found.tasks, tasks);
	return found.reason;
}

static void test_what_tensorflow_takes(void **state)
{
	(void)state;
	assert_null(reason_of("{}", 0));
	assert_null(reason_of("[]", 0));
	assert_null(reason_of("{\"cluster\":{}}", 0));
	assert_null(reason_of("{\"task\":{\"type\":\"worker\",\"index\":0}}", 0));
	assert_null(reason_of("{\"cluster\":{\"worker\":[\"a:1\",\"b:1\"]},"
			      "\"task\":{\"type\":\"worker\",\"index\":\" 1 \"}}", 2));
	assert_null(reason_of("{\"cluster\":{\"worker\":{\"7\":\"a:1\"},\"ps\":[\"b:1\"]},"
			      "\"task\":{\"type\":\"worker\",\"index\":7}}", 2));
	assert_null(reason_of("{\"cluster\":{\"worker\":[\"a:1\"]},"
			      "\"task\":{\"type\":\"evaluator\",\"index\":0}}", 1));
}

static void test_what_it_refuses(void **state)
{
	(void)state;
	assert_non_null(reason_of("", 0));
	assert_non_null(reason_of("null", 0));
	assert_non_null(reason_of("{\"cluster\":null}", 0));
	assert_non_null(reason_of("{\"cluster\":{\"worker\":[]},\"task\":1} x", 0));
	assert_non_null(reason_of("{\"cluster\":{\"worker\":[\"a:1\"]},"
				  "\"task\":{\"type\":1,\"index\":0}}", 1));
}

static int render_with_room_for(size_t bytes)
{
	static const char *const hosts[] = { "a", "b" };
	void *last = &arena;

	if (!memory_exhaust(&arena))
		return 99;
	while (last != NULL)
		last = ri_arena_alloc(&arena, 16);
	make_job(1, 1, hosts, 2);
	arena.used -= bytes;
	edits = (struct ri_env_edits){ .room = 77 };
	if (ri_variables_render(&edits, &topology, &(struct ri_context){ .env = &env,
			.wishes = &wishes, .arena = &arena, .findings = &findings,
			.command = &no_command }, &err) == 0)
		return config() != NULL ? 0 : 98;
	return err.code == RI_CODE_MEMORY && edits.room == 77 ? 1 : 97;
}

static int render_in_little_memory(void)
{
	int result = 1;

	for (size_t bytes = 0; bytes < 4096 && result == 1; bytes += 64) {
		reset(NULL);
		if (ri_env_init(&env, LIST("A=b"), &arena, &err) < 0)
			return 96;
		result = render_with_room_for(bytes);
	}
	return result;
}

static void test_out_of_memory(void **state)
{
	(void)state;
	assert_int_equal(memory_limited(render_in_little_memory), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_as_long_as_a_variable_may_be),
		TEST(test_one_byte_too_long),
		TEST(test_far_too_long),
		TEST(test_every_rank_finds_its_task),
		TEST(test_what_tensorflow_takes),
		TEST(test_what_it_refuses),
		TEST(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
