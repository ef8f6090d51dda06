/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the processes of a job are its ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "hang/hang.h"

static const struct ri_hang_frame waiting[] = {
	{ "/v/site-packages/torch/distributed/distributed_c10d.py", "all_reduce", 10 },
};
static const struct ri_hang_frame running[] = { { "/job/monitor.py", "watch", 1 } };
static const struct ri_hang_frame wrapping[] = {
	{ "/usr/lib/python3.11/subprocess.py", "Popen._wait", 1 },
	{ "/job/wrap.py", "<module>", 2 },
};

struct row {
	pid_t pid, parent;
	enum ri_hang_claim claim;
	int64_t rank;
	const struct ri_hang_frame *frames;	/* of a process that runs Python */
	uint64_t started;
};

static struct ri_hang_look *look;

/* "PID=RANK" of each rank, in the order of pid. */
static int64_t local_ranks;	/* what all environments say; 0: nothing */

static const char *ranks_of(const struct row *rows)
{
	static char shown[512];
	struct ri_text out;

	look->count = 0;
	for (const struct row *row = rows; row->pid != 0; row++)
		look->processes[look->count++] = (struct ri_hang_process){
			.pid = row->pid, .parent = row->parent, .started = row->started,
			.claim = row->claim,
			.rank = row->claim == RI_HANG_NO_RANK ? -1 : row->rank,
			.local_rank = row->rank % 4, .local_ranks = local_ranks,
			.state = 'S', .waits_at = -1, .child = -1,
			.python = row->frames == NULL ? RI_HANG_NO_PYTHON : RI_HANG_HAS_PYTHON,
			.stack_count = row->frames != NULL,
			.stacks[0] = { .frames = row->frames,
				.count = row->frames == wrapping ? 2 : 1 },
		};
	ri_hang_find_ranks(look);
	out = ri_text_of(shown, sizeof(shown));
	for (size_t i = 0; i < look->count; i++)
		if (look->processes[i].is_rank)
			ri_text_addf(&out, "%s%d=%d", out.length == 0 ? "" : " ",
				(int)look->processes[i].pid, (int)look->processes[i].rank);
	return shown;
}

static int64_t rank_of(pid_t pid)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->processes[i].pid == pid)
			return look->processes[i].rank;
	return -2;
}

#define OWN RI_HANG_OWN_RANK
#define MPI RI_HANG_MPI_RANK
#define NODE RI_HANG_NODE_RANK
#define STEP RI_HANG_STEP_RANK

static void test_plain_ranks(void **state)
{
	static const struct row alone[] = { { .pid = 2, .parent = 1 }, { 0 } };
	static const struct row rows[] = {
		{ 2, 1, OWN, 0, waiting, 5 }, { 3, 1, OWN, 1, waiting, 5 },
		{ 4, 2, OWN, 0, running, 6 }, { .pid = 5, .parent = 3 }, { 0 },
	};

	(void)state;
	assert_string_equal(ranks_of(rows), "2=0 3=1");
	assert_int_equal(rank_of(4), 0);
	assert_int_equal(rank_of(5), 1);	/* whose environment was emptied */
	assert_string_equal(ranks_of(alone), "");
}

static void test_who_lost_its_parent(void **state)
{
	static const struct row rows[] = {
		{ 2, 1, OWN, 0, waiting, 50 }, { 3, 1, OWN, 1, waiting, 50 },
		{ 9, 1, OWN, 0, running, 70 }, { 10, 1, OWN, 1, running, 50 }, { 0 },
	};
	/* pids begin anew where they end */
	static const struct row wrapped[] = {
		{ 2, 1, OWN, 0, running, 70 }, { 3, 1, OWN, 1, waiting, 50 },
		{ 9, 1, OWN, 0, waiting, 50 }, { 0 },
	};

	(void)state;
	assert_string_equal(ranks_of(rows), "2=0 3=1");
	assert_int_equal(rank_of(9), 0);
	assert_string_equal(ranks_of(wrapped), "3=1 9=0");
}

static void test_a_rank_below_a_rank(void **state)
{
	static const struct row rows[] = {
		{ 2, 1, OWN, 0, waiting, 5 }, { 3, 1, OWN, 1, waiting, 5 },
		{ 4, 3, OWN, 0, running, 6 }, { 0 },
	};

	(void)state;
	assert_string_equal(ranks_of(rows), "2=0 3=1");
	assert_int_equal(rank_of(4), 1);
}

/* The script of each rank below mpirun sets RANK and LOCAL_RANK, then starts something. */
static void test_below_mpirun(void **state)
{
	static const struct row rows[] = {
		{ .pid = 2, .parent = 1 }, { 3, 2, MPI, 0, waiting, 5 },
		{ 4, 2, MPI, 1, waiting, 5 }, { 5, 3, OWN, 0, running, 6 },
		{ 6, 4, OWN, 1, running, 6 }, { 7, 1, OWN, 1, running, 7 }, { 0 },
	};

	(void)state;
	assert_string_equal(ranks_of(rows), "3=0 4=1");
	assert_int_equal(rank_of(5), 0);
	assert_int_equal(rank_of(7), -1);
}

static void test_launchers_are_no_ranks(void **state)
{
	/* a step, its shell, something beside it, torchrun, ranks 8 and 9 */
	static const struct row step[] = {
		{ 2, 1, STEP, 1, NULL, 5 }, { 3, 2, STEP, 1, running, 5 },
		{ 4, 2, STEP, 1, running, 5 }, { 5, 4, OWN, 8, waiting, 6 },
		{ 6, 4, OWN, 9, waiting, 6 }, { 0 },
	};
	static const struct row node[] = {
		{ 2, 1, NODE, 0, running, 5 }, { 3, 2, OWN, 0, waiting, 6 },
		{ 4, 2, OWN, 1, waiting, 6 }, { 0 },
	};

	(void)state;
	assert_string_equal(ranks_of(step), "5=8 6=9");
	assert_int_equal(rank_of(3), -1);
	assert_int_equal(rank_of(4), -1);
	assert_string_equal(ranks_of(node), "3=0 4=1");
}

static void test_behind_a_wrapper(void **state)
{
	static const struct row shells[] = {
		{ 2, 1, OWN, 0, NULL, 5 }, { 3, 2, OWN, 0, NULL, 5 },
		{ 4, 2, OWN, 0, waiting, 5 }, { 5, 1, OWN, 1, NULL, 5 },
		{ 6, 5, OWN, 1, NULL, 5 }, { 7, 6, OWN, 1, running, 5 }, { 0 },
	};
	/* a monitor in the background, and who waits; then two of which neither waits */
	static const struct row monitors[] = {
		{ 2, 1, OWN, 0, NULL, 5 }, { 3, 2, OWN, 0, running, 5 },
		{ 4, 2, OWN, 0, waiting, 5 }, { 5, 1, OWN, 1, NULL, 5 },
		{ 6, 5, OWN, 1, running, 5 }, { 7, 5, OWN, 1, running, 5 }, { 0 },
	};
	static const struct row pythons[] = {
		{ 2, 1, OWN, 0, wrapping, 5 }, { 3, 2, OWN, 0, waiting, 5 },
		{ 4, 1, OWN, 1, wrapping, 5 }, { 5, 4, OWN, 1, running, 5 },
		{ 6, 1, OWN, 2, running, 5 }, { 7, 6, OWN, 2, waiting, 5 }, { 0 },
	};

	(void)state;
	assert_string_equal(ranks_of(shells), "4=0 7=1");
	assert_string_equal(ranks_of(monitors), "4=0 5=1");
	assert_string_equal(ranks_of(pythons), "3=0 4=1 6=2");
}

static void test_missing_ranks(void **state)
{
	static const struct row node[] = {
		{ 2, 1, OWN, 4, waiting, 5 }, { 3, 1, OWN, 5, waiting, 5 },
		{ 4, 1, OWN, 7, waiting, 5 }, { .pid = 5, .parent = 4 }, { 0 },
	};
	/* one whose environment is not there any more, or that begins; and too few of them */
	static const struct row strange[] = {
		{ 2, 1, OWN, 4, waiting, 5 }, { 3, 1, OWN, 5, waiting, 5 },
		{ 4, 1, OWN, 7, waiting, 5 }, { .pid = 5, .parent = 1 }, { 0 },
	};
	static const struct row few[] = {
		{ 2, 1, OWN, 4, waiting, 5 }, { 3, 1, OWN, 5, waiting, 5 }, { 0 },
	};

	(void)state;
	local_ranks = 4;
	assert_string_equal(ranks_of(node), "2=4 3=5 4=7");
	assert_int_equal(look->missing_count, 1);
	assert_int_equal(look->missing[0], 6);
	assert_string_equal(ranks_of(strange), "2=4 3=5 4=7");
	assert_int_equal(look->missing_count, 0);
	assert_string_equal(ranks_of(few), "2=4 3=5");
	assert_int_equal(look->missing_count, 0);
	local_ranks = 2;
	assert_non_null(ranks_of(node));
	assert_int_equal(look->missing_count, 0);
	local_ranks = 0;
	assert_non_null(ranks_of(node));
	assert_int_equal(look->missing_count, 0);
}

/* What /proc says is gathered bit by bit: a parent may seem to be its own descendant. */
static void test_no_end_of_parents(void **state)
{
	static const struct row rows[] = {
		{ 2, 3, OWN, 0, NULL, 5 }, { 3, 2, OWN, 1, NULL, 5 }, { 4, 4, OWN, 2, NULL, 5 },
		{ 0 },
	};

	(void)state;
	assert_non_null(ranks_of(rows));
}

static int begin(void **state)
{
	(void)state;
	look = calloc(1, sizeof(*look));
	return look == NULL ? -1 : 0;
}

static int end(void **state)
{
	(void)state;
	free(look);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_ranks),
		cmocka_unit_test(test_who_lost_its_parent),
		cmocka_unit_test(test_a_rank_below_a_rank),
		cmocka_unit_test(test_below_mpirun),
		cmocka_unit_test(test_launchers_are_no_ranks),
		cmocka_unit_test(test_behind_a_wrapper),
		cmocka_unit_test(test_missing_ranks),
		cmocka_unit_test(test_no_end_of_parents),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
