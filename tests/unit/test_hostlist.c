/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "from/hosts.h"
#include "out_of_memory.h"
#include "reading_of.h"
#include "thinned.h"

static struct ri_arena arena;

static int give_back(void **state)
{
	(void)state;
	ri_arena_release(&arena);
	return 0;
}

static void assert_list(const char *text, const char *expected)
{
	struct ri_hostlist list;
	char got[512] = "";

	assert_true(ri_hostlist_read(&list, text, reading_of(&arena)));
	if (list.reason != NULL)
		fail_msg("\"%s\" at %zu: expected %s", text, list.fault_at, list.reason);
	for (size_t i = 0; i < list.count; i++) {
		if (i > 0)
			strncat(got, " ", sizeof(got) - strlen(got) - 1);
		strncat(got, list.hosts[i], sizeof(got) - strlen(got) - 1);
	}
	assert_string_equal(got, expected);
}

static void assert_fault(const char *text, size_t at, const char *word)
{
	struct ri_hostlist list;

	assert_true(ri_hostlist_read(&list, text, reading_of(&arena)));
	if (list.reason == NULL)
		fail_msg("\"%s\" is read", text);
	assert_non_null(strstr(list.reason, word));
	assert_int_equal(list.count, 0);
	assert_null(list.hosts);
	if (list.fault_at != at)
		fail_msg("\"%s\" goes wrong at %zu, not %zu", text, list.fault_at, at);
}

static void test_names(void **state)
{
	(void)state;
	assert_list("n0", "n0");
	assert_list("n0,n1", "n0 n1");
	assert_list("n1,n0,n1", "n1 n0 n1");
	assert_list(" n0\t,, n1 n2\n,", "n0 n1 n2");
	assert_list("10.0.0.4,fd00::2", "10.0.0.4 fd00::2");
}

static void test_ranges_in_order(void **state)
{
	(void)state;
	assert_list("n[0-3]", "n0 n1 n2 n3");
	assert_list("n[3,1-2,0]", "n3 n1 n2 n0");
	assert_list("n[22]", "n22");
	assert_list("n[8-11]", "n8 n9 n10 n11");
	assert_list("n[7-7]", "n7");
	assert_list("1.2.3.[89, 100-101]", "1.2.3.89 1.2.3.100 1.2.3.101");
	assert_list("n[ 1 , 2-3 ]", "n1 n2 n3");
	assert_list("n[1-2],m[3],k", "n1 n2 m3 k");
}

static void test_zeroes_in_front_are_kept(void **state)
{
	(void)state;
	assert_list("n[08-11]", "n08 n09 n10 n11");
	assert_list("n[099-101]", "n099 n100 n101");
	assert_list("n[08,9,010]", "n08 n9 n010");
	assert_list("n[00-1]", "n00 n01");
	assert_list("n[000000000000000001]", "n000000000000000001");
}

static void test_several_groups_and_text_after(void **state)
{
	(void)state;
	assert_list("foo[1,3]-bar", "foo1-bar foo3-bar");
	assert_list("r[1-2]n[08-09]", "r1n08 r1n09 r2n08 r2n09");
	assert_list("r[2,1]c[1-2]s[0,5]",
		"r2c1s0 r2c1s5 r2c2s0 r2c2s5 r1c1s0 r1c1s5 r1c2s0 r1c2s5");
	assert_list("a[1][2-3]", "a12 a13");
	assert_list("a[1][1][1][1][1][1][1][1-2]", "a11111111 a11111112");
}

static void test_what_is_no_list(void **state)
{
	(void)state;
	assert_fault("", 0, "such as");
	assert_fault(" , ", 0, "such as");
	assert_fault("n[0-1", 5, "such as");
	assert_fault("n[0", 3, "such as");
	assert_fault("n[", 2, "such as");
	assert_fault("n]", 1, "such as");
	assert_fault("m,n[]", 4, "such as");
	assert_fault("n[1,]", 4, "such as");
	assert_fault("n[,1]", 2, "such as");
	assert_fault("n[2-1]", 2, "such as");
	assert_fault("n[1-]", 2, "such as");
	assert_fault("n[-1]", 2, "such as");
	assert_fault("n[1-2-3]", 5, "such as");
	assert_fault("n[a]", 2, "such as");
	assert_fault("n[1,+2]", 4, "such as");
	assert_fault("n[0[1]]", 3, "such as");
	assert_fault("n[1;2]", 3, "such as");
	assert_fault("[1-2]", 0, "such as");
	assert_fault("m,n[1-2]/", 2, "such as");
	assert_fault("n[1000000000000000000]", 2, "such as");
	assert_fault("n[1-99999999999999999999999]", 2, "such as");
	assert_fault("a[1][1][1][1][1][1][1][1][1]", 25, "such as");
}

/* The longest lists that are read; below valgrind test_memory_is_that_of_the_names has one. */
static void assert_longest(const char *names, const char *more)
{
	struct ri_hostlist list;

	if (below_valgrind())
		return;
	assert_true(ri_hostlist_read(&list, names, reading_of(&arena)));
	assert_int_equal(list.count, RI_MAX_RANKS);
	assert_string_equal(list.hosts[RI_MAX_RANKS - 1], "n1048575");
	assert_true(ri_hostlist_read(&list, more, reading_of(&arena)));
	assert_int_equal(list.count, 131072);
}

static void test_a_list_is_bounded(void **state)
{
	struct ri_hostlist list;
	char text[RI_MAX_NAME + 64];

	(void)state;
	assert_fault("n[0-99999999]", 0, "1048576");
	assert_fault("m,n[0-999999999999999999]", 2, "1048576");
	assert_fault("n[0-1048576]", 0, "1048576");
	assert_fault("n[0-1048574],m,k", 15, "1048576");
	assert_fault("a[0-1023]b[0-1024]", 0, "1048576");
	assert_fault("a[0-99999999]b[0-99999999]c[0-99999999]d[0-99999999]", 0, "1048576");
	assert_fault("a[0-1048575,0]", 0, "1048576");
	/* fewer hosts than that with longer names: 131072 of 256 bytes */
	memset(text, 'a', RI_MAX_NAME);
	strcpy(text + RI_MAX_NAME - 6, "[100000-231072]");
	assert_fault(text, 0, "1048576");
	strcpy(text + RI_MAX_NAME - 6, "[100000-231071]");
	assert_longest("n[0-1048575]", text);
	memset(text, 'a', RI_MAX_NAME);
	strcpy(text + RI_MAX_NAME - 1, "[1-2]");
	assert_true(ri_hostlist_read(&list, text, reading_of(&arena)));
	assert_int_equal(list.count, 2);
	assert_int_equal(strlen(list.hosts[1]), RI_MAX_NAME);
	strcpy(text + RI_MAX_NAME - 1, "[10]");
	assert_fault(text, 0, "such as");
}

static size_t mapped_by(struct ri_arena *of)
{
	size_t bytes = 0;

	/* the header of a chunk is its next one, and its size */
	for (const size_t *chunk = (const size_t *)of->chunks; chunk != NULL;
		chunk = *(const size_t *const *)chunk)
		bytes += chunk[1];
	return bytes;
}

/* 100,000 names of nine bytes, and as many pointers, whole pages counted. */
static void test_memory_is_that_of_the_names(void **state)
{
	struct ri_hostlist list;

	(void)state;
	assert_true(ri_hostlist_read(&list, "node[00000-99999]", reading_of(&arena)));
	assert_int_equal(list.count, 100000);
	assert_string_equal(list.hosts[99999], "node99999");
	assert_in_range(mapped_by(&arena), 1800000, 2400000);
}

static int read_without_memory(void)
{
	struct ri_hostlist list;

	return memory_exhaust(&arena) &&
		!ri_hostlist_read(&list, "n[0-999999]", reading_of(&arena)) ? 0 : 1;
}

/* The pointers fit into what is left over, the names do not. */
static int read_without_memory_for_names(void)
{
	struct ri_hostlist list;
	char text[256];

	memset(text, 'a', sizeof(text));
	strcpy(text + 240, "[1000-9999]");
	return memory_exhaust(&arena) && !ri_hostlist_read(&list, text, reading_of(&arena)) ? 0 : 1;
}

static void test_a_list_without_memory(void **state)
{
	(void)state;
	assert_int_equal(memory_limited(read_without_memory), 0);
	assert_int_equal(memory_limited(read_without_memory_for_names), 0);
}

static void assert_tasks(const char *text, uint64_t node, const struct ri_tasks *expected)
{
	struct ri_tasks got;

	assert_true(ri_tasks_read(text, node, &got));
	assert_int_equal(got.nodes, expected->nodes);
	assert_int_equal(got.tasks, expected->tasks);
	assert_int_equal(got.here, expected->here);
}

static void test_tasks_per_node(void **state)
{
	static const uint64_t here[] = { 2, 2, 2, 1, 0 };

	(void)state;
	for (uint64_t node = 0; node < 5; node++)
		assert_tasks("2(x3),1", node, &(struct ri_tasks){ 4, 7, here[node] });
	assert_tasks("8", 0, &(struct ri_tasks){ 1, 8, 8 });
	assert_tasks("4,1(x2)", 2, &(struct ri_tasks){ 3, 6, 1 });
	assert_tasks("1048576(x1048576)", 1048575,
		&(struct ri_tasks){ 1048576, 1099511627776, 1048576 });
	assert_tasks("1", UINT64_MAX, &(struct ri_tasks){ 1, 1, 0 });
}

static void test_what_is_no_list_of_tasks(void **state)
{
	static const char *const wrong[] = {
		"", ",", "1,", ",1", "1,,2", "x", "-1", "+1", " 1", "1 ", "1, 2", "0", "2,0",
		"1(", "1()", "1(x", "1(x)", "1(x2", "1(2)", "1(X2)", "1(x0)", "1(x-1)", "1(x2))",
		"1(x2)3", "(x2)", "1048577", "1(x1048577)", "99999999999999999999999",
		"1(x99999999999999999999999)",
	};
	struct ri_tasks got = { .nodes = 77 };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (ri_tasks_read(wrong[i], 0, &got))
			fail_msg("\"%s\" is read", wrong[i]);
	assert_int_equal(got.nodes, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_names, give_back),
		cmocka_unit_test_teardown(test_ranges_in_order, give_back),
		cmocka_unit_test_teardown(test_zeroes_in_front_are_kept, give_back),
		cmocka_unit_test_teardown(test_several_groups_and_text_after, give_back),
		cmocka_unit_test_teardown(test_what_is_no_list, give_back),
		cmocka_unit_test_teardown(test_a_list_is_bounded, give_back),
		cmocka_unit_test_teardown(test_memory_is_that_of_the_names, give_back),
		cmocka_unit_test_teardown(test_a_list_without_memory, give_back),
		cmocka_unit_test(test_tasks_per_node),
		cmocka_unit_test(test_what_is_no_list_of_tasks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
