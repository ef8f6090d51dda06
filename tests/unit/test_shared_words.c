/* SPDX-License-Identifier: Apache-2.0 */
/* Words of several ranks on one stderr, without an owner: who of them lost others. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/culprit.h"
#include "report/launched.h"

enum { RANKS = 4, EXIT_1 = 1 << 8 };

/* jax issue 19596: xla/pjrt/distributed/client.h */
#define LOG "2024-01-31 10:21:35.125511: "
#define LOST LOG "F external/xla/xla/pjrt/distributed/client.h:75] Terminating process because " \
	"the coordinator detected missing heartbeats. Status: UNAVAILABLE: Socket closed\n"
#define NOTED LOG "W external/tsl/x.cc:170] Failed to retrieve preemption notice: UNAVAILABLE: " \
	"Socket closed\n" LOG "E external/tsl/y.cc:481] Failed to disconnect: Socket closed\n"
#define TRACE "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n" \
	"RuntimeError: [/gloo/transport/tcp/pair.cc:1] Connection closed by peer [10.0.0.5]:4711\n"

static struct ri_rank_outcome ranks[RANKS];
static struct ri_outcome outcome;

/* Rank 0 has left with 0, and then the others ended with these, as a launcher's ranks do. */
static void judge(int second, int third, int fourth, const char *text)
{
	static char room[RI_LAUNCHED_WORDS];
	const int ends[] = { 0, second, third, fourth };
	struct ri_launched items[RANKS];
	const struct ri_launched_source source = {
		.seen = items, .count = RANKS, .room = room, .text = { text, strlen(text) },
	};

	for (unsigned i = 0; i < RANKS; i++)
		items[i] = (struct ri_launched){
			.pid = 10 + (pid_t)i, .rank = i, .local_rank = i, .local_ranks = RANKS,
			.is_rank = true, .order = i + 1, .started.tv_sec = 100,
			.ended.tv_sec = 200 + (time_t)i, .has_status = true,
			.wait_status = ends[i],
		};
	memset(ranks, 0, sizeof(ranks));
	assert_int_equal(ri_launched_outcomes(&source, ranks, RANKS), RANKS);
	for (int i = 0; i < RANKS; i++)
		ri_class_find(&ranks[i]);
	outcome = (struct ri_outcome){ .ranks = ranks, .count = RANKS, .launched = true };
	ri_culprit_find(&outcome);
}

static void expect(enum ri_culprit culprit, int named, enum ri_class second, enum ri_class third)
{
	assert_int_equal(outcome.culprit, culprit);
	assert_int_equal(ri_outcome_named(&outcome), named);
	assert_int_equal(ranks[1].evidence.class, second);
	assert_int_equal(ranks[2].evidence.class, third);
}

static void a_leader_that_left(void **state)
{
	(void)state;
	judge(SIGABRT, SIGABRT, SIGABRT, NOTED LOST NOTED LOST NOTED LOST);
	expect(RI_CULPRIT_LEFT, 0, RI_CLASS_LOSS, RI_CLASS_LOSS);
	judge(EXIT_1, EXIT_1, EXIT_1, TRACE "step\n" TRACE TRACE);
	expect(RI_CULPRIT_LEFT, 0, RI_CLASS_LOSS, RI_CLASS_LOSS);
	/* one that ended otherwise is no loser by these words */
	judge(SIGABRT, SIGSEGV, SIGABRT, NOTED LOST NOTED LOST);
	expect(RI_CULPRIT_FIRST, 2, RI_CLASS_LOSS, RI_CLASS_OWN);
}

/* Where they do not say it as often, one of them did not lose the others. */
static void one_that_did_not_say_so(void **state)
{
	(void)state;
	judge(SIGABRT, SIGABRT, SIGABRT, NOTED LOST NOTED LOST);
	expect(RI_CULPRIT_FIRST, 2, RI_CLASS_LOSS, RI_CLASS_OWN);
	/* what is only noted is no end */
	judge(SIGABRT, SIGABRT, SIGABRT, NOTED NOTED NOTED NOTED LOST);
	expect(RI_CULPRIT_FIRST, 2, RI_CLASS_LOSS, RI_CLASS_OWN);
	/* of its own words each has its own class */
	judge(EXIT_1, EXIT_1, EXIT_1, TRACE TRACE TRACE "[rank2]: Traceback (most recent call "
		"last):\n[rank2]:   File \"a.py\", line 1, in f\n[rank2]: ValueError: bad\n");
	expect(RI_CULPRIT_FIRST, 2, RI_CLASS_LOSS, RI_CLASS_OWN);
	/* and an exception of some rank's own is no loss of any */
	judge(EXIT_1, EXIT_1, EXIT_1, "Traceback (most recent call last):\n  File \"a.py\", line "
		"1, in f\nValueError: bad\n" TRACE TRACE);
	expect(RI_CULPRIT_FIRST, 1, RI_CLASS_OWN, RI_CLASS_UNKNOWN);
}

/* One that left with 0 has the words that bear its number, and none without. */
static void what_the_leader_had_logged(void **state)
{
	(void)state;
	judge(EXIT_1, EXIT_1, EXIT_1, "[default0]:ERROR: no shard\n" TRACE TRACE TRACE);
	expect(RI_CULPRIT_LEFT, 0, RI_CLASS_LOSS, RI_CLASS_LOSS);
	assert_true(ri_span_starts(ranks[0].wrote.tail, "ERROR: no shard"));
	assert_int_equal(ranks[0].evidence.class, RI_CLASS_NONE);
	judge(EXIT_1, EXIT_1, EXIT_1, "ERROR: no shard\n" TRACE TRACE TRACE);
	assert_int_equal(ranks[0].wrote.tail.length, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leader_that_left),
		cmocka_unit_test(one_that_did_not_say_so),
		cmocka_unit_test(what_the_leader_had_logged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
