/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/state.h"

static const struct ri_job job = {
	.word = RI_JOB_RUNNING, .pid = 1, .born = 7718, .ranks = 4,
	.since = { .tv_sec = 1700000000 },
};

static const char *described(const struct ri_job *which)
{
	static char bytes[RI_JOB_SIZE];
	struct ri_text text;

	text = ri_text_of(bytes, sizeof(bytes));
	ri_job_describe(which, &text);
	assert_false(text.cut);
	return bytes;
}

static void a_line_is_read_again(void **state)
{
	struct ri_job largest = {
		.pid = INT32_MAX, .born = UINT64_MAX, .ranks = 1048576, .exit_status = 255,
		.since = { .tv_sec = 253402300799 },
	}, found;
	char bytes[RI_JOB_SIZE];
	struct ri_text text;

	(void)state;
	for (int word = 0; word < RI_JOB_COUNT; word++) {
		largest.word = (enum ri_job_word)word;
		text = ri_text_of(bytes, sizeof(bytes));
		ri_job_render(&largest, &text);
		assert_false(text.cut);
		assert_true(bytes[text.length - 1] == '\n');
		assert_true(ri_job_read(bytes, &found));
		assert_int_equal(found.word, word);
		assert_int_equal(found.pid, largest.pid);
		assert_true(found.born == largest.born);
		assert_true(found.ranks == largest.ranks);
		assert_int_equal(found.exit_status, 255);
		assert_true(found.since.tv_sec == largest.since.tv_sec);
	}
}

static void what_people_see(void **state)
{
	struct ri_job other = job;

	(void)state;
	assert_string_equal(described(&job),
		"running: 4 ranks, since 2023-11-14T22:13:20.000Z (pid 1)");
	other.ranks = 1;
	assert_string_equal(described(&other),
		"running, since 2023-11-14T22:13:20.000Z (pid 1)");
	other.word = RI_JOB_FAILED;
	other.exit_status = 137;
	assert_string_equal(described(&other),
		"failed: exit status 137, since 2023-11-14T22:13:20.000Z (pid 1)");
}

static void later_versions_may_add_names(void **state)
{
	struct ri_job found;

	(void)state;
	assert_true(ri_job_read("rankinit-state-1 done new=x pid=5 born=1 ranks=1 status=0 "
				"since=9 last=\n", &found));
	assert_int_equal(found.pid, 5);
}

static void anything_else_is_refused_and_leaves_out(void **state)
{
	static const char *const lines[] = {
		"", "\n", "running", "rankinit-state-1 ", "rankinit-state-1 running",
		"rankinit-state-2 running pid=5 born=1 ranks=1 status=0 since=9",
		"rankinit-state-1 ran pid=5 born=1 ranks=1 status=0 since=9",
		"rankinit-state-1 running pid=0 born=1 ranks=1 status=0 since=9",
		"rankinit-state-1 running pid=-5 born=1 ranks=1 status=0 since=9",
		"rankinit-state-1 running pid=5 born=1 ranks=1 status=256 since=9",
		"rankinit-state-1 running pid=5 born=1 ranks=1 status= since=9",
		"rankinit-state-1 running pid=5 born=1 ranks=1 status=0",
		"rankinit-state-1 running xpid=5 born=1 ranks=1 status=0 since=9",
		"rankinit-state-1 running pid=5 born=1 ranks=1 status=0 since=99999999999999999999",
		"rankinit-state-1 running pid=5 born=1 ranks=1 status=0 "
		"since=000000000000000000000000000000009",
	};
	struct ri_job found, before;

	(void)state;
	memset(&found, 7, sizeof(found));
	memcpy(&before, &found, sizeof(found));
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (ri_job_read(lines[i], &found))
			fail_msg("taken: %s", lines[i]);
		assert_memory_equal(&found, &before, sizeof(found));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_read_again),
		cmocka_unit_test(what_people_see),
		cmocka_unit_test(later_versions_may_add_names),
		cmocka_unit_test(anything_else_is_refused_and_leaves_out),
	};

	return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}
