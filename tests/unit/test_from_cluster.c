/* SPDX-License-Identifier: Apache-2.0 */
/* ri_cluster_read: what a golden case cannot show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "from/hosts.h"
#include "out_of_memory.h"
#include "reading_of.h"
#include "topology_of.h"

static const char *const ranked[] = { "chief", "worker", NULL };
static const char *const others[] = { "ps", NULL };
static const struct ri_cluster_types types = { .ranked = ranked, .others = others };
static struct ri_cluster cluster;

static void read_text(const char *text)
{
	assert_true(ri_cluster_read(&cluster, text, &types, reading_of(&arena)));
}

static void test_a_worker_stands_behind_the_chief(void **state)
{
	(void)state;
	read_text("{\"cluster\": {\"worker\": [\"b:1\", \"c:1\"], \"ps\": [\"d:1\"],"
		  "\"chief\": [\"a:1\"]}, \"task\": {\"type\": \"worker\", \"index\": 1}}");
	assert_ptr_equal(cluster.role, ranked[1]);
	assert_int_equal(cluster.index, 1);
	assert_true(cluster.has_place);
	assert_int_equal(cluster.place, 2);
	assert_int_equal(cluster.count, 3);
	assert_string_equal(cluster.hosts[0], "a");
	assert_string_equal(cluster.hosts[2], "c");
	assert_null(cluster.fault);
}

static void test_parameter_servers_are_known_to_all_tasks(void **state)
{
	(void)state;
	read_text("{\"cluster\": {\"worker\": [\"b:1\"], \"ps\": [\"d:1\"]},"
		  "\"task\": {\"type\": \"worker\", \"index\": 0}}");
	assert_true(cluster.served);
	read_text("{\"cluster\": {\"worker\": [\"b:1\"], \"ps\": [], \"evaluator\": [\"d:1\"]},"
		  "\"task\": {\"type\": \"worker\", \"index\": 0}}");
	assert_false(cluster.served);
	take(LIST("TF_CONFIG={\"cluster\": {\"worker\": [\"a:1\", \"b:1\"], \"ps\": [\"c:1\"]},"
		  "\"task\": {\"type\": \"worker\", \"index\": 0}}"));
	assert_true(topology.facts[RI_FACT_ROLE].served);
	take(LIST("CLUSTER_SPEC={\"cluster\": {\"workerpool0\": [\"a:1\"], \"workerpool1\": "
		  "[\"b:1\"]}, \"task\": {\"type\": \"workerpool1\", \"index\": 0}}"));
	assert_false(topology.facts[RI_FACT_ROLE].served);
	take(LIST("CLUSTER_SPEC={\"cluster\": {\"workerpool0\": [\"a:1\"], \"workerpool2\": "
		  "[\"b:1\"]}, \"task\": {\"type\": \"workerpool0\", \"index\": 0}}"));
	assert_true(topology.facts[RI_FACT_ROLE].served);
}

static void test_another_task_has_a_role_and_an_index(void **state)
{
	(void)state;
	read_text("{\"cluster\": {\"worker\": [\"b:1\"]}, \"task\": {\"type\": \"ps\", "
		  "\"index\": \"3\"}}");
	assert_ptr_equal(cluster.role, others[0]);
	assert_int_equal(cluster.index, 3);
	assert_false(cluster.has_place);
	assert_int_equal(cluster.count, 0);
	assert_null(cluster.fault);
}

static void test_where_it_is_no_json(void **state)
{
	(void)state;
	read_text("{\"cluster\": x}");
	assert_string_equal(cluster.fault, "a JSON object");
	assert_in_range(cluster.fault_at, 12, 13);
	read_text("");
	assert_string_equal(cluster.fault, "a JSON object");
	assert_int_equal(cluster.fault_at, 0);
}

static void test_a_claim_says_where(void **state)
{
	(void)state;
	take(LIST("TF_CONFIG={\"cluster\": x}"));
	assert_in_range(topology.facts[RI_FACT_NODE_RANK].next->fault_at, 12, 13);
}

/* Is the index wrong, and is it there? */
static void assert_index(const char *expected, const char *text, const char *at)
{
	read_text(text);
	assert_non_null(cluster.fault);
	assert_string_equal(cluster.fault, expected);
	assert_string_equal(text + cluster.fault_at, at);
}

#define PAIR "\"cluster\": {\"worker\": [\"a:1\", \"b:1\"]}"

static void test_an_index_that_is_too_large(void **state)
{
	static const char expected[] =
		"an index below 2, the number of \"worker\" tasks, but it is 5";

	(void)state;
	assert_index(expected, "{" PAIR ", \"task\": {\"type\": \"worker\", \"index\" : 5}}",
		"5}}");
	assert_index(expected, "{\"task\": {\"index\": \"5\", \"type\": \"worker\"}, " PAIR "}",
		"\"5\", \"type\": \"worker\"}, " PAIR "}");
	/* what is called so elsewhere, and the last of two, as jansson has it */
	assert_index(expected, "{\"index\": 1, \"a\\\"\": {\"index\": 1}, " PAIR ", \"task\": "
		"{\"type\": \"worker\", \"x\": {\"index\": 1}, \"index\": 0, \"index\": 5}, "
		"\"b\": {\"index\": 1}, \"c\": \"index\"}",
		"5}, \"b\": {\"index\": 1}, \"c\": \"index\"}");
	assert_index("the index of a listed \"worker\" task, but it is 5",
		"{\"cluster\": {\"worker\": {\"1\": \"a:1\"}}, \"task\": {\"type\": \"worker\", "
		"\"index\": 5}}", "5}}");
}

static void test_an_index_that_is_none(void **state)
{
	static const char other[] = "{\"cluster\": {\"worker\": [\"a:1\"]}, "
				    "\"task\": {\"type\": \"ps\", \"index\": \"x\"}}";

	(void)state;
	assert_index("a task with an index",
		"{" PAIR ", \"task\": {\"type\": \"worker\", \"index\": -1}}", "-1}}");
	assert_index("a task with an index", other, "\"x\"}}");
	read_text("{" PAIR ", \"task\": {\"type\": \"worker\"}}");
	assert_non_null(cluster.fault);
	assert_int_equal(cluster.fault_at, 0);
	/* of no index's fault */
	read_text("{\"cluster\": {\"worker\": [\"\"]}, \"task\": {\"type\": \"worker\", "
		  "\"index\": 0}}");
	assert_non_null(cluster.fault);
	assert_int_equal(cluster.fault_at, 0);
}

static void assert_told(const char *text, char *const *strings)
{
	give_back(NULL);
	assert_refused(strings, RI_CODE_ENV_VALUE, "TF_CONFIG");
	assert_non_null(strstr(err.text, text));
	assert_null(strstr(err.text, "\\x"));
}

#define TASK(more) "\"task\": {\"type\": \"worker\", " more "\"index\": 5}"

static void test_a_long_value_is_shown_where_it_is_wrong(void **state)
{
	(void)state;
	assert_told("\\\"index\\\": 5}}\", expected an index below 2",
		LIST("TF_CONFIG={" PAIR ", " TASK("\"a\": \"an environment\", ") "}"));
	/* from a whole character on */
	assert_told("the value is \"...\303\274\303\274",
		LIST("TF_CONFIG={" PAIR ", " TASK("\"a\": \"\303\274\303\274\303\274\303\274"
			"\303\274\303\274\303\274\303\274\303\274\303\274\", ") "}"));
	assert_told("the value is \"...\303\274\303\274",
		LIST("TF_CONFIG={" PAIR ", " TASK("\"a\": \"\303\274\303\274\303\274\303\274"
			"\303\274\303\274\303\274\303\274\303\274\303\274.\", ") "}"));
	/* its start where that is wrong */
	assert_told("the value is \"{\\\"task", LIST("TF_CONFIG={\"task\":{\"index\":5,"
		"\"type\":\"worker\"}," PAIR "}"));
}

static void test_json_that_means_something_else(void **state)
{
	(void)state;
	read_text("{\"cluster\": 7}");
	assert_non_null(cluster.fault);
	assert_int_equal(cluster.fault_at, 0);
}

static void test_an_empty_cluster_gives_nobody_a_role(void **state)
{
	(void)state;
	read_text("{\"cluster\": {}, \"task\": {\"type\": \"worker\", \"index\": 0}}");
	assert_null(cluster.role);
	assert_null(cluster.fault);
	read_text("{\"cluster\": {\"worker\": [\"a:1\"]}, \"task\": {}}");
	assert_null(cluster.role);
	assert_null(cluster.fault);
}

static void test_an_index_past_the_largest_number_of_tasks(void **state)
{
	(void)state;
	read_text("{\"cluster\": {\"worker\": [\"a:1\"]}, \"task\": {\"type\": \"worker\", "
		  "\"index\": 18446744073709551616}}");
	assert_non_null(cluster.fault);
	read_text("{\"cluster\": {\"worker\": [\"a:1\"]}, \"task\": {\"type\": \"ps\", "
		  "\"index\": 1048575}}");
	assert_null(cluster.fault);
	assert_int_equal(cluster.index, 1048575);
	read_text("{\"cluster\": {\"worker\": [\"a:1\"]}, \"task\": {\"type\": \"ps\", "
		  "\"index\": 1048576}}");
	assert_string_equal(cluster.fault, "a task with an index");
}

/* As many as one string of the environment holds, in an order that is not theirs. */
static void test_a_large_cluster(void **state)
{
	enum { COUNT = 9000 };
	char *text = malloc(COUNT * 16 + 128), *at = text;

	(void)state;
	at += sprintf(at, "{\"cluster\": {\"worker\": [");
	for (int i = 0; i < COUNT; i++)
		at += sprintf(at, "%s\"h%d:1\"", i == 0 ? "" : ",", (i * 7) % COUNT);
	sprintf(at, "]}, \"task\": {\"type\": \"worker\", \"index\": %d}}", COUNT - 1);
	read_text(text);
	free(text);
	assert_int_equal(cluster.count, COUNT);
	assert_int_equal(cluster.place, COUNT - 1);
	assert_string_equal(cluster.hosts[2], "h14");
}

static void test_lists_in_lists_without_end(void **state)
{
	static char text[100001];

	(void)state;
	memset(text, '[', sizeof(text) - 1);
	read_text(text);
	assert_string_equal(cluster.fault, "a JSON object");
}

static void test_the_role_of_a_fact_is_the_type(void **state)
{
	(void)state;
	take(LIST("TF_CONFIG={\"cluster\":{\"worker\":[\"a:1\",\"b:1\"]},"
		  "\"task\":{\"type\":\"worker\",\"index\":1}}"));
	assert_string_equal(topology.facts[RI_FACT_ROLE].text, "worker");
	assert_int_equal(topology.facts[RI_FACT_ROLE].number, 1);
	assert_number(RI_FACT_NODE_RANK, 1);
	assert_number(RI_FACT_HOSTS, 2);
}

/* A service link is no JSON gone wrong. */
static void test_a_service_link_is_absent(void **state)
{
	(void)state;
	take(LIST("TF_CONFIG=tcp://10.0.0.1:80"));
	assert_int_equal(topology.source_count, 0);
	assert_int_equal(findings.count, 0);
}

static void *allocate_nothing(size_t size)
{
	(void)size;
	return NULL;
}

static void test_the_parser_runs_out_of_memory(void **state)
{
	bool read;

	(void)state;
	json_set_alloc_funcs(allocate_nothing, free);
	read = ri_cluster_read(&cluster, "{}", &types, reading_of(&arena));
	json_set_alloc_funcs(malloc, free);
	assert_false(read);
}

static int read_without_memory(void)
{
	static const char text[] = "{\"cluster\": {\"worker\": [\"a:1\"]}, \"task\": {\"type\": "
				   "\"worker\", \"index\": 0}}";
	struct ri_arena full = { .used = 0 };

	if (!memory_exhaust(&full))
		return 97;
	while (ri_arena_alloc(&full, 1) != NULL)
		;
	return !ri_cluster_read(&cluster, text, &types, reading_of(&full)) ? 0 : 96;
}

static void test_out_of_memory(void **state)
{
	(void)state;
	assert_int_equal(memory_limited(read_without_memory), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, give_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_worker_stands_behind_the_chief),
		TEST(test_parameter_servers_are_known_to_all_tasks),
		TEST(test_another_task_has_a_role_and_an_index),
		TEST(test_where_it_is_no_json),
		TEST(test_a_claim_says_where),
		TEST(test_an_index_that_is_too_large),
		TEST(test_an_index_that_is_none),
		TEST(test_a_long_value_is_shown_where_it_is_wrong),
		TEST(test_json_that_means_something_else),
		TEST(test_an_empty_cluster_gives_nobody_a_role),
		TEST(test_the_parser_runs_out_of_memory),
		TEST(test_an_index_past_the_largest_number_of_tasks),
		TEST(test_a_large_cluster),
		TEST(test_lists_in_lists_without_end),
		TEST(test_the_role_of_a_fact_is_the_type),
		TEST(test_a_service_link_is_absent),
		TEST(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
