/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "out_of_memory.h"

/* A list as execve(2) passes it, out of literals. */
#define LIST(...) ((char *const *)(uintptr_t)(const char *const[]){ __VA_ARGS__, NULL })

static struct ri_arena arena;
static struct ri_error err;
static struct ri_env env;
static struct ri_env_edits edits;

static int give_back(void **state)
{
	(void)state;
	ri_arena_release(&arena);
	err = (struct ri_error)RI_ERROR_INIT;
	env = (struct ri_env){ .count = 0 };
	edits = (struct ri_env_edits){ .count = 0 };
	return 0;
}

static void take(char *const *strings)
{
	assert_int_equal(ri_env_init(&env, strings, &arena, &err), 0);
	assert_int_equal(err.code, RI_CODE_NONE);
}

static void edit(const char *name, const char *value)
{
	const struct ri_env_edit one = { .name = name, .value = value };

	assert_int_equal(ri_env_edits_add(&edits, one, &arena, &err), 0);
}

/* The edited environment is this list, string by string. */
static void assert_applied(char *const *expected)
{
	char **list = ri_env_apply(&env, &edits, &arena, &err);
	size_t i;

	assert_non_null(list);
	for (i = 0; expected[i] != NULL; i++) {
		assert_non_null(list[i]);
		assert_string_equal(list[i], expected[i]);
	}
	assert_null(list[i]);
}

static void test_get_like_getenv(void **state)
{
	(void)state;
	take(LIST("RANK=3", "EMPTY=", "EQUALS=a=b", "LONG_NAME=x", "TWO=1", "TWO=2"));
	assert_int_equal(env.count, 6);
	assert_string_equal(ri_env_get(&env, "RANK"), "3");
	assert_string_equal(ri_env_get(&env, "EMPTY"), "");
	assert_string_equal(ri_env_get(&env, "EQUALS"), "a=b");
	assert_string_equal(ri_env_get(&env, "TWO"), "1");
	assert_null(ri_env_get(&env, "RAN"));
	assert_null(ri_env_get(&env, "RANKS"));
	assert_null(ri_env_get(&env, "LONG"));
	assert_null(ri_env_get(&env, "EQUALS=a"));
	assert_null(ri_env_get(&env, "rank"));
}

static void test_borrowed(void **state)
{
	char *const *list = LIST("A=1", "B=2");

	(void)state;
	take(list);
	assert_ptr_equal(env.entries[0].text, list[0]);
	assert_ptr_equal(env.entries[1].text, list[1]);
	assert_ptr_equal(ri_env_get(&env, "B"), list[1] + 2);
}

static void test_empty_list(void **state)
{
	static char *const nothing[] = { NULL };

	(void)state;
	take(nothing);
	assert_int_equal(env.count, 0);
	assert_null(ri_env_get(&env, "PATH"));
	assert_null(ri_env_find(&env, ""));
	assert_applied(nothing);
	edit("A", "1");
	assert_applied(LIST("A=1"));
}

static void test_without_equals_is_no_variable(void **state)
{
	const struct ri_env_entry *entry;

	(void)state;
	take(LIST("RANK", "RANK=1", "ALONE", ""));
	assert_string_equal(ri_env_get(&env, "RANK"), "1");
	assert_null(ri_env_get(&env, "ALONE"));
	entry = ri_env_find(&env, "ALONE");
	assert_non_null(entry);
	assert_int_equal(entry->name_length, 5);
	assert_null(ri_env_entry_value(entry));
	entry = ri_env_find(&env, "RANK");
	assert_ptr_equal(entry, &env.entries[0]);
	assert_int_equal(entry->next, 2);
}

static void test_empty_name_is_no_variable(void **state)
{
	(void)state;
	take(LIST("=value", "A=1"));
	assert_null(ri_env_get(&env, ""));
	assert_ptr_equal(ri_env_find(&env, ""), &env.entries[0]);
	assert_string_equal(ri_env_entry_value(&env.entries[0]), "value");
}

static void test_duplicates_are_chained(void **state)
{
	const struct ri_env_entry *entry;

	(void)state;
	take(LIST("A=1", "B=x", "A=2", "A", "A=3"));
	entry = ri_env_find(&env, "A");
	assert_ptr_equal(entry, &env.entries[0]);
	assert_int_equal(entry->next, 3);
	assert_int_equal(env.entries[2].next, 4);
	assert_int_equal(env.entries[3].next, 5);
	assert_int_equal(env.entries[4].next, 0);
	assert_int_equal(env.entries[1].next, 0);
}

static void test_entry_is(void **state)
{
	(void)state;
	take(LIST("RANK=1"));
	assert_true(ri_env_entry_is(&env.entries[0], "RANK=9", 4));
	assert_true(ri_env_entry_is(&env.entries[0], "RANKING", 4));
	assert_false(ri_env_entry_is(&env.entries[0], "RANK", 3));
	assert_false(ri_env_entry_is(&env.entries[0], "TANK", 4));
	assert_false(ri_env_entry_is(&env.entries[0], "", 0));
}

static void test_strange_names_pass(void **state)
{
	char *const *list = LIST("com.nvidia.cuda.version=12", "A B=1", "X=line\nline\n", "\n=2",
		"\xff\xfe=\x80", "BASH_FUNC_f%%=() { :\n}", "D=1", "D=2", "noequals", "", "=",
		"==");

	(void)state;
	take(list);
	assert_string_equal(ri_env_get(&env, "com.nvidia.cuda.version"), "12");
	assert_string_equal(ri_env_get(&env, "\n"), "2");
	assert_string_equal(ri_env_get(&env, "X"), "line\nline\n");
	assert_applied(list);
}

static void test_no_edits_same_pointers(void **state)
{
	char *const *list = LIST("D=1", "plain", "D=2", "", "=x", "E=\n");
	char **made;

	(void)state;
	take(list);
	made = ri_env_apply(&env, &edits, &arena, &err);
	assert_non_null(made);
	for (size_t i = 0; i < 6; i++)
		assert_ptr_equal(made[i], list[i]);
	assert_null(made[6]);
}

static void test_set_replaces_first_drops_rest(void **state)
{
	(void)state;
	take(LIST("X=0", "A=1", "Y=0", "A=2", "Z=0", "A=3"));
	edit("A", "new");
	assert_applied(LIST("X=0", "A=new", "Y=0", "Z=0"));
}

static void test_set_to_empty(void **state)
{
	(void)state;
	take(LIST("A=1"));
	edit("A", "");
	edit("B", "");
	assert_applied(LIST("A=", "B="));
}

static void test_remove_drops_all(void **state)
{
	(void)state;
	take(LIST("A=1", "B=1", "A=2", "C=1", "A="));
	edit("A", NULL);
	edit("NOT_THERE", NULL);
	assert_applied(LIST("B=1", "C=1"));
	edit("B", NULL);
	edit("C", NULL);
	assert_applied(LIST(NULL));
}

/* A string without '=' is not a variable: no edit of a variable touches it. */
static void test_edits_leave_what_is_no_variable(void **state)
{
	(void)state;
	take(LIST("A", "B", "A=1", "A"));
	edit("A", "2");
	edit("B", NULL);
	edit("C", "3");
	assert_applied(LIST("A", "B", "A=2", "A", "C=3"));
}

static void test_new_at_the_end_in_order(void **state)
{
	(void)state;
	take(LIST("M=1"));
	edit("Z", "1");
	edit("M", "2");
	edit("A", "3");
	assert_applied(LIST("M=2", "Z=1", "A=3"));
}

static void test_later_edit_wins(void **state)
{
	(void)state;
	take(LIST("A=0", "B=0", "C=0"));
	edit("A", "1");
	edit("A", "2");
	edit("B", NULL);
	edit("B", "back");
	edit("C", "1");
	edit("C", NULL);
	edit("D", "1");
	edit("D", NULL);
	assert_string_equal(ri_env_edits_find(&edits, "A")->value, "2");
	assert_string_equal(ri_env_edits_find(&edits, "B")->value, "back");
	assert_null(ri_env_edits_find(&edits, "C")->value);
	assert_null(ri_env_edits_find(&edits, "E"));
	assert_applied(LIST("A=2", "B=back"));
}

static void test_edits_grow(void **state)
{
	enum { COUNT = 1000 };
	static char names[COUNT][16];
	char **list;

	(void)state;
	take(LIST("N_500=old"));
	for (int i = 0; i < COUNT; i++) {
		snprintf(names[i], sizeof(names[i]), "N_%d", i);
		edit(names[i], names[i]);
	}
	assert_int_equal(edits.count, COUNT);
	list = ri_env_apply(&env, &edits, &arena, &err);
	assert_non_null(list);
	assert_string_equal(list[0], "N_500=N_500");
	assert_string_equal(list[1], "N_0=N_0");
	assert_string_equal(list[COUNT - 1], "N_999=N_999");
	assert_null(list[COUNT]);
}

/* 50,000 strings, every tenth a duplicate, with 16 bytes each. */
enum { MANY = 50000 };

static char **many_strings(void)
{
	static char text[MANY][16];
	static char *list[MANY + 1];

	for (int i = 0; i < MANY; i++) {
		snprintf(text[i], sizeof(text[i]), "V_%d=%d", i - i % 10 / 9, i);
		list[i] = text[i];
	}
	return list;
}

static void test_many(void **state)
{
	char **strings = many_strings(), **list;
	size_t kept = 0;

	(void)state;
	take(strings);
	assert_int_equal(env.count, MANY);
	assert_string_equal(ri_env_get(&env, "V_49997"), "49997");
	assert_string_equal(ri_env_get(&env, "V_8"), "8");
	assert_null(ri_env_get(&env, "V_9"));
	edit("V_8", "new");
	edit("V_49998", NULL);
	edit("LAST", "1");
	list = ri_env_apply(&env, &edits, &arena, &err);
	assert_non_null(list);
	assert_string_equal(list[8], "V_8=new");
	assert_ptr_equal(list[9], strings[10]);
	while (list[kept] != NULL)
		kept++;
	assert_int_equal(kept, MANY - 1 - 2 + 1);
	assert_string_equal(list[kept - 1], "LAST=1");
}

/* Linked through their tails: a walk of the chain for each would be quadratic. */
static void test_one_name_often(void **state)
{
	char *strings[2001] = { NULL };

	(void)state;
	for (size_t i = 0; i < 2000; i++)
		strings[i] = (char *)(uintptr_t)(i % 2 ? "A=odd" : "A=even");
	take(strings);
	edit("A", "one");
	assert_applied(LIST("A=one"));
}

static int init_without_memory(void)
{
	struct ri_env untouched = { .count = 77 };

	if (!memory_exhaust(&arena))
		return 1;
	if (ri_env_init(&untouched, many_strings(), &arena, &err) != -1)
		return 2;
	if (err.code != RI_CODE_MEMORY || strcmp(err.subject, "environment") != 0)
		return 3;
	return untouched.count == 77 ? 0 : 4;
}

static int apply_without_memory(void)
{
	static char value[MEMORY_LARGE];
	const struct ri_env_edit large = { .name = "A", .value = value };

	memset(value, 'v', sizeof(value) - 1);
	if (ri_env_init(&env, LIST("A=1"), &arena, &err) < 0 ||
		ri_env_edits_add(&edits, large, &arena, &err) < 0 || !memory_exhaust(&arena))
		return 1;
	if (ri_env_apply(&env, &edits, &arena, &err) != NULL)
		return 2;
	return err.code == RI_CODE_MEMORY && strcmp(err.subject, "environment") == 0 ? 0 : 3;
}

static int edit_without_memory(void)
{
	const struct ri_env_edit one = { .name = "A", .value = "1" };

	if (!memory_exhaust(&arena))
		return 1;
	for (size_t i = 0; i < MEMORY_LARGE; i++) {
		if (ri_env_edits_add(&edits, one, &arena, &err) < 0)
			return err.code == RI_CODE_MEMORY && edits.count == i ? 0 : 2;
	}
	return 3;
}

static void test_memory(void **state)
{
	(void)state;
	assert_int_equal(memory_limited(init_without_memory), 0);
	assert_int_equal(memory_limited(apply_without_memory), 0);
	assert_int_equal(memory_limited(edit_without_memory), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, give_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_get_like_getenv),
		TEST(test_borrowed),
		TEST(test_empty_list),
		TEST(test_without_equals_is_no_variable),
		TEST(test_empty_name_is_no_variable),
		TEST(test_duplicates_are_chained),
		TEST(test_entry_is),
		TEST(test_strange_names_pass),
		TEST(test_no_edits_same_pointers),
		TEST(test_set_replaces_first_drops_rest),
		TEST(test_set_to_empty),
		TEST(test_remove_drops_all),
		TEST(test_edits_leave_what_is_no_variable),
		TEST(test_new_at_the_end_in_order),
		TEST(test_later_edit_wins),
		TEST(test_edits_grow),
		TEST(test_many),
		TEST(test_one_name_often),
		TEST(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
