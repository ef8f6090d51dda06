/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that Lightning's own launcher starts, of which it is the first. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/culprit.h"
#include "report/launched.h"

enum { EXIT_1 = 1 << 8 };

static char room[RI_LAUNCHED_WORDS];
static struct ri_rank_outcome ranks[8];

static struct ri_launched seen(pid_t pid, int64_t rank, unsigned order, int status)
{
	return (struct ri_launched){
		.pid = pid, .rank = rank, .local_rank = rank, .local_ranks = 2, .is_rank = true,
		.order = order, .started.tv_sec = 100, .ended.tv_sec = 200 + (time_t)order,
		.has_status = true, .wait_status = status,
	};
}

static ssize_t first_of(size_t count)
{
	struct ri_outcome outcome = { .ranks = ranks, .count = count, .launched = true };

	ri_culprit_find(&outcome);
	return outcome.first;
}

static const char of_lightning[] = "Traceback (most recent call last):\n"
	"  File \"train.py\", line 3, in <module>\nValueError: bad batch 17\n"
	"[rank: 1] Child process with PID 11 terminated with code 1. Forcefully terminating all "
	"other processes to avoid zombies\n";

static const char of_srun[] = "srun: error: n0: task 1: Exited with exit code 1\n";

static void classify(void)
{
	for (size_t i = 0; i < 2; i++)
		ri_class_find(&ranks[i]);
}

/* Lightning's is the first rank of its node, and ends itself with SIGKILL. */
static void test_the_first_rank_is_the_launcher(void **state)
{
	struct ri_rank_outcome command = {
		.pid = 10, .end = RI_END_SIGNALED, .signal = SIGKILL,
	};
	struct ri_launched items[] = { seen(11, 1, 1, EXIT_1), seen(10, 0, 2, 0) };
	struct ri_launched_source source = {
		.seen = items, .count = 2, .room = room, .python = true, .command = &command,
		.text = { of_lightning, strlen(of_lightning) },
	};

	(void)state;
	/* an older kernel does not tell how it ended, but PID 1 knows */
	items[1].has_status = false;
	assert_int_equal(ri_launched_outcomes(&source, ranks, 8), 2);
	classify();
	assert_int_equal(first_of(2), 1);
	assert_true(ranks[0].told_to_stop);
	assert_int_equal(ranks[0].signal, SIGKILL);
	assert_null(ranks[1].word_of);
	assert_true(ri_span_has(ranks[1].wrote.tail, "ValueError: bad batch 17"));
	/* none was seen: both are known by its word */
	source.count = 0;
	assert_int_equal(ri_launched_outcomes(&source, ranks, 8), 2);
	classify();
	assert_int_equal(first_of(2), 1);
	assert_string_equal(ranks[1].word_of, "lightning");
	assert_int_equal(ranks[1].exit_code, 1);
	assert_int_equal(ranks[0].pid, 10);
	assert_true(ranks[0].told_to_stop);
	/* of another node than the first the word tells no rank of the job */
	source.later_node = true;
	assert_int_equal(ri_launched_outcomes(&source, ranks, 8), 0);
	source.later_node = false;
	/* one that did not end itself only quotes it */
	command = (struct ri_rank_outcome){ .pid = 10, .end = RI_END_EXITED, .exit_code = 1 };
	assert_int_equal(ri_launched_outcomes(&source, ranks, 8), 0);
	command = (struct ri_rank_outcome){ .pid = 10, .end = RI_END_SIGNALED, .signal = SIGKILL };
	/* nor do actors of Ray's tell it, or what a program of Python's says of others */
	source.of_ray = true;
	assert_int_equal(ri_launched_outcomes(&source, ranks, 8), 0);
	source.of_ray = false;
	source.text = (struct ri_span){ of_srun, strlen(of_srun) };
	assert_int_equal(ri_launched_outcomes(&source, ranks, 8), 0);
	source.python = false;
	assert_int_equal(ri_launched_outcomes(&source, ranks, 8), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_rank_is_the_launcher),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
