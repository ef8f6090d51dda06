/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom a look comes to where the time is short. The time is a count: the clock goes on by one for
 * each process that was looked at.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "hang/hang.h"
#include "hang/look.h"
#include "system/mask.h"
#include "system/own_proc.h"

enum { RANKS = 3, WORKERS = RANKS, OTHERS = 1, ALL = RANKS + WORKERS + OTHERS };

static struct ri_look_region *region;
static pid_t ranks[RANKS], others[OTHERS];
static int hold[2];

static int64_t count_looked(void)
{
	return (int64_t)region->hang.looks_taken * ALL + region->progress;
}

static pid_t start(const char *script, int out)
{
	pid_t pid = fork();

	if (pid == 0) {
		ri_mask_set(0);
		dup2(hold[0], STDIN_FILENO);
		dup2(out, STDOUT_FILENO);
		execl("/bin/sh", "sh", "-c", script, NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	return pid;
}

/* The first ones have the smallest numbers, and are no ranks. All live until hold is closed. */
static int start_all(void **state)
{
	int there[2];
	char byte;

	(void)state;
	assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
	assert_int_equal(pipe2(there, O_CLOEXEC), 0);
	for (int i = 0; i < OTHERS; i++)
		others[i] = start("echo; exec cat", there[1]);
	for (int i = 0; i < RANKS; i++)
		ranks[i] = start("exec 3<&0; cat <&3 & echo; wait", there[1]);
	for (int i = 0; i < RANKS + OTHERS; i++)
		assert_int_equal(read(there[0], &byte, 1), 1);
	close(there[0]);
	close(there[1]);
	return 0;
}

static int stop_all(void **state)
{
	(void)state;
	close(hold[1]);
	while (wait(NULL) > 0)
		continue;
	return 0;
}

static void examine(size_t own_count, int64_t most)
{
	const struct ri_look_wish wish = {
		.root = getpid(), .own = ranks, .own_count = own_count, .now_ms = count_looked,
		.why = "stop", .most_ms = most,
	};

	if (region != NULL)
		munmap(region, sizeof(*region));
	region = ri_look_open();
	assert_non_null(region);
	assert_true(ri_look_examine(region, &wish));
}

static bool is_one_of(const pid_t *pids, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* Of ranks, of who works for them, and of the others: how many were looked at, and whole. */
static void count_seen(const struct ri_hang_look *look, size_t seen[3])
{
	memset(seen, 0, 3 * sizeof(seen[0]));
	for (size_t i = 0; i < look->count; i++) {
		const struct ri_hang_process *process = &look->processes[i];
		int kind = is_one_of(ranks, RANKS, process->pid) ? 0
			: is_one_of(ranks, RANKS, process->parent) ? 1 : 2;

		assert_int_equal(process->unlooked, process->unread);
		assert_int_equal(process->python,
			process->unread ? RI_HANG_NOT_ASKED : RI_HANG_NO_PYTHON);
		seen[kind] += !process->unlooked;
	}
}

static size_t at_most(size_t number, size_t most)
{
	return number < most ? number : most;
}

static void assert_order(const struct ri_hang_look *look, size_t budget)
{
	size_t seen[3];

	count_seen(look, seen);
	assert_int_equal(seen[0], at_most(budget, RANKS));
	assert_int_equal(seen[1], at_most(budget - seen[0], WORKERS));
	assert_int_equal(seen[2], budget - seen[0] - seen[1]);
	assert_int_equal(look->listed, budget > RANKS);
	assert_int_equal(look->count, budget > RANKS ? ALL : RANKS);
}

static void assert_said(const char *end)
{
	static const char begin[] = "cut short after ";
	static char page[RI_HANG_SHOWN];
	struct ri_text out;
	char *line;

	out = ri_text_of(page, sizeof(page));
	ri_hang_say(&region->hang, &out);
	assert_memory_equal(page, begin, strlen(begin));
	line = strstr(page, " ms: ");
	assert_non_null(line);
	line[strcspn(line, "\n")] = '\0';
	assert_string_equal(line, end);
}

static void test_ranks_come_first_and_whole(void **state)
{
	(void)state;
	for (size_t budget = 1; budget <= ALL; budget++) {
		examine(RANKS, (int64_t)budget);
		assert_order(ri_hang_newer(&region->hang), budget);
		assert_int_equal(ri_hang_newer(&region->hang)->suspect, -1);
		assert_int_equal(region->hang.cut_ms != 0, budget < ALL);
	}
}

static void test_what_was_not_looked_at_is_said(void **state)
{
	(void)state;
	examine(RANKS, 2);
	assert_said(" ms: 2 of the 3 processes that rankinit started were looked at, and no other "
		"one");
	examine(RANKS, RANKS);
	assert_said(" ms: 3 of the 3 processes that rankinit started were looked at, and no other "
		"one");
	examine(RANKS, RANKS + 1);
	assert_said(" ms: 3 of 7 processes were not looked at");
}

/* What the first look saw is told; the second one began as that did. */
static void test_the_second_look_likewise(void **state)
{
	(void)state;
	for (size_t budget = 1; budget < ALL; budget++) {
		struct ri_hang *hang;

		examine(RANKS, (int64_t)(ALL + budget));
		hang = &region->hang;
		assert_int_equal(hang->looks_taken, 1);
		assert_order(ri_hang_newer(hang), ALL);
		assert_order(&hang->looks[!hang->last], budget);
		assert_int_equal(hang->cut_ms, 0);
	}
}

/* As from outside, where nobody knows whom rankinit started: the nearest to it come first. */
static void test_without_own_ones(void **state)
{
	(void)state;
	for (size_t budget = 1; budget <= ALL; budget++) {
		size_t seen[3];

		examine(0, (int64_t)budget);
		count_seen(ri_hang_newer(&region->hang), seen);
		assert_int_equal(seen[0] + seen[2], at_most(budget, RANKS + OTHERS));
		assert_int_equal(seen[1], budget - seen[0] - seen[2]);
	}
}

/* Its number may be free, or somebody else's that is none of ours. */
static void test_a_rank_that_has_gone(void **state)
{
	pid_t last = ranks[RANKS - 1];

	(void)state;
	ranks[RANKS - 1] = INT32_MAX;
	examine(RANKS, 100 * ALL);
	assert_int_equal(ri_hang_newer(&region->hang)->own_count, RANKS - 1);
	assert_int_equal(ri_hang_newer(&region->hang)->count, ALL);
	ranks[RANKS - 1] = last;
}

static void test_no_such_process(void **state)
{
	const struct ri_look_wish wish = {
		.root = INT32_MAX, .now_ms = count_looked, .most_ms = ALL,
	};

	(void)state;
	region->hang.looks_taken = 0;
	assert_false(ri_look_examine(region, &wish));
}

/* It may be longer than the memory for it, and so may one part. */
static void test_a_file_in_parts(void **state)
{
	static char block[3 * RI_PROC_FILE];
	char path[] = "/tmp/test_examine.XXXXXX", last[32] = "";
	int fd = mkstemp(path), count = 0;
	struct ri_proc_parts parts;
	const char *part;

	(void)state;
	assert_true(fd >= 0);
	for (int i = 0; i < RI_PROC_FILE / 4; i++)
		assert_int_equal(write(fd, "RANK=3\0", 7), 7);
	memset(block, 'x', sizeof(block));
	assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
	assert_int_equal(write(fd, "\0\0RANK=4\0RANK=5", 15), 15);
	close(fd);
	ri_proc_parts_open(&parts, '\0', "%s", path);
	for (; (part = ri_proc_parts_next(&parts)) != NULL; count++)
		snprintf(last, sizeof(last), "%s", part);
	assert_int_equal(count, RI_PROC_FILE / 4 + 2);
	assert_string_equal(last, "RANK=4");
	unlink(path);
	ri_proc_parts_open(&parts, '\0', "%s", path);
	assert_int_equal(parts.fd, -1);
	assert_null(ri_proc_parts_next(&parts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranks_come_first_and_whole),
		cmocka_unit_test(test_what_was_not_looked_at_is_said),
		cmocka_unit_test(test_the_second_look_likewise),
		cmocka_unit_test(test_without_own_ones),
		cmocka_unit_test(test_a_rank_that_has_gone),
		cmocka_unit_test(test_no_such_process),
		cmocka_unit_test(test_a_file_in_parts),
	};

	return cmocka_run_group_tests(tests, start_all, stop_all);
}
