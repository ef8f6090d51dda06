/* SPDX-License-Identifier: Apache-2.0 */
/* What an end is evidence of, and who failed first by that. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/culprit.h"
#include "culprit_of.h"

#define LATE HEAD "RuntimeError: [/gloo/transport/tcp/unbound_buffer.cc:1] Timed out waiting 1ms\n"
#define ABORTED "terminate called after throwing an instance of 'c10::DistBackendError'\n" \
	"  what():  [Rank 1] Watchdog caught collective operation timeout: x\n" \
	"frame #0: x\n"

}

static void expect_class(enum ri_class class)
{
	ri_class_find(&ranks[0]);
	assert_int_equal(ranks[0].evidence.class, class);
	assert_int_equal(ranks[0].evidence.loss != NULL, class == RI_CLASS_LOSS);
}

#define ENDED(rank, code) "[" rank "]:\n  rank      : " rank " (local_rank: " rank ")\n" \
	"  exitcode  : " code " (pid: 941" rank ")\n"
#define AGENT(codes) HEAD "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" \
	"====\ntrain.py FAILED\n----\nFailures:\n" codes "====\n"

/* torchrun's agent has one exception for all that its workers may end of. */
static void classes_of_agents(void **state)
{
	(void)state;
	exits(0, 1, LOST LATE "W x] Sending process 7 closing signal SIGTERM\n"
		AGENT(ENDED("1", "1") ENDED("2", "-15")), 150);
	expect_class(RI_CLASS_LOSS);
	exits(0, 1, OWN LOST AGENT(ENDED("1", "1") ENDED("2", "1")), 150);
	expect_class(RI_CLASS_OWN);
	exits(0, 1, LOST OWN AGENT(ENDED("1", "-15") ENDED("2", "1")), 150);
	expect_class(RI_CLASS_OWN);
	/* one of them without a word, or not of an exception */
	exits(0, 1, LOST AGENT(ENDED("1", "1") ENDED("2", "1")), 150);
	expect_class(RI_CLASS_OWN);
	exits(0, 1, LOST AGENT(ENDED("1", "1") ENDED("2", "-9")), 150);
	expect_class(RI_CLASS_OWN);
	exits(0, 1, LOST AGENT(ENDED("1", "3")), 150);
	expect_class(RI_CLASS_OWN);
	exits(0, 1, LOST AGENT(""), 150);
	expect_class(RI_CLASS_OWN);
	/* no agent's */
	exits(0, 1, LOST HEAD "errors.ChildFailedError: \n" ENDED("1", "1"), 150);
	expect_class(RI_CLASS_OWN);
}

static void classes_of_exits(void **state)
{
	(void)state;
	expect_class(RI_CLASS_NONE);
	exits(0, 3, "", 0);
	expect_class(RI_CLASS_UNKNOWN);
	exits(0, 1, "step 1\nusage: train.py\n", 0);
	expect_class(RI_CLASS_UNKNOWN);
	exits(0, 1, OWN, 150);
	expect_class(RI_CLASS_OWN);
	assert_true(ranks[0].evidence.witnessed);
	exits(0, 1, LOST, 150);
	expect_class(RI_CLASS_LOSS);
	exits(0, 1, "step 1\nHorovod has been shut down. This was caused by x\n", 0);
	expect_class(RI_CLASS_LOSS);
	/* what follows is of its way out, however much that is */
	exits(0, 1, OWN "\n1\n2\n3\n4\nHorovod has been shut down\nbye\n", 150);
	expect_class(RI_CLASS_OWN);
	/* the control: Python had caught that one a minute before */
	exits(0, 1, OWN "\n1\n2\n3\n4\nHorovod has been shut down\nbye\n", 140);
	expect_class(RI_CLASS_LOSS);
	/* no words hide another status, but those of a runtime that ends a process */
	exits(0, 3, LOST "Horovod has been shut down\n", 150);
	expect_class(RI_CLASS_UNKNOWN);
	exits(0, 3, OWN, 150);
	expect_class(RI_CLASS_UNKNOWN);
	exits(0, 15, "Horovod has been shut down\nAbort(15) on node 0: Fatal error\n", 0);
	expect_class(RI_CLASS_LOSS);
	ranks[0].end = RI_END_EXEC_FAILED;
	expect_class(RI_CLASS_OWN);
	ranks[0].end = RI_END_RUNNING;
	expect_class(RI_CLASS_NONE);
}

/* A process that it left tells of it: it failed when it ended. */
static void words_behind_an_end(void **state)
{
	(void)state;
	exits(0, 1, OWN, 205);
	exits(1, 1, OWN, 202);
	ranks[1].ended.tv_sec = 203;
	expect(0, RI_CULPRIT_FIRST);
	/* the control: its own words come before its end */
	ranks[0].ended.tv_sec = 206;
	expect(1, RI_CULPRIT_FIRST);
}

static void classes_of_signals(void **state)
{
	static const int own[] = { SIGKILL, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM };

	(void)state;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		is_killed(0, own[i]);
		expect_class(RI_CLASS_OWN);
	}
	is_killed(0, SIGPIPE);
	expect_class(RI_CLASS_UNKNOWN);
	/* a watchdog aborts its victims */
	is_killed(0, SIGABRT);
	exits(0, 0, ABORTED, 0);
	expect_class(RI_CLASS_LOSS);
	assert_int_equal(ranks[0].evidence.loss->kind, RI_LOSS_CLOCK);
	/* and so it is where a shell tells of that */
	ranks[0].end = RI_END_EXITED;
	ranks[0].exit_code = 128 + SIGABRT;
	expect_class(RI_CLASS_LOSS);
	/* no words hide what another signal proves */
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		is_killed(0, own[i]);
		exits(0, 0, LOST, 150);
		expect_class(own[i] == SIGABRT ? RI_CLASS_LOSS : RI_CLASS_OWN);
	}
	is_killed(0, SIGKILL);
	ranks[0].oom = true;
	expect_class(RI_CLASS_OWN);
}

/* It waited for the others on its way out, and says so at length. */
static void an_own_end_that_became_a_loss(void **state)
{
	(void)state;
	is_killed(0, SIGABRT);
	ranks[0].course = RI_COURSE_LEFT;
	exits(0, 0, OWN "E1123 00:58:56.8 8364 agent.cc:289] Polled an error\n"
		"F1123 00:58:56.8 8364 client.h:80] Terminating process because the JAX "
		"distributed service detected fatal errors.\n1\n2\n3\n4\n5\n", 150);
	expect_class(RI_CLASS_OWN);
	exits(0, 0, OWN "\nHorovod has been shut down\n\n1\n2\n3\n4\n5\n", 150);
	expect_class(RI_CLASS_OWN);
	/* the control: its exception was not seen to leave its program */
	ranks[0].course = RI_COURSE_UNKNOWN;
	expect_class(RI_CLASS_LOSS);
}

static void classes_of_who_was_told(void **state)
{
	(void)state;
	is_stopped(0);
	expect_class(RI_CLASS_STOPPED);
	ranks[0].course = RI_COURSE_LEFT;
	exits(0, 0, OWN, 150);
	expect_class(RI_CLASS_OWN);
	assert_false(ranks[0].evidence.printed);
	exits(0, 0, LOST, 150);
	expect_class(RI_CLASS_LOSS);
	/* however much the libraries have to say after it */
	exits(0, 0, OWN "frame #0: x\nframe #1: x\nframe #2: x\nwandb: x\n[rank0]:[W1 x\n", 150);
	expect_class(RI_CLASS_OWN);
	exits(0, 0, OWN "1\n2\n3\n4\n", 50);
	expect_class(RI_CLASS_OWN);
	/* an exception that ended a thread left no program */
	exits(0, 0, "Exception in thread Thread-1:\n" OWN, 150);
	expect_class(RI_CLASS_STOPPED);
	exits(0, 0, HEAD "KeyboardInterrupt\n", 150);
	expect_class(RI_CLASS_STOPPED);
	exits(0, 0, HEAD "torch.distributed.elastic.multiprocessing.api.SignalException: Process "
		"7 got signal: 15\n", 150);
	expect_class(RI_CLASS_STOPPED);
	ranks[0].end = RI_END_EXITED;
	exits(0, 1, HEAD "SystemExit: 1\n", 150);
	expect_class(RI_CLASS_STOPPED);
	/* our stop was faster than its words */
	exits(0, 1, HEAD, 150);
	expect_class(RI_CLASS_STOPPED);
	/* by itself it is an end of its own */
	ranks[0].told_to_stop = false;
	exits(0, 1, HEAD "KeyboardInterrupt\n", 150);
	expect_class(RI_CLASS_OWN);
}

/* Where its program was not seen to be over, it may have caught what it printed. */
static void classes_of_who_may_have_gone_on(void **state)
{
	(void)state;
	is_stopped(0);
	exits(0, 0, OWN, 150);
	expect_class(RI_CLASS_STOPPED);
	assert_true(ranks[0].evidence.printed);
	assert_false(ranks[0].evidence.witnessed);
	/* what follows it may still be a loss, and so may its own words */
	exits(0, 0, OWN "\n1\n2\n3\n4\n[/gloo/transport/tcp/pair.cc:1] Connection closed by peer "
		"[::1]:1\n", 150);
	expect_class(RI_CLASS_LOSS);
	exits(0, 0, LOST, 150);
	expect_class(RI_CLASS_LOSS);
	assert_false(ranks[0].evidence.printed);
	/* but not of one that was seen to run its program afterwards */
	ranks[0].course = RI_COURSE_RUNNING;
	expect_class(RI_CLASS_STOPPED);
	assert_true(ranks[0].evidence.printed);
	/* the control: who was not told ended by itself */
	ranks[0].told_to_stop = false;
	expect_class(RI_CLASS_OWN);
	ranks[0].end = RI_END_EXITED;
	exits(0, 1, LOST, 150);
	expect_class(RI_CLASS_LOSS);
	exits(0, 1, OWN, 150);
	expect_class(RI_CLASS_OWN);
	assert_false(ranks[0].evidence.printed);
}

static void of_the_file_of_torch(void **state)
{
	static const char own[] = "{\"message\": {\"message\": \"ValueError: x\", \"extraInfo\": "
		"{\"timestamp\": \"150\"}}}";
	static const char lost[] = "{\"message\": {\"message\": \"RuntimeError: [/gloo/transport/"
		"tcp/pair.cc:1] Connection closed by peer [::1]:1\", \"extraInfo\": "
		"{\"timestamp\": \"150\"}}}";

	(void)state;
	exits(0, 1, "", 0);
	ranks[0].wrote.torch_error.at = own;
	ranks[0].wrote.torch_error.length = strlen(own);
	expect_class(RI_CLASS_OWN);
	/* another may have written it: not against its own words, nor of one that was stopped */
	exits(0, 1, LOST + sizeof(HEAD "RuntimeError: ") - 1, 0);
	expect_class(RI_CLASS_LOSS);
	exits(0, 0, "", 0);
	is_stopped(0);
	expect_class(RI_CLASS_STOPPED);
	ranks[0].course = RI_COURSE_LEFT;
	expect_class(RI_CLASS_OWN);
	begin(NULL);
	exits(0, 1, "", 0);
	ranks[0].wrote.torch_error.at = lost;
	ranks[0].wrote.torch_error.length = strlen(lost);
	expect_class(RI_CLASS_LOSS);
}

static void the_names_of_classes(void **state)
{
	(void)state;
	assert_null(ri_class_words[RI_CLASS_NONE]);
	assert_string_equal(ri_class_words[RI_CLASS_STOPPED], "stopped");
	assert_string_equal(ri_class_words[RI_CLASS_LOSS], "loss");
	assert_string_equal(ri_class_words[RI_CLASS_UNKNOWN], "unknown");
	assert_string_equal(ri_class_words[RI_CLASS_OWN], "own");
}

/* The victims' exceptions appear before the culprit can be reaped. */
static void a_class_decides_before_the_time(void **state)
{
	(void)state;
	exits(0, 1, LOST, 150);
	exits(1, 1, LOST, 151);
	exits(3, 1, LOST, 152);
	is_killed(2, SIGSEGV);
	expect(2, RI_CULPRIT_FIRST);
	ranks[2].end = RI_END_EXITED;
	exits(2, 3, "", 0);
	expect(2, RI_CULPRIT_FIRST);
	exits(2, 1, OWN, 170);
	expect(2, RI_CULPRIT_FIRST);
	/* the control: of one class the first one is named */
	exits(3, 1, OWN, 160);
	expect(3, RI_CULPRIT_FIRST);
}

static void one_that_says_that_it_killed_the_others(void **state)
{
	(void)state;
	is_killed(0, SIGKILL);
	exits(1, 1, HEAD "pytorch_lightning.utilities.exceptions.DeadlockDetectedException: "
		"DeadLock detected from rank: 1 \n Traceback\n", 160);
	expect(1, RI_CULPRIT_FIRST);
	/* the control: any other exception is later */
	exits(1, 1, OWN, 240);
	expect(0, RI_CULPRIT_FIRST);
}

static void the_only_one_that_complains(void **state)
{
	(void)state;
	exits(0, 1, "warmed up\n", 0);
	exits(1, 1, "ERROR:megatron:found NaN\n/a.py:1: UserWarning: x\n", 0);
	expect(1, RI_CULPRIT_FIRST);
	/* another status is another end */
	exits(0, 3, "warmed up\n", 0);
	expect(0, RI_CULPRIT_FIRST);
	exits(1, 3, "ERROR:megatron:found NaN\n", 0);
	expect(1, RI_CULPRIT_FIRST);
	/* where they do not end at about one moment, their order counts */
	ranks[1].ended.tv_sec += 2;
	expect(0, RI_CULPRIT_FIRST);
	/* and a warning of an error is none */
	exits(0, 1, "warmed up\n", 0);
	exits(1, 1, "[rank1]:[W1122 01:02:03.4 a.cpp:1] with error: x\n", 0);
	expect(0, RI_CULPRIT_FIRST);
}

static void one_that_hangs_after_its_traceback(void **state)
{
	(void)state;
	exits(0, 1, LOST, 150);
	is_stopped(1);
	is_stopped(2);
	exits(2, 0, OWN "[rank2]:[W1122 01:02:03.4 a.cpp:1] x\n", 140);
	ranks[2].course = RI_COURSE_LEFT;
	is_stopped(3);
	expect(2, RI_CULPRIT_FIRST);
	/* the control: where nobody saw that its program was over */
	ranks[2].course = RI_COURSE_UNKNOWN;
	expect(0, RI_CULPRIT_UNKNOWN);
}

static void one_that_was_seen_to_be_dying(void **state)
{
	(void)state;
	/* words that no table knows */
	exits(0, 1, HEAD "my.PeerGone: x\n", 150);
	is_killed(2, SIGKILL);
	expect(0, RI_CULPRIT_FIRST);
	ranks[2].gone_at = (struct timespec){ .tv_sec = 149, .tv_nsec = 999999999 };
	expect(2, RI_CULPRIT_FIRST);
}

static void without_a_word_where_there_are_other_nodes(void **state)
{
	(void)state;
	of_two_nodes();
	exits(0, 1, LOST, 150);
	exits(1, 1, LOST, 151);
	exits(2, 3, "", 0);
	/* it may be one more that lost the other node */
	expect(0, RI_CULPRIT_ELSEWHERE);
	ranks[2].gone_at.tv_sec = 150;
	expect(2, RI_CULPRIT_FIRST);
	ranks[2].gone_at.tv_sec = 151;
	expect(0, RI_CULPRIT_ELSEWHERE);
	ranks[2].gone_at.tv_sec = 0;
	ranks[2].ended.tv_sec = 149;
	expect(2, RI_CULPRIT_FIRST);
	/* and without any loss it is what failed */
	begin(state);
	of_two_nodes();
	exits(2, 3, "", 0);
	expect(2, RI_CULPRIT_FIRST);
}

static void losses_alone(void **state)
{
	(void)state;
	exits(0, 1, LOST, 151);
	exits(1, 1, LOST, 150);
	is_stopped(2);
	is_stopped(3);
	expect(1, RI_CULPRIT_UNKNOWN);
	of_two_nodes();
	expect(1, RI_CULPRIT_ELSEWHERE);
	assert_int_equal(ri_outcome_nodes(&outcome), 2);
	/* one rank of an mpirun: the others are not ours to see */
	outcome.count = 1;
	expect(0, RI_CULPRIT_ELSEWHERE);
	/* of a command that is no rank nothing else is known */
	begin(state);
	outcome.count = 1;
	exits(0, 1, LOST, 151);
	expect(0, RI_CULPRIT_FIRST);
	/* the one rank of a launcher, alone and beside another node */
	outcome.launched = true;
	expect(0, RI_CULPRIT_FIRST);
	of_two_nodes();
	topology.facts[RI_FACT_RANK].state = RI_STATE_ABSENT;
	expect(0, RI_CULPRIT_ELSEWHERE);
	outcome.launched = false;
	expect(0, RI_CULPRIT_FIRST);
}

/* A node that waited in vain for one of its own must not send people to another node. */
static void a_wait_that_another_rank_of_this_node_may_have_caused(void **state)
{
	(void)state;
	of_two_nodes();
	exits(0, 1, LATE, 150);
	is_stopped(1);
	is_stopped(2);
	is_stopped(3);
	expect(0, RI_CULPRIT_UNKNOWN);
	/* the controls: all waited in vain; a connection was lost, which a hung rank keeps */
	for (int i = 1; i < RANKS; i++)
		exits(i, 1, LATE, 150);
	expect(0, RI_CULPRIT_ELSEWHERE);
	exits(0, 1, LOST, 149);
	is_stopped(1);
	expect(0, RI_CULPRIT_ELSEWHERE);
}

/* It logged an exception, went on, and was stopped for another one. */
static void an_exception_that_was_handled(void **state)
{
	(void)state;
	exits(0, 0, OWN, 150);
	ranks[0].end = RI_END_SIGNALED;
	ranks[0].signal = SIGTERM;
	ranks[0].told_to_stop = true;
	exits(1, 3, "", 0);
	for (int second = 151; second < 200; second += 48) {
		ranks[1].ended.tv_sec = second;
		ranks[0].course = RI_COURSE_UNKNOWN;
		expect(1, RI_CULPRIT_FIRST);
		/* the control: one that is on its way out counts, and came first */
		ranks[0].course = RI_COURSE_LEFT;
		expect(0, RI_CULPRIT_FIRST);
	}
	/* and one that hangs after it, where the others only lose it */
	exits(1, 1, LOST, 190);
	expect(0, RI_CULPRIT_FIRST);
}

static void one_that_left_early(void **state)
{
	(void)state;
	ranks[2].ended.tv_sec = 140;
	for (int i = 0; i < RANKS; i++)
		if (i != 2)
			exits(i, 1, LOST, 150 + i);
	expect(0, RI_CULPRIT_LEFT);
	assert_int_equal(outcome.named, 2);
	/* its connections close before it has ended */
	ranks[2].ended.tv_sec = 200;
	expect(0, RI_CULPRIT_LEFT);
	/* of two the first */
	exits(1, 0, "", 0);
	ranks[1].ended.tv_sec = 130;
	expect(0, RI_CULPRIT_LEFT);
	assert_int_equal(outcome.named, 1);
	/* all but one had done their work: it is that one that goes on alone */
	exits(0, 0, "", 0);
	ranks[0].ended.tv_sec = 140;
	expect(3, RI_CULPRIT_FIRST);
	/* the control: an end of its own comes before that */
	exits(0, 1, LOST, 150);
	exits(3, 1, OWN, 160);
	expect(3, RI_CULPRIT_FIRST);
}

static void who_was_told_did_not_leave(void **state)
{
	(void)state;
	exits(0, 1, LOST, 150);
	exits(1, 1, LOST, 150);
	ranks[2].told_to_stop = true;
	is_stopped(3);
	expect(0, RI_CULPRIT_UNKNOWN);
}

static void one_that_all_others_waited_for(void **state)
{
	(void)state;
	for (int i = 0; i < RANKS; i++)
		exits(i, 1, LATE, 150 + i);
	expect(0, RI_CULPRIT_UNKNOWN);
	exits(1, 0, "", 0);
	is_stopped(1);
	expect(0, RI_CULPRIT_HELD);
	assert_int_equal(outcome.named, 1);
	/* who lost those that timed out did not hold them up */
	exits(2, 1, LOST, 160);
	expect(0, RI_CULPRIT_HELD);
	/* two of them: nobody can tell */
	exits(3, 0, "", 0);
	is_stopped(3);
	expect(0, RI_CULPRIT_UNKNOWN);
	/* and what was lost first was lost, not late */
	begin(state);
	exits(0, 1, LOST, 150);
	exits(2, 1, LATE, 151);
	exits(3, 1, LATE, 151);
	is_stopped(1);
	expect(0, RI_CULPRIT_UNKNOWN);
}

static void a_stop_from_outside(void **state)
{
	(void)state;
	outcome.stop.signal = SIGTERM;
	is_stopped(0);
	exits(0, 0, OWN, 150);
	is_stopped(1);
	exits(1, 0, LOST, 150);
	is_stopped(2);
	is_stopped(3);
	expect(-1, RI_CULPRIT_FIRST);
	ranks[1].told_to_stop = false;
	exits(1, 1, LOST, 150);
	ranks[1].end = RI_END_EXITED;
	expect(1, RI_CULPRIT_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(classes_of_exits, begin, finish),
		cmocka_unit_test_setup_teardown(classes_of_agents, begin, finish),
		cmocka_unit_test_setup_teardown(words_behind_an_end, begin, finish),
		cmocka_unit_test_setup_teardown(classes_of_signals, begin, finish),
		cmocka_unit_test_setup_teardown(an_own_end_that_became_a_loss, begin, finish),
		cmocka_unit_test_setup_teardown(classes_of_who_was_told, begin, finish),
		cmocka_unit_test_setup_teardown(classes_of_who_may_have_gone_on, begin, finish),
		cmocka_unit_test_setup_teardown(of_the_file_of_torch, begin, finish),
		cmocka_unit_test(the_names_of_classes),
		cmocka_unit_test_setup_teardown(a_class_decides_before_the_time, begin, finish),
		cmocka_unit_test_setup_teardown(one_that_says_that_it_killed_the_others, begin,
			finish),
		cmocka_unit_test_setup_teardown(the_only_one_that_complains, begin, finish),
		cmocka_unit_test_setup_teardown(one_that_hangs_after_its_traceback, begin, finish),
		cmocka_unit_test_setup_teardown(one_that_was_seen_to_be_dying, begin, finish),
		cmocka_unit_test_setup_teardown(without_a_word_where_there_are_other_nodes, begin,
			finish),
		cmocka_unit_test_setup_teardown(losses_alone, begin, finish),
		cmocka_unit_test_setup_teardown(
			a_wait_that_another_rank_of_this_node_may_have_caused, begin, finish),
		cmocka_unit_test_setup_teardown(an_exception_that_was_handled, begin, finish),
		cmocka_unit_test_setup_teardown(one_that_left_early, begin, finish),
		cmocka_unit_test_setup_teardown(who_was_told_did_not_leave, begin, finish),
		cmocka_unit_test_setup_teardown(one_that_all_others_waited_for, begin, finish),
		cmocka_unit_test_setup_teardown(a_stop_from_outside, begin, finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
