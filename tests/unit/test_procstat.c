/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/proc.h"

/* Fields 6 to 22 of a real line; the last one is the start time. */
#define REST " 9 0 -1 4194304 1 0 0 0 2 1 0 0 20 0 1 0 7718"

static void reads_an_ordinary_line(void **state)
{
	struct ri_procstat found;

	(void)state;
	assert_true(ri_procstat_read("12 (python3) S 1 12" REST " 5 6\n", &found));
	assert_int_equal(found.pid, 12);
	assert_int_equal(found.parent, 1);
	assert_int_equal(found.group, 12);
	assert_int_equal(found.session, 9);
	assert_int_equal(found.state, 'S');
	assert_string_equal(found.name, "python3");
	assert_int_equal(found.started, 7718);
	assert_int_equal(found.ticks, 3);
	assert_int_equal(found.faults, 1);
}

static void tells_which_signals_are_ignored_or_have_a_handler(void **state)
{
	static const char to_34[] = "12 (a) S 1 12" REST " 5 6 7 8 9 10 11 12 13 14 15 ";
	struct ri_procstat found;
	char line[256];

	(void)state;
	snprintf(line, sizeof(line), "%s16386 0 0\n", to_34);
	assert_true(ri_procstat_read(line, &found));
	assert_int_equal(found.ignored, 15);
	assert_int_equal(found.caught, 16386);
	/* all, where the line ends before or has no number there */
	assert_true(ri_procstat_read("12 (a) S 1 12" REST "\n", &found));
	assert_true(found.ignored == UINT64_MAX && found.caught == UINT64_MAX);
	snprintf(line, sizeof(line), "%s-1\n", to_34);
	assert_true(ri_procstat_read(line, &found));
	assert_true(found.caught == UINT64_MAX);
}

/* PF_EXITING among the flags, or a state that says so. */
static void tells_who_is_dying(void **state)
{
	static const struct {
		const char *line;
		bool dying;
	} lines[] = {
		{ "12 (a) S 1 12 9 0 -1 4194304 1 0 0 0 2 1 0 0 20 0 1 0 7718", false },
		{ "12 (a) R 1 12 9 0 -1 4194308 1 0 0 0 2 1 0 0 20 0 1 0 7718", true },
		{ "12 (a) S 1 12 9 0 -1 4 1 0 0 0 2 1 0 0 20 0 1 0 7718", true },
		{ "12 (a) Z 1 12 9 0 -1 0 1 0 0 0 2 1 0 0 20 0 1 0 7718", true },
		{ "12 (a) X 1 12 9 0 -1 0 1 0 0 0 2 1 0 0 20 0 1 0 7718", true },
		{ "12 (a) T 1 12 4 4 4 8 4 4 4 4 4 4 4 4 20 4 4 4 7718", false },
	};
	struct ri_procstat found;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_true(ri_procstat_read(lines[i].line, &found));
		assert_int_equal(found.dying, lines[i].dying);
	}
	assert_false(ri_procstat_read("12 (a) S 1 12 9 0 -1 x 1 0 0 0 2 1 0 0 20 0 1 0 7718",
		&found));
}

static void a_name_may_look_like_the_rest(void **state)
{
	struct ri_procstat found;

	(void)state;
	assert_true(ri_procstat_read("7 (a) Z 99 (b) T 3 4" REST "\n", &found));
	assert_string_equal(found.name, "a) Z 99 (b");
	assert_int_equal(found.state, 'T');
	assert_int_equal(found.parent, 3);
	assert_int_equal(found.group, 4);
}

static void a_long_name_is_cut(void **state)
{
	struct ri_procstat found;

	(void)state;
	assert_true(ri_procstat_read("7 (0123456789abcdefXYZ) S 1 7" REST, &found));
	assert_string_equal(found.name, "0123456789abcde");
}

static void our_own_file_is_one(void **state)
{
	struct ri_procstat found;
	char text[1024] = "";
	FILE *file = fopen("/proc/self/stat", "r");

	(void)state;
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	assert_true(ri_procstat_read(text, &found));
	assert_int_equal(found.pid, getpid());
	assert_int_equal(found.parent, getppid());
	assert_int_equal(found.group, getpgrp());
	assert_true(found.started > 0);
}

static void anything_else_is_refused_and_leaves_out(void **state)
{
	static const char *const lines[] = {
		"",
		"12",
		"12 (python3",
		"12 python3) S 1 12" REST,
		"12 )python3( S 1 12" REST,
		"12 (python3)S 1 12" REST,
		"12 (python3) ",
		"12 (python3) SS 1 12" REST,
		"12 (python3) S",
		"12 (python3) S 1 12 9 0",
		"12 (python3) S -1 12" REST,
		"12 (python3) S x 12" REST,
		"12 (python3) S 1 99999999999" REST,
		"x (python3) S 1 12" REST,
		"12 (python3) S 1 12 9 0 -1 4194304 1 0 0 0 2 1 0 0 20 0 1 0 -5",
	};
	struct ri_procstat found, before;

	(void)state;
	memset(&found, 7, sizeof(found));
	memcpy(&before, &found, sizeof(found));
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (ri_procstat_read(lines[i], &found))
			fail_msg("taken: %s", lines[i]);
		assert_memory_equal(&found, &before, sizeof(found));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_an_ordinary_line),
		cmocka_unit_test(tells_which_signals_are_ignored_or_have_a_handler),
		cmocka_unit_test(tells_who_is_dying),
		cmocka_unit_test(a_name_may_look_like_the_rest),
		cmocka_unit_test(a_long_name_is_cut),
		cmocka_unit_test(our_own_file_is_one),
		cmocka_unit_test(anything_else_is_refused_and_leaves_out),
	};

	return cmocka_run_group_tests_name("procstat", tests, NULL, NULL);
}
