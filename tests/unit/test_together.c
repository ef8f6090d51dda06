/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank of a job holds up the others, by what each node says of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "hang/together.h"

#define WAIT "collective still all_reduce @ all_reduce (train.py:16)|\n"
#define LOADER \
	"loader still - @ _BaseDataLoaderIter.__next__ (train.py:9)|waits for its data loader\n"
#define BARRIER "collective still barrier @ barrier (train.py:30)|\n"

static struct ri_arena arena;
static struct ri_together *together;
static struct ri_together_found found;

static void begin(size_t nodes, uint64_t world)
{
	ri_arena_release(&arena);
	together = ri_together_new(&arena, nodes, world);
	assert_non_null(together);
}

static const char *add_text(size_t node, const char *text)
{
	char host[16];

	snprintf(host, sizeof(host), "gpu-%04zu", 500 + node);
	return ri_together_add(together, node, host, text, strlen(text));
}

/* A line whose '@' stands for ranks. */
static void add_line(struct ri_text *out, const char *line, const char *ranks)
{
	const char *at = strchr(line, '@');

	ri_text_add_bytes(out, line, (size_t)(at - line));
	ri_text_add(out, ranks);
	ri_text_add(out, at + 1);
}

/* One line of a node, or two. */
static void add(size_t node, const char *line, const char *ranks, const char *more,
	const char *others)
{
	char bytes[1024];
	struct ri_text text;

	text = ri_text_of(bytes, sizeof(bytes));
	add_line(&text, line, ranks);
	if (more != NULL)
		add_line(&text, more, others);
	assert_null(add_text(node, bytes));
}

/* Nodes first to last of eight ranks, which all wait. */
static void add_waiting(size_t first, size_t last)
{
	for (size_t node = first; node <= last; node++) {
		char ranks[32];

		snprintf(ranks, sizeof(ranks), "%zu-%zu", 8 * node, 8 * node + 7);
		add(node, WAIT, ranks, NULL, NULL);
	}
}

static void expect(int64_t rank, int64_t node, const char *text)
{
	assert_true(ri_together_judge(together, &found));
	assert_string_equal(found.text, text);
	assert_int_equal(found.rank, rank);
	assert_int_equal(found.node, node);
}

static void test_a_data_loader(void **state)
{
	(void)state;
	begin(8, 64);
	add_waiting(0, 0);
	add(1, WAIT, "8-12,14-15", LOADER, "13");
	add_waiting(2, 7);
	expect(13, 1, "of 64 ranks 63 wait in all_reduce (train.py:16), rank 13 (node 1, gpu-0501) "
		"is in _BaseDataLoaderIter.__next__ (train.py:9) and waits for its data loader");
	assert_int_equal(found.odd, 1);
	/* the control: it waits, too */
	add_waiting(1, 1);
	expect(-1, -1, "of 64 ranks 64 wait in all_reduce (train.py:16)");
	assert_int_equal(found.odd, 0);
}

static void test_two_looks(void **state)
{
	static const char *const lines[] = {
		"loader moves - @ next (train.py:9)|waits for its data loader\n",
		"loader once - @ next (train.py:9)|waits for its data loader\n",
		"unknown still - @ |does something that is not known\n",
		"collective moves all_reduce @ all_reduce (train.py:16)|\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		begin(2, 8);
		add(0, WAIT, "0-2", lines[i], "3");
		add(1, WAIT, "4-7", NULL, NULL);
		assert_true(ri_together_judge(together, &found));
		assert_int_equal(found.odd, 0);
		assert_int_equal(found.rank, -1);
	}
	begin(2, 8);
	add(0, WAIT, "0-2", LOADER, "3");
	add(1, WAIT, "4-7", NULL, NULL);
	assert_true(ri_together_judge(together, &found));
	assert_int_equal(found.rank, 3);
}

static void test_several(void **state)
{
	(void)state;
	begin(8, 64);
	add_waiting(0, 6);
	add(7, WAIT, "56-59", LOADER, "60-63");
	expect(-1, -1, "of 64 ranks 60 wait in all_reduce (train.py:16), ranks 60-63 (node 7, "
		"gpu-0507) are in _BaseDataLoaderIter.__next__ (train.py:9), and each waits for "
		"its data loader");
	assert_int_equal(found.odd, 4);
	add(6, WAIT, "48-51", LOADER, "52-55");
	assert_true(ri_together_judge(together, &found));
	assert_int_equal(found.odd, 8);
	assert_non_null(strstr(found.text, "ranks 52-55, 60-63 (nodes 6-7) are in"));
	/* one more than a quarter */
	add(5, WAIT, "40-43", LOADER, "44-47");
	add(4, WAIT, "32-34", LOADER, "35-39");
	expect(-1, -1, "of 64 ranks, ranks 0-34, 40-43, 48-51, 56-59 (nodes 0-7) wait in "
		"all_reduce (train.py:16), ranks 35-39, 44-47, 52-55, 60-63 (nodes 4-7) are in "
		"_BaseDataLoaderIter.__next__ (train.py:9), and each waits for its data loader");
	assert_int_equal(found.odd, 0);
}

static void test_half_and_half(void **state)
{
	(void)state;
	begin(2, 8);
	add(0, WAIT, "0-3", NULL, NULL);
	add(1, BARRIER, "4-7", NULL, NULL);
	expect(-1, -1, "of 8 ranks, ranks 0-3 (node 0, gpu-0500) wait in all_reduce (train.py:16), "
		"ranks 4-7 (node 1, gpu-0501) wait in barrier (train.py:30)");
	assert_int_equal(found.odd, 0);
	/* two ranks are too few for a suspect: each is said with its place */
	begin(2, 2);
	add(0, WAIT, "0", NULL, NULL);
	add(1, LOADER, "1", NULL, NULL);
	expect(-1, -1, "of 2 ranks, rank 0 (node 0, gpu-0500) waits in all_reduce (train.py:16), "
		"rank 1 (node 1, gpu-0501) is in _BaseDataLoaderIter.__next__ (train.py:9) and "
		"waits for its data loader");
	assert_int_equal(found.odd, 0);
}

static void test_another_collective(void **state)
{
	(void)state;
	begin(2, 8);
	add(0, WAIT, "0-3", NULL, NULL);
	add(1, WAIT, "5-7", BARRIER, "4");
	expect(4, 1, "the ranks differ: of 8 ranks 7 wait in all_reduce (train.py:16), rank 4 "
		"(node 1, gpu-0501) waits in barrier (train.py:30)");
	/* of two that differ the one that waits for nobody is the cause */
	add(0, WAIT, "0-2", LOADER, "3");
	expect(3, 0, "of 8 ranks 6 wait in all_reduce (train.py:16), rank 3 (node 0, gpu-0500) is "
		"in _BaseDataLoaderIter.__next__ (train.py:9) and waits for its data loader; 1 "
		"other rank is elsewhere");
}

static void test_several_places_of_one_collective(void **state)
{
	(void)state;
	begin(2, 8);
	add(0, WAIT, "0-3", NULL, NULL);
	add(1, "collective still all_reduce @ all_reduce (train.py:99)|\n", "5-7", LOADER, "4");
	assert_true(ri_together_judge(together, &found));
	assert_int_equal(found.rank, 4);
	assert_non_null(strstr(found.text, "of 8 ranks 7 wait in all_reduce, rank 4 ("));
}

static void test_silent_nodes(void **state)
{
	(void)state;
	/* of three nodes with four ranks each one is silent: that is more than a quarter */
	begin(3, 12);
	add(0, WAIT, "0-2", LOADER, "3");
	add(1, WAIT, "4-7", NULL, NULL);
	ri_together_expect(together, 2, "gpu-0502", 8, 4);
	expect(-1, -1, "of 8 ranks, ranks 0-2, 4-7 (nodes 0-1) wait in all_reduce (train.py:16), "
		"rank 3 (node 0, gpu-0500) is in _BaseDataLoaderIter.__next__ (train.py:9) and "
		"waits for its data loader; node 2 (gpu-0502) did not answer");
	assert_int_equal(found.silent, 1);
	/* and so where the world is not known */
	begin(3, 0);
	add(0, WAIT, "0-2", LOADER, "3");
	add(1, WAIT, "4-7", NULL, NULL);
	assert_true(ri_together_judge(together, &found));
	assert_int_equal(found.odd, 0);
	/* of eight nodes one may be */
	begin(8, 64);
	add_waiting(0, 0);
	add(1, WAIT, "8-12,14-15", LOADER, "13");
	add_waiting(2, 6);
	assert_true(ri_together_judge(together, &found));
	assert_int_equal(found.rank, 13);
	assert_non_null(strstr(found.text, "; node 7 did not answer"));
	/* silence alone names nobody */
	begin(8, 64);
	add_waiting(0, 6);
	expect(-1, -1, "of 56 ranks 56 wait in all_reduce (train.py:16); node 7 did not answer");
	begin(2, 8);
	expect(-1, -1, "");
}

static void test_a_rank_that_ended(void **state)
{
	(void)state;
	begin(2, 8);
	add(0, WAIT, "0-2", "gone still - @ |has ended\n", "3");
	add(1, WAIT, "4-7", NULL, NULL);
	expect(3, 0, "of 8 ranks 7 wait in all_reduce (train.py:16), rank 3 (node 0, gpu-0500) has "
		"ended");
}

static void test_others_that_get_on(void **state)
{
	(void)state;
	begin(2, 8);
	add(0, "collective wakes all_reduce @ all_reduce (train.py:16)|\n", "0-3", NULL, NULL);
	add(1, "collective wakes all_reduce @ all_reduce (train.py:16)|\n", "5-7",
		"runs still - @ step (train.py:5)|runs\n", "4");
	assert_true(ri_together_judge(together, &found));
	assert_int_equal(found.odd, 0);
	/* the control: they do not wake, and it is only slow or it hangs */
	add(0, WAIT, "0-3", NULL, NULL);
	add(1, WAIT, "5-7", "runs still - @ step (train.py:5)|runs\n", "4");
	expect(4, 1, "of 8 ranks 7 wait in all_reduce (train.py:16), rank 4 (node 1, gpu-0501) is "
		"in step (train.py:5) and runs");
}

/* Each rank is somewhere else; of the few that are not, none is still in both looks. */
static void test_a_healthy_job(void **state)
{
	static const char *const states[] = { "moves", "wakes" };
	unsigned seed = 1;

	(void)state;
	for (int look = 0; look < 100; look++) {
		begin(4, 32);
		for (size_t node = 0; node < 4; node++) {
			char text[4096];
			int length = 0;

			for (size_t rank = 8 * node; rank < 8 * node + 8; rank++) {
				int line = rand_r(&seed) % 12;
				const char *one = states[line < 6 ? rand_r(&seed) % 2 : 0];

				length += snprintf(text + length, sizeof(text) - (size_t)length,
					"%s %s %s %zu f (train.py:%d)|\n",
					line < 6 ? "collective" : "runs", one,
					line < 6 ? "all_reduce" : "-", rank, line);
			}
			assert_null(add_text(node, text));
		}
		assert_true(ri_together_judge(together, &found));
		assert_int_equal(found.odd, 0);
		assert_int_equal(found.rank, -1);
	}
}

static void refused(size_t node, const char *text, const char *why)
{
	const char *fault = add_text(node, text);

	assert_non_null(fault);
	if (strstr(fault, why) == NULL)
		fail_msg("%s", fault);
	assert_null(strchr(fault, '\n'));
}

static void test_liars(void **state)
{
	(void)state;
	begin(3, 12);
	for (size_t node = 0; node < 3; node++)
		ri_together_expect(together, node, "", 4 * node, 4);
	add(0, WAIT, "0-3", NULL, NULL);
	refused(1, "loader still - 0 f (train.py:9)|\n",
		"what the ranks of node 1 (gpu-0501) do is not counted: it tells of rank 0, "
		"which is not its own");
	refused(1, "loader still - 8 f (train.py:9)|\n", "rank 8, which is not its own");
	refused(1, "loader still - 12 f (train.py:9)|\n", "rank 12, which is not its own");
	refused(1, "loader still - 4,\x1b[2J f (train.py:9)|\n", "it is no text");
	/* where it is not known whose ranks they are, neither counts */
	begin(3, 12);
	add(0, WAIT, "0-3", NULL, NULL);
	add(1, WAIT, "4-7", NULL, NULL);
	refused(2, "loader still - 3 f (train.py:9)|\n", "it tells of rank 3, as node 0 (gpu-0500) "
		"does, which is not counted either");
	assert_true(ri_together_judge(together, &found));
	assert_int_equal(found.silent, 2);
	assert_int_equal(found.told, 4);
	assert_int_equal(found.odd, 0);
	/* it may come to its senses */
	add(0, WAIT, "0-3", NULL, NULL);
	add(2, WAIT, "8-10", LOADER, "11");
	assert_true(ri_together_judge(together, &found));
	assert_int_equal(found.rank, 11);
}

static void test_an_answer_takes_the_place_of_the_last_one(void **state)
{
	(void)state;
	begin(2, 8);
	add(0, WAIT, "0-3", NULL, NULL);
	add(1, WAIT, "4-6", LOADER, "7");
	add(1, WAIT, "4-7", NULL, NULL);
	assert_true(ri_together_judge(together, &found));
	assert_int_equal(found.odd, 0);
	assert_int_equal(found.told, 8);
	refused(1, "nothing", "it is no text");
	assert_true(ri_together_judge(together, &found));
	assert_int_equal(found.told, 4);
}

/* A thousand nodes, each as large as it may be: memory, and the work. */
static void test_a_large_job(void **state)
{
	char text[RI_GROUPS_MAX];
	int length;

	(void)state;
	begin(1000, 8000);
	add_waiting(0, 999);
	add(777, WAIT, "6216-6219,6221-6223", LOADER, "6220");
	assert_true(ri_together_judge(together, &found));
	assert_int_equal(found.rank, 6220);
	assert_int_equal(found.node, 777);
	assert_in_range(found.compared, 1, 4 * 1002);
	for (size_t node = 0; node < 1000; node++) {
		length = 0;
		for (size_t i = 0; i < 8; i++)
			length += snprintf(text + length, sizeof(text) - (size_t)length,
				"collective still f%zu %zu %0150zu|\n", node * 8 + i, node * 8 + i,
				node * 8 + i);
		assert_null(add_text(node, text));
	}
	assert_true(ri_together_judge(together, &found));
	assert_int_equal(found.odd, 0);
	assert_in_range(found.compared, 1, 32 * 16000);
	assert_in_range(ri_arena_size(&arena), 1, 16 << 20);
}

static void test_bounds(void **state)
{
	(void)state;
	ri_arena_release(&arena);
	assert_null(ri_together_new(&arena, RI_MAX_RANKS + 1, 1));
	assert_null(ri_together_new(&arena, 1, RI_MAX_RANKS + 1));
	/* a sentence that is too long is cut, its end stays */
	begin(3, 0);
	for (size_t node = 0; node < 2; node++) {
		char text[4096];
		int length = 0;

		for (size_t i = 0; i < 4; i++)
			length += snprintf(text + length, sizeof(text) - (size_t)length,
				"data still - %zu \xc3\xa9%0390zu|%0390zu\n", node * 4 + i, i, i);
		assert_null(add_text(node, text));
	}
	assert_true(ri_together_judge(together, &found));
	assert_true(strlen(found.text) < RI_TOGETHER_TEXT);
	assert_non_null(strstr(found.text, "...; node 2 did not answer"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_data_loader),
		cmocka_unit_test(test_two_looks),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_half_and_half),
		cmocka_unit_test(test_another_collective),
		cmocka_unit_test(test_several_places_of_one_collective),
		cmocka_unit_test(test_silent_nodes),
		cmocka_unit_test(test_a_rank_that_ended),
		cmocka_unit_test(test_others_that_get_on),
		cmocka_unit_test(test_a_healthy_job),
		cmocka_unit_test(test_liars),
		cmocka_unit_test(test_an_answer_takes_the_place_of_the_last_one),
		cmocka_unit_test(test_a_large_job),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
