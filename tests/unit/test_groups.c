/* SPDX-License-Identifier: Apache-2.0 */
/* What the ranks of a node do, as lines for other nodes, and those lines read from anybody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "hang/hang.h"
#include "hang/together.h"

#define TORCH "/v/site-packages/torch/"

static struct ri_hang *hang;
static struct ri_groups groups;
static char text[RI_GROUPS_MAX];

static const struct ri_hang_frame collective[] = {
	{ TORCH "distributed/distributed_c10d.py", "all_reduce", 10 },
	{ TORCH "distributed/c10d_logger.py", "_exception_logger.<locals>.wrapper", 83 },
	{ "/job/train.py", "step", 88 },
};
static const struct ri_hang_frame loader[] = {
	{ TORCH "utils/data/dataloader.py", "_MultiProcessingDataLoaderIter._try_get_data", 1 },
	{ TORCH "utils/data/dataloader.py", "_MultiProcessingDataLoaderIter._get_data", 2 },
	{ TORCH "utils/data/dataloader.py", "_BaseDataLoaderIter.__next__", 3 },
	{ "/job/train.py", "main", 9 },
};
static const struct ri_hang_frame training[] = { { "/job/train.py", "step", 55 } };
static const struct ri_hang_frame hostile[] = {
	{ "/job/tr|ain\x1b\n.py", "a|\"b\\\xff", 1 }, { "/job/password=hunter2swordfish", "f", 2 },
};

static void add(int64_t rank, const struct ri_hang_frame *frames, uint32_t count, int number)
{
	struct ri_hang_look *look = ri_hang_newer(hang);
	struct ri_hang_process *process = &look->processes[look->count++];

	*process = (struct ri_hang_process){
		.pid = 100 + (pid_t)look->count, .parent = 1, .started = 1, .name = "python",
		.rank = rank, .is_rank = true, .state = 'S', .python = RI_HANG_HAS_PYTHON,
		.has_cpu = true, .since_us = 200000, .stack_count = 1, .child = -1,
		.call = { .state = RI_CALL_INSIDE, .number = number },
	};
	process->stacks[0] = (struct ri_hang_stack){ .frames = frames, .count = count,
		.depth = count, .hash = count == 0 ? 0 : frames[0].line };
}

static void judge_twice(void (*fill)(void))
{
	memset(hang, 0, offsetof(struct ri_hang, frames));
	for (unsigned i = 0; i < 2; i++) {
		hang->last = i;
		fill();
		hang->looks_taken++;
		ri_hang_judge(hang);
	}
}

static void expect(const char *expected)
{
	size_t length = ri_groups_write(hang, text);

	assert_string_equal(text, expected);
	assert_int_equal(length, strlen(expected));
	assert_null(ri_groups_read(&groups, text, strlen(text)));
}

static void fill_four(void)
{
	add(2, collective, 3, SYS_futex);
	add(0, collective, 3, SYS_futex);
	add(1, loader, 4, SYS_poll);
	add(3, training, 1, SYS_clock_nanosleep);
}

static void test_groups(void **state)
{
	(void)state;
	judge_twice(fill_four);
	expect("collective still all_reduce 0,2 all_reduce (train.py:88)|\n"
		"loader still - 1 _BaseDataLoaderIter.__next__ (train.py:9)|waits for its data "
		"loader, of whose workers none is left\n"
		"sleeps still - 3 step (train.py:55)|sleeps\n");
	assert_int_equal(groups.count, 3);
	assert_int_equal(groups.rank_count, 4);
	assert_int_equal(groups.ranks[2].rank, 2);
	assert_int_equal(groups.ranks[2].group, 0);
	assert_int_equal(groups.items[0].ranks, 2);
	assert_int_equal(groups.items[0].state, RI_GROUP_STILL);
	assert_int_equal(groups.items[0].function.length, strlen("all_reduce"));
	assert_memory_equal(groups.items[0].function.at, "all_reduce", strlen("all_reduce"));
	assert_int_equal(groups.items[1].class, RI_HANG_LOADER);
	assert_int_equal(groups.items[1].function.length, 0);
}

static void test_two_looks(void **state)
{
	struct ri_hang_process *processes;

	(void)state;
	judge_twice(fill_four);
	processes = ri_hang_newer(hang)->processes;
	processes[0].naps = 3;
	processes[1].main_us = 100000;
	processes[2].still = false;
	hang->looks[0].processes[3].class = RI_HANG_LOCK;
	ri_groups_write(hang, text);
	assert_non_null(strstr(text, "collective wakes all_reduce 2 "));
	assert_non_null(strstr(text, "collective moves all_reduce 0 "));
	assert_non_null(strstr(text, "loader moves - 1 "));
	assert_non_null(strstr(text, "sleeps moves - 3 "));
	/* a rank that the look before did not see, and a look that is the only one */
	judge_twice(fill_four);
	hang->looks[0].processes[3].started = 7;
	ri_groups_write(hang, text);
	assert_non_null(strstr(text, "sleeps once - 3 "));
	assert_non_null(strstr(text, "collective still "));
	hang->looks_taken = 1;
	ri_groups_write(hang, text);
	assert_non_null(strstr(text, "collective once all_reduce 0,2 "));
	/* after a loss who ends is not told of */
	judge_twice(fill_four);
	hang->after_loss = true;
	ri_hang_newer(hang)->processes[3].class = RI_HANG_EXITING;
	hang->looks[0].processes[3].class = RI_HANG_EXITING;
	ri_groups_write(hang, text);
	assert_non_null(strstr(text, "exiting moves - 3 "));
}

static void test_ranks_that_ended(void **state)
{
	struct ri_hang_look *look;

	(void)state;
	judge_twice(fill_four);
	look = ri_hang_newer(hang);
	look->ended[0] = 4;
	look->ended[1] = 5;
	look->ended_count = 2;
	ri_groups_write(hang, text);
	assert_non_null(strstr(text, "\ngone still - 4-5 |has ended\n"));
	assert_null(ri_groups_read(&groups, text, strlen(text)));
	assert_int_equal(groups.rank_count, 6);
	hang->after_loss = true;
	ri_groups_write(hang, text);
	assert_null(strstr(text, "ended"));
}

static void fill_hostile(void)
{
	add(0, hostile, 2, SYS_futex);
	add(1, hostile + 1, 1, SYS_futex);
	add(-1, training, 1, SYS_futex);
	add(1, training, 1, SYS_futex);
	add(RI_MAX_RANKS, training, 1, SYS_futex);
}

static void test_foreign_strings(void **state)
{
	(void)state;
	judge_twice(fill_hostile);
	expect("lock still - 0 a/'b//xff (tr/ain/x1b/n.py:1)|waits for a lock\n"
		"lock still - 1 f (password=***)|waits for a lock\n"
		"more 2\n");
	assert_int_equal(groups.more, 2);
}

static struct ri_hang_frame lines[RI_MAX_LOCAL];

static void fill_many(void)
{
	for (int64_t rank = 0; rank < RI_MAX_LOCAL; rank++) {
		lines[rank] = (struct ri_hang_frame){
			"/job/train.py", "step", (uint32_t)rank % 200,
		};
		add(rank, &lines[rank], 1, SYS_futex);
	}
}

static void test_more_than_fits(void **state)
{
	size_t length;

	(void)state;
	judge_twice(fill_many);
	length = ri_groups_write(hang, text);
	assert_true(length < RI_GROUPS_MAX);
	assert_null(ri_groups_read(&groups, text, length));
	assert_int_equal(groups.rank_count + groups.more, RI_MAX_LOCAL);
	assert_in_range(groups.count, RI_GROUPS_MOST / 2, RI_GROUPS_MOST);
	assert_true(groups.more > 0);
	/* nobody is there */
	ri_hang_newer(hang)->count = 0;
	expect("");
	assert_int_equal(groups.rank_count, 0);
}

static void refused(const char *lines_of_it, const char *fault)
{
	const char *found = ri_groups_read(&groups, lines_of_it, strlen(lines_of_it));

	assert_non_null(found);
	assert_string_equal(found, fault);
}

static void test_hostile_lines(void **state)
{
	static char many[RI_GROUPS_MAX];
	size_t length = 0;

	(void)state;
	refused("lock still - 0 a|b", "it is no text");
	refused("lock still - 0 a\x1b[2J|b\n", "it is no text");
	refused("lock still - 0 a\xc2\x9b|b\n", "it is no text");
	refused("lock still - 0 a\xe2\x82\n", "it is no text");
	refused("nothing still - 0 a|b\n", "it has a state that is not known");
	refused("lock asleep - 0 a|b\n", "it has a state that is not known");
	refused("lock\n", "it has a state that is not known");
	refused("\n", "it has a state that is not known");
	refused("lock still f 0 a|b\n", "it has no function where there must be one");
	refused("collective still - 0 a|b\n", "it has no function where there must be one");
	refused("collective still  0 a|b\n", "it has no function where there must be one");
	refused("lock still - a|b\n", "its ranks are no ranges");
	refused("lock still - 1-1 a|b\n", "its ranks are no ranges");
	refused("lock still - 3-1 a|b\n", "its ranks are no ranges");
	refused("lock still - 1,,2 a|b\n", "its ranks are no ranges");
	refused("lock still - 1, a|b\n", "its ranks are no ranges");
	refused("lock still - -1 a|b\n", "its ranks are no ranges");
	refused("lock still - 1048576 a|b\n", "its ranks are no ranges");
	refused("lock still - 99999999999999999999 a|b\n", "its ranks are no ranges");
	refused("lock still - 2,1 a|b\n", "its ranks are not in their order");
	refused("lock still - 0-3,3 a|b\n", "its ranks are not in their order");
	refused("lock still - 0-512 a|b\n", "it has too many ranks");
	refused("lock still - 0-511 a|b\nlock still - 600 a|b\n", "it has too many ranks");
	refused("lock still - 0-3 a|b\nwaits still - 2 a|b\n", "it tells of a rank twice");
	refused("more 9\nlock still - 0 a|b\n", "it goes on behind its last line");
	refused("more\n", "it leaves out more than a node has");
	refused("more 9999\n", "it leaves out more than a node has");
	refused("more 1 9\n", "it leaves out more than a node has");
	assert_string_equal(ri_groups_read(&groups, many, sizeof(many)), "it is too long");
	for (int i = 0; i <= RI_GROUPS_MOST; i++)
		length += (size_t)snprintf(many + length, sizeof(many) - length,
			"lock still - %d |\n", i);
	refused(many, "it has too many groups");
	snprintf(many, sizeof(many), "lock still - 0 %0401d|\n", 0);
	refused(many, "it has words that are too long");
	/* the control, which does not end in '\0' */
	memcpy(many, "lock still - 0-511 a|b\nZ", 24);
	assert_null(ri_groups_read(&groups, many, 23));
	assert_int_equal(groups.rank_count, RI_MAX_LOCAL);
	assert_null(ri_groups_read(&groups, "", 0));
}

static int begin(void **state)
{
	(void)state;
	hang = calloc(1, sizeof(*hang));
	return hang == NULL ? -1 : 0;
}

static int end(void **state)
{
	(void)state;
	free(hang);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_two_looks),
		cmocka_unit_test(test_ranks_that_ended),
		cmocka_unit_test(test_foreign_strings),
		cmocka_unit_test(test_more_than_fits),
		cmocka_unit_test(test_hostile_lines),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
