/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that a launcher started: whose words are whose, and which failed first. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/culprit.h"
#include "report/launched.h"

enum { EXIT_1 = 1 << 8, EXIT_3 = 3 << 8 };

static char room[RI_LAUNCHED_WORDS];
static struct ri_rank_outcome ranks[8];

static struct ri_launched seen(pid_t pid, int64_t rank, unsigned order, int status)
{
	return (struct ri_launched){
		.pid = pid, .rank = rank, .local_rank = rank, .local_ranks = 2, .is_rank = true,
		.order = order,
		.started.tv_sec = 100, .ended.tv_sec = 200 + (time_t)order,
		.has_status = order > 0, .wait_status = status,
	};
}

/* Their outcomes, with the class of each. */
static size_t outcomes(const struct ri_launched *items, size_t count, const char *text,
	time_t stopped)
{
	const struct ri_launched_source source = {
		.seen = items, .count = count, .room = room, .stopped.tv_sec = stopped,
		.text = { text, text == NULL ? 0 : strlen(text) },
	};
	size_t found;

	memset(ranks, 0, sizeof(ranks));
	found = ri_launched_outcomes(&source, ranks, 8);
	for (size_t i = 0; i < found; i++)
		ri_class_find(&ranks[i]);
	return found;
}

static ssize_t first_of(size_t count)
{
	struct ri_outcome outcome = { .ranks = ranks, .count = count, .launched = true };

	ri_culprit_find(&outcome);
	return outcome.first;
}

static bool has_words(size_t i, const char *word)
{
	return ri_span_has(ranks[i].wrote.tail, word);
}

static const char unnumbered[] =
	"W1127 01:14:19.5 7166 torch/distributed/run.py:874] Setting OMP_NUM_THREADS\n"
	"Traceback (most recent call last):\n"
	"  File \"train.py\", line 3, in <module>\n"
	"ValueError: bad batch 17\n"
	"E1127 01:14:19.7 7166 torch/distributed/elastic/multiprocessing/api.py:1002] failed "
	"(exitcode: 1) local_rank: 1 (pid: 11) of binary: python\n";

static void test_words_without_a_number(void **state)
{
	const struct ri_launched items[] = {
		seen(10, 0, 2, SIGTERM), seen(11, 1, 1, EXIT_1),
	};

	(void)state;
	assert_int_equal(outcomes(items, 2, unnumbered, 0), 2);
	assert_int_equal(first_of(2), 1);
	assert_int_equal(ranks[1].evidence.class, RI_CLASS_OWN);
	assert_true(has_words(1, "ValueError: bad batch 17"));
	assert_false(has_words(1, "OMP_NUM_THREADS"));
	assert_false(has_words(1, "exitcode"));
	assert_true(ranks[0].told_to_stop);
	assert_int_equal(ranks[0].evidence.class, RI_CLASS_STOPPED);
}

static void test_words_that_bear_numbers(void **state)
{
	static const char text[] =
		"[rank1]: Traceback (most recent call last):\n"
		"[rank0]: Traceback (most recent call last):\n"
		"[rank1]:   File \"train.py\", line 3, in <module>\n"
		"[rank0]:   File \"train.py\", line 5, in <module>\n"
		"[rank1]: RuntimeError: Connection closed by peer [127.0.0.1]:3\n"
		"[rank0]: ValueError: bad batch 17\n";
	const struct ri_launched items[] = {
		seen(10, 0, 2, EXIT_1), seen(11, 1, 1, EXIT_1),
	};

	(void)state;
	assert_int_equal(outcomes(items, 2, text, 0), 2);
	assert_int_equal(ranks[1].evidence.class, RI_CLASS_LOSS);
	assert_int_equal(ranks[0].evidence.class, RI_CLASS_OWN);
	assert_int_equal(first_of(2), 0);
	assert_false(has_words(0, "closed by peer"));
}

/* What it lost may have been "TOKEN=". */
static void test_half_a_line_is_left_out(void **state)
{
	static const char text[] = "hunter2-of-a-secret\nTraceback (most recent call last):\n"
		"  File \"train.py\", line 3, in <module>\nValueError: bad batch 17\n";
	const struct ri_launched items[] = { seen(10, 0, 1, EXIT_1), seen(11, 1, 2, SIGTERM) };
	struct ri_launched_source source = {
		.seen = items, .count = 2, .room = room, .text = { text, strlen(text) },
	};

	(void)state;
	assert_int_equal(ri_launched_outcomes(&source, ranks, 8), 2);
	assert_true(has_words(0, "hunter2"));
	source.cut = true;
	assert_int_equal(ri_launched_outcomes(&source, ranks, 8), 2);
	assert_true(has_words(0, "ValueError: bad batch 17"));
	assert_false(has_words(0, "hunter2"));
}

static void test_the_first_that_lost_no_other(void **state)
{
	static const char text[] =
		"Traceback (most recent call last):\n"
		"  File \"train.py\", line 3, in <module>\n"
		"ValueError: bad batch 17\n"
		"Traceback (most recent call last):\n"
		"  File \"train.py\", line 5, in <module>\n"
		"RuntimeError: Connection closed by peer [127.0.0.1]:3\n";
	const struct ri_launched items[] = {
		seen(10, 0, 2, EXIT_1), seen(11, 1, 1, EXIT_1),
	};

	(void)state;
	assert_int_equal(outcomes(items, 2, text, 0), 2);
	assert_int_equal(first_of(2), 1);
	assert_true(has_words(1, "ValueError"));
	assert_false(has_words(1, "closed by peer"));
}

static void test_ends_without_words(void **state)
{
	const struct ri_launched items[] = {
		seen(10, 0, 1, SIGSEGV), seen(11, 1, 2, SIGKILL), seen(12, 2, 0, 0),
	};

	(void)state;
	assert_int_equal(outcomes(items, 3, NULL, 0), 2);
	assert_int_equal(first_of(2), 0);
	assert_int_equal(ranks[0].signal, SIGSEGV);
	assert_true(ranks[1].told_to_stop);
	assert_null(ranks[0].wrote.tail.at);
}

/* Hydra kills the ranks that are left; the one that it saw die first was not seen here. */
static void test_one_that_the_launcher_stopped(void **state)
{
	struct ri_launched items[] = { seen(10, 0, 1, SIGKILL), seen(11, 1, 2, SIGKILL) };

	(void)state;
	assert_int_equal(outcomes(items, 1, NULL, 0), 0);
	assert_int_equal(outcomes(items, 2, NULL, 0), 2);
	assert_int_equal(first_of(2), 0);
	assert_true(ranks[1].told_to_stop);
	items[0].local_ranks = items[1].local_ranks = 0;
	assert_int_equal(outcomes(items, 2, NULL, 0), 0);
	items[0] = items[1] = seen(10, 0, 1, SIGTERM);
	assert_int_equal(outcomes(items, 2, NULL, 0), 0);
}

/* They were not seen: torchrun's own words of torch 2.13. */
static const char told[] =
	"W1127 01:36:54.8 1729 torch/distributed/elastic/multiprocessing/api.py:1028] "
	"Sending process 10 closing signal SIGTERM\n"
	"E1127 01:36:54.8 1729 torch/distributed/elastic/multiprocessing/api.py:1002] "
	"failed (exitcode: -9) local_rank: 1 (pid: 11) of binary: python\n"
	"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
	"============================================================\n"
	"train.py FAILED\n"
	"------------------------------------------------------------\n"
	"Failures:\n"
	"[1]:\n"
	"  time      : 2026-11-27_01:36:54\n"
	"  host      : localhost\n"
	"  rank      : 0 (local_rank: 0)\n"
	"  exitcode  : -15 (pid: 10)  (SIGTERM)\n"
	"  error_file: <N/A>\n"
	"  traceback : Signal 15 (SIGTERM) received by PID 10\n"
	"------------------------------------------------------------\n"
	"Root Cause (first observed failure):\n"
	"[0]:\n"
	"  time      : 2026-11-27_01:36:54\n"
	"  host      : localhost\n"
	"  rank      : 1 (local_rank: 1)\n"
	"  exitcode  : -9 (pid: 11)  (SIGKILL)\n"
	"  error_file: <N/A>\n"
	"  traceback : Signal 9 (SIGKILL) received by PID 11\n"
	"============================================================\n";

static void test_the_launchers_word(void **state)
{
	(void)state;
	assert_int_equal(outcomes(NULL, 0, told, 0), 2);
	assert_int_equal(first_of(2), 1);
	assert_int_equal(ranks[1].signal, SIGKILL);
	assert_int_equal(ranks[1].pid, 11);
	assert_string_equal(ranks[1].word_of, "torchrun");
	assert_true(ranks[0].told_to_stop);
	assert_false(has_words(1, "Root Cause"));
}

static void test_the_kernel_outranks_it(void **state)
{
	const struct ri_launched items[] = {
		seen(10, 0, 1, SIGSEGV), seen(11, 1, 2, SIGKILL),
	};

	(void)state;
	assert_int_equal(outcomes(items, 2, told, 0), 2);
	assert_int_equal(first_of(2), 0);
	assert_null(ranks[0].word_of);
	assert_null(ranks[1].word_of);
	assert_int_equal(ranks[0].signal, SIGSEGV);
}

/* mpirun stopped rank 0, which alone was seen; rank 1 was first by its word. */
static void test_one_of_each(void **state)
{
	const struct ri_launched items[] = { seen(10, 0, 1, SIGTERM) };

	(void)state;
	assert_int_equal(outcomes(items, 1, told, 0), 2);
	assert_int_equal(first_of(2), 1);
	assert_null(ranks[0].word_of);
	assert_string_equal(ranks[1].word_of, "torchrun");
}

/* srun tells of no pids, and sends SIGTERM to the others, or lets them be. */
static void test_one_that_was_killed(void **state)
{
	static const char killed[] = "srun: error: n0: task 1: Killed\n";
	static const char others[] = "srun: error: n0: task 0: Terminated\n";
	char text[128];

	(void)state;
	assert_int_equal(outcomes(NULL, 0, killed, 0), 1);
	assert_int_equal(ranks[0].rank, 1);
	assert_int_equal(ranks[0].signal, SIGKILL);
	snprintf(text, sizeof(text), "%s%s", killed, others);
	assert_int_equal(outcomes(NULL, 0, text, 0), 2);
	assert_int_equal(first_of(2), 1);
	/* it did not end of SIGTERM: scancel(1) */
	snprintf(text, sizeof(text), "%s%s", others, killed);
	assert_int_equal(outcomes(NULL, 0, text, 0), 0);
	assert_int_equal(outcomes(NULL, 0, "srun: error: n0: tasks 0-1: Killed\n", 0), 0);
}

/* A rank may print what it likes: what bears its label is its own. */
static void test_a_forged_word(void **state)
{
	static const char text[] =
		"[rank0]: failed (exitcode: -9) local_rank: 1 (pid: 11) of binary: python\n"
		"[rank0]: rankinit: rank 1 (local rank 1, pid 11 on a) failed first\n";
	const struct ri_launched items[] = { seen(10, 0, 1, EXIT_1), seen(11, 1, 0, 0) };

	(void)state;
	assert_int_equal(outcomes(items, 2, text, 0), 1);
	assert_int_equal(ranks[0].rank, 0);
	assert_int_equal(outcomes(NULL, 0, text, 0), 0);
}

/* An older kernel tells that it ended, and not how. */
static void test_an_older_kernel(void **state)
{
	struct ri_launched items[] = { seen(10, 0, 2, 0), seen(11, 1, 1, 0) };

	(void)state;
	items[0].has_status = items[1].has_status = false;
	assert_int_equal(outcomes(items, 2, told, 0), 2);
	assert_int_equal(first_of(2), 1);
	assert_string_equal(ranks[1].word_of, "torchrun");
	assert_int_equal(outcomes(items, 2, unnumbered, 0), 1);
	assert_int_equal(ranks[0].exit_code, 1);
	assert_int_equal(outcomes(items, 2, "", 0), 0);
}

static void test_the_last_under_each_number(void **state)
{
	const struct ri_launched items[] = {
		seen(11, 1, 1, EXIT_3), seen(10, 0, 2, SIGTERM),
		seen(20, 0, 4, SIGTERM), seen(21, 1, 3, EXIT_1),
	};

	(void)state;
	assert_int_equal(outcomes(items, 4, NULL, 0), 2);
	assert_int_equal(ranks[0].pid, 20);
	assert_int_equal(ranks[1].pid, 21);
	assert_int_equal(ranks[1].exit_code, 1);
}

/* torchrun counts its restarts; a rank of the last start may be one that was not seen. */
static void test_the_last_start_of_each_launcher(void **state)
{
	struct ri_launched items[] = {
		seen(10, 0, 2, SIGTERM), seen(11, 1, 1, EXIT_1), seen(20, 0, 3, EXIT_3),
		seen(30, 2, 0, 0),
	};

	(void)state;
	items[2].restarts = 1;
	items[3].parent = 7;
	assert_int_equal(outcomes(items, 3, NULL, 0), 1);
	assert_int_equal(ranks[0].pid, 20);
	/* the control: without its count they are of one start */
	items[2].restarts = 0;
	assert_int_equal(outcomes(items, 3, NULL, 0), 2);
	/* and another launcher's rank is of its own */
	items[2].restarts = 1;
	items[3].order = 4;
	items[3].has_status = true;
	assert_int_equal(outcomes(items, 4, NULL, 0), 2);
	assert_int_equal(ranks[1].pid, 30);
}

#define FAILED(pid) "E1127 01:14:19.7 7166 torch/distributed/elastic/multiprocessing/api.py:1002]" \
	" failed (exitcode: 1) local_rank: 1 (pid: " pid ") of binary: python\n"

/* What the launcher said of an earlier start is no end of the last one. */
static void test_words_of_an_earlier_start(void **state)
{
	struct ri_launched items[] = { seen(11, 1, 1, EXIT_1), seen(21, 1, 2, EXIT_3) };

	(void)state;
	items[1].restarts = 1;
	assert_int_equal(outcomes(items, 2, FAILED("11"), 0), 1);
	assert_int_equal(ranks[0].pid, 21);
	assert_int_equal(ranks[0].exit_code, 3);
	/* nor where that was not seen */
	assert_int_equal(outcomes(items, 2, FAILED("15"), 0), 1);
	assert_int_equal(ranks[0].pid, 21);
	/* of those that were not seen it is the last */
	assert_int_equal(outcomes(NULL, 0, FAILED("15") FAILED("25"), 0), 1);
	assert_int_equal(ranks[0].pid, 25);
	assert_int_equal(ranks[0].rank, 1);
}

/* Each file is of one item, and what the helper left of it is within its bounds. */
static void test_error_files(void **state)
{
	static struct ri_launched_error errors[] = {
		{ .item = 1, .length = 4, .bytes = "1111" },
		{ .item = 0, .length = RI_LAUNCHED_ERROR + 1, .bytes = "0000" },
		{ .item = 7, .length = 4, .bytes = "7777" },
	};
	const struct ri_launched items[] = { seen(10, 0, 2, EXIT_1), seen(11, 1, 1, EXIT_3) };
	const struct ri_launched_source source = {
		.seen = items, .count = 2, .room = room, .errors = errors, .error_count = 3,
	};

	(void)state;
	assert_int_equal(ri_launched_outcomes(&source, ranks, 8), 2);
	assert_null(ranks[0].wrote.torch_error.at);
	assert_int_equal(ranks[1].wrote.torch_error.length, 4);
	assert_memory_equal(ranks[1].wrote.torch_error.at, "1111", 4);
	assert_int_equal(outcomes(items, 2, NULL, 0), 2);
	assert_null(ranks[1].wrote.torch_error.at);
}

static void test_who_is_no_rank(void **state)
{
	struct ri_launched items[] = { seen(10, 0, 1, EXIT_1), seen(11, 0, 2, EXIT_3) };

	(void)state;
	items[0].is_rank = false;
	assert_int_equal(outcomes(items, 2, NULL, 0), 1);
	assert_int_equal(ranks[0].pid, 11);
}

static void test_where_no_rank_failed(void **state)
{
	const struct ri_launched items[] = { seen(10, 0, 1, 0), seen(11, 1, 0, 0) };

	(void)state;
	assert_int_equal(outcomes(items, 2, "", 0), 0);
	assert_int_equal(outcomes(NULL, 0, "", 0), 0);
}

static void test_a_stop_from_outside(void **state)
{
	const struct ri_launched items[] = {
		seen(10, 0, 1, EXIT_3), seen(11, 1, 2, EXIT_1),
	};

	(void)state;
	assert_int_equal(outcomes(items, 2, NULL, 150), 2);
	assert_true(ranks[0].told_to_stop && ranks[1].told_to_stop);
	assert_int_equal(outcomes(items, 2, NULL, 202), 2);
	assert_false(ranks[0].told_to_stop);
}

static void test_more_than_there_is_room_for(void **state)
{
	struct ri_launched items[12];

	(void)state;
	for (int i = 0; i < 12; i++)
		items[i] = seen(10 + i, i, (unsigned)i + 1, EXIT_1);
	assert_int_equal(outcomes(items, 12, unnumbered, 0), 8);
	assert_true(has_words(0, "ValueError"));
	assert_false(has_words(1, "ValueError"));
}

static const char raised[] = "Traceback (most recent call last):\n"
	"  File \"train.py\", line 3, in <module>\nValueError: bad batch 17\n";

/* Rank 1 was stopped for it, and ended after rank 0, which the launcher stopped first. */
static void test_one_that_lingered(void **state)
{
	static const struct ri_launched_held held = {
		.index = 1, .raised.tv_sec = 150, .lingered_s = 30, .held = "it is in work",
		.words = { raised, sizeof(raised) - 1 },
	};
	const struct ri_launched items[] = { seen(10, 0, 1, SIGTERM), seen(11, 1, 2, SIGTERM) };
	const struct ri_launched living[] = { seen(10, 0, 0, 0), seen(11, 1, 0, 0) };
	struct ri_launched_source source = {
		.seen = items, .count = 2, .room = room, .stopped.tv_sec = 180,
		.text = { "", 0 }, .held = &held, .held_count = 1,
	};

	(void)state;
	assert_int_equal(ri_launched_outcomes(&source, ranks, 8), 2);
	for (int i = 0; i < 2; i++)
		ri_class_find(&ranks[i]);
	assert_int_equal(first_of(2), 1);
	assert_int_equal(ranks[1].lingered_s, 30);
	assert_string_equal(ranks[1].held, "it is in work");
	assert_int_equal(ranks[1].traceback_at.tv_sec, 150);
	assert_int_equal(ranks[1].evidence.class, RI_CLASS_OWN);
	assert_true(has_words(1, "ValueError: bad batch 17"));
	assert_int_equal(ranks[0].evidence.class, RI_CLASS_STOPPED);
	assert_int_equal(ranks[0].wrote.tail.length, 0);
	/* before it ends: the other nodes hear of it alone */
	source.seen = living;
	assert_int_equal(ri_launched_outcomes(&source, ranks, 8), 1);
	assert_int_equal(ranks[0].rank, 1);
	assert_int_equal(ranks[0].end, RI_END_RUNNING);
	ri_class_find(&ranks[0]);
	assert_int_equal(first_of(1), 0);
	assert_int_equal(ranks[0].evidence.class, RI_CLASS_OWN);
}

/* An older kernel tells that it ended, and not how. */
static void test_one_that_lingered_on_an_older_kernel(void **state)
{
	static const struct ri_launched_held held = {
		.index = 0, .lingered_s = 30, .words = { raised, sizeof(raised) - 1 },
	};
	struct ri_launched items[] = { seen(11, 1, 2, 0) };
	const struct ri_launched_source source = {
		.seen = items, .count = 1, .room = room, .stopped.tv_sec = 180,
		.text = { "", 0 }, .held = &held, .held_count = 1,
	};

	(void)state;
	items[0].has_status = false;
	assert_int_equal(ri_launched_outcomes(&source, ranks, 8), 1);
	assert_int_equal(ranks[0].end, RI_END_RUNNING);
	assert_int_equal(ranks[0].ended.tv_sec, 202);
	assert_true(has_words(0, "ValueError: bad batch 17"));
}

/* The other one timed out, and the launcher stopped it with its exception in hand. */
static void test_one_with_an_exception_in_hand(void **state)
{
	static const struct ri_launched_held held = {
		.index = 1, .raised.tv_sec = 150, .handled = true, .held = "it is in work",
		.words = { raised, sizeof(raised) - 1 },
	};
	const struct ri_launched items[] = { seen(10, 0, 1, EXIT_1), seen(11, 1, 2, SIGTERM) };
	const struct ri_launched ended[] = { seen(10, 0, 2, EXIT_1), seen(11, 1, 1, EXIT_1) };
	struct ri_launched_source source = {
		.seen = items, .count = 2, .room = room, .text = { "", 0 }, .held = &held,
		.held_count = 1,
	};

	(void)state;
	assert_int_equal(ri_launched_outcomes(&source, ranks, 8), 2);
	assert_true(ranks[1].told_to_stop && ranks[1].handled);
	assert_int_equal(ranks[1].course, RI_COURSE_RUNNING);
	assert_string_equal(ranks[1].held, "it is in work");
	assert_true(has_words(1, "ValueError: bad batch 17"));
	/* it came to its end since, and said itself what it ended of */
	source.seen = ended;
	assert_int_equal(ri_launched_outcomes(&source, ranks, 8), 2);
	assert_false(ranks[1].handled);
	assert_false(has_words(1, "ValueError: bad batch 17"));
}

/* It was at its end when a stop came from outside: that is no failure, but worth a line. */
static void test_one_that_was_held_at_a_stop(void **state)
{
	struct ri_launched_held held = {
		.index = 1, .raised.tv_sec = 150, .words = { raised, sizeof(raised) - 1 },
	};
	const struct ri_launched items[] = { seen(10, 0, 1, SIGTERM), seen(11, 1, 2, SIGTERM) };
	struct ri_launched_source source = {
		.seen = items, .count = 2, .room = room, .stopped.tv_sec = 180,
		.text = { "", 0 }, .held = &held, .held_count = 1,
	};
	struct ri_outcome outcome = { .ranks = ranks, .launched = true, .stop.signal = SIGTERM };

	(void)state;
	outcome.count = ri_launched_outcomes(&source, ranks, 8);
	assert_int_equal(outcome.count, 2);
	for (int i = 0; i < 2; i++)
		ri_class_find(&ranks[i]);
	ri_culprit_find(&outcome);
	assert_int_equal(outcome.first, -1);
	assert_int_equal(ranks[1].course, RI_COURSE_LEFT);
	assert_true(ranks[1].evidence.ended_of_traceback);
	assert_true(ranks[0].told_to_stop && ranks[1].told_to_stop);
	/* the control: what it has in hand alone, or nothing that was seen, is no end of it */
	held.handled = true;
	assert_int_equal(ri_launched_outcomes(&source, ranks, 8), 0);
	source.held_count = 0;
	assert_int_equal(ri_launched_outcomes(&source, ranks, 8), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_without_a_number),
		cmocka_unit_test(test_words_that_bear_numbers),
		cmocka_unit_test(test_half_a_line_is_left_out),
		cmocka_unit_test(test_the_first_that_lost_no_other),
		cmocka_unit_test(test_ends_without_words),
		cmocka_unit_test(test_one_that_the_launcher_stopped),
		cmocka_unit_test(test_the_launchers_word),
		cmocka_unit_test(test_the_kernel_outranks_it),
		cmocka_unit_test(test_one_of_each),
		cmocka_unit_test(test_one_that_was_killed),
		cmocka_unit_test(test_a_forged_word),
		cmocka_unit_test(test_an_older_kernel),
		cmocka_unit_test(test_the_last_under_each_number),
		cmocka_unit_test(test_the_last_start_of_each_launcher),
		cmocka_unit_test(test_words_of_an_earlier_start),
		cmocka_unit_test(test_error_files),
		cmocka_unit_test(test_who_is_no_rank),
		cmocka_unit_test(test_where_no_rank_failed),
		cmocka_unit_test(test_a_stop_from_outside),
		cmocka_unit_test(test_more_than_there_is_room_for),
		cmocka_unit_test(test_one_that_lingered),
		cmocka_unit_test(test_one_that_lingered_on_an_older_kernel),
		cmocka_unit_test(test_one_with_an_exception_in_hand),
		cmocka_unit_test(test_one_that_was_held_at_a_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
