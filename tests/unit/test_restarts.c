/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of ranks that a launcher started again. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/culprit.h"
#include "report/restarts.h"

static char line[4096];
static struct ri_restarts restarts;
static struct ri_reason scratch;

static struct ri_rank_outcome rank_of(uint64_t number, int status, const char *tail)
{
	struct ri_rank_outcome rank = {
		.rank = number, .local_rank = number, .pid = 100 + (pid_t)number,
		.end = RI_END_EXITED, .exit_code = status, .started.tv_sec = 10,
		.ended = { .tv_sec = 12, .tv_nsec = 500000000 },
		.wrote.tail = { tail, strlen(tail) },
	};

	ri_class_find(&rank);
	return rank;
}

static int begin(void **state)
{
	(void)state;
	restarts = (struct ri_restarts){
		.launcher = "torchrun", .count = 1, .all = 1,
		.items[0] = { .number = 1, .most = 3 },
	};
	return 0;
}

static const char *moment(void)
{
	struct ri_text out;

	out = ri_text_of(line, sizeof(line));
	ri_restart_add(&out, &restarts, &restarts.items[0]);
	return line;
}

static const char *verdict(void)
{
	struct ri_text out;

	out = ri_text_of(line, sizeof(line));
	ri_text_add(&out, "  before\n");
	ri_restarts_add(&out, &restarts);
	return line + strlen("  before\n");
}

/* How these ranks of a launcher failed, whose classes are found. */
static void describe(struct ri_rank_outcome *ranks, size_t count)
{
	struct ri_outcome outcome = {
		.ranks = ranks, .count = count, .launched = true, .reason = &scratch,
	};

	ri_culprit_find(&outcome);
	if (outcome.first >= 0)
		ri_reason_find(&ranks[outcome.first], &scratch);
	ri_restart_describe(&restarts.items[0], &outcome);
}

static void a_rank_that_raised(void **state)
{
	struct ri_rank_outcome ranks[] = {
		rank_of(0, 0, ""),
		rank_of(1, 1, "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
			"ValueError: bad token=hunter2\n"),
	};

	(void)state;
	describe(ranks, 2);
	assert_null(restarts.items[0].first.wrote.tail.at);
	assert_string_equal(moment(), "rank 1 (local rank 1, pid 101) failed: exit status 1, "
		"after 2.500 s: ValueError: bad token=***; torchrun starts its ranks again "
		"(restart 1 of 3)");
	assert_string_equal(verdict(), "  torchrun had started its ranks again once, because rank "
		"1 failed: exit status 1, after 2.500 s: ValueError: bad token=***\n");
	restarts.all = 4;
	assert_string_equal(verdict(), "  torchrun had started its ranks again 4 times, at first "
		"because rank 1 failed: exit status 1, after 2.500 s: ValueError: bad token=***\n");
}

static void a_rank_with_an_error_file(void **state)
{
	static const char file[] =
		"{\"message\": {\"message\": \"ValueError: bad token=hunter2\"}}";
	struct ri_rank_outcome rank = rank_of(1, 1, "");

	(void)state;
	rank.wrote.torch_error = (struct ri_span){ file, sizeof(file) - 1 };
	ri_class_find(&rank);
	describe(&rank, 1);
	assert_non_null(strstr(moment(), " after 2.500 s: ValueError: bad token=***; torchrun"));
	assert_null(restarts.items[0].first.wrote.torch_error.at);
	/* the control: one that is no such file */
	restarts.items[0].words[0] = '\0';
	rank.wrote.torch_error.length--;
	describe(&rank, 1);
	assert_non_null(strstr(moment(), " after 2.500 s; torchrun"));
}

static void ranks_that_lost_another_node(void **state)
{
	struct ri_rank_outcome ranks[] = {
		rank_of(0, 1, "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
			"RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer "
			"[10.0.0.1]:3\n"),
	};

	(void)state;
	describe(ranks, 1);
	assert_non_null(strstr(moment(), "pid 100) lost a peer: exit status 1, after 2.500 s: R"));
	assert_null(strstr(line, "failed"));
}

static void where_no_rank_is_known(void **state)
{
	struct ri_rank_outcome ranks[] = { rank_of(0, 0, "") };

	(void)state;
	describe(ranks, 0);
	assert_false(restarts.items[0].known);
	describe(ranks, 1);
	assert_string_equal(moment(), "torchrun starts its ranks again (restart 1 of 3)");
	assert_string_equal(verdict(), "  torchrun had started its ranks again once\n");
	restarts.items[0].most = 0;
	assert_string_equal(moment(), "torchrun starts its ranks again (restart 1)");
	restarts.launcher = NULL;
	assert_string_equal(moment(), "the launcher starts its ranks again (restart 1)");
	assert_string_equal(verdict(), "  the launcher had started its ranks again once\n");
}

static void a_job_of_several_nodes(void **state)
{
	static const char text[] = "rank 1 (local rank 0, pid 7 on b) failed first (node 1 of 2): "
		"killed by SIGKILL (9)\n  its last line was\n";
	const struct ri_verdict job = { .rank = 1, .node = 1 };

	(void)state;
	ri_restart_describe_job(&restarts.items[0], &job, text);
	assert_int_equal(restarts.items[0].verdict.node, 1);
	assert_string_equal(verdict(), "  torchrun had started its ranks again once: rank 1 (local "
		"rank 0, pid 7 on b) failed first (node 1 of 2): killed by SIGKILL (9)\n");
}

static void an_exception_without_end(void **state)
{
	struct ri_restart *restart = &restarts.items[0];

	(void)state;
	restart->known = true;
	restart->first = rank_of(1 << 20, 1, "");
	restart->first.word_of = "torchrun";
	restart->first.end = RI_END_SIGNALED;
	restart->first.signal = SIGKILL;
	memset(restart->words, 'x', sizeof(restart->words) - 1);
	restarts.all = UINT32_MAX;
	assert_int_equal(strlen(verdict()), RI_VERDICT_COLUMNS + 1);
	/* and where even less of it is left than would say something */
	restart->first.oom = true;
	restart->first.ended.tv_sec = INT32_MAX;
	restart->first.rank = restarts.all = UINT64_MAX;
	assert_in_range(strlen(verdict()), 200, RI_VERDICT_COLUMNS + 1);
	assert_null(strstr(line, "xx"));
}

/* What ends at once starts again more slowly each time; a port is free again after a minute. */
static void a_pause_before_the_next_attempt(void **state)
{
	static const int64_t pauses[] = { 0, 0, 1000, 2000, 4000, 8000, 16000, 30000, 30000 };

	(void)state;
	for (uint64_t quick = 0; quick < sizeof(pauses) / sizeof(pauses[0]); quick++)
		assert_int_equal(ri_again_pause_ms(quick, RI_CAUSE_KILLED), pauses[quick]);
	assert_int_equal(ri_again_pause_ms(UINT64_MAX, RI_CAUSE_KILLED), 30000);
	assert_int_equal(ri_again_pause_ms(0, RI_CAUSE_RENDEZVOUS), 0);
	assert_int_equal(ri_again_pause_ms(1, RI_CAUSE_RENDEZVOUS), 16000);
	assert_int_equal(ri_again_pause_ms(2, RI_CAUSE_RENDEZVOUS), 30000);
	assert_int_equal(ri_again_quick(3, 59999), 4);
	assert_int_equal(ri_again_quick(3, 60000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pause_before_the_next_attempt),
		cmocka_unit_test_setup(a_rank_that_raised, begin),
		cmocka_unit_test_setup(a_rank_with_an_error_file, begin),
		cmocka_unit_test_setup(ranks_that_lost_another_node, begin),
		cmocka_unit_test_setup(where_no_rank_is_known, begin),
		cmocka_unit_test_setup(a_job_of_several_nodes, begin),
		cmocka_unit_test_setup(an_exception_without_end, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
