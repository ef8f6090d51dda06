/* SPDX-License-Identifier: Apache-2.0 */
/* After a failure: whether the ranks start again, and the steps that all nodes take together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "centre_of.h"
#include "link/centre.h"

enum { WAIT_MS = 60000, RANKS_MS = 300000 };

static bool progressed;

static bool has_progressed(void *context)
{
	(void)context;
	return progressed;
}

static int begin_restarts(void **state)
{
	begin(state);
	progressed = false;
	centre.self.restarts = 2;
	centre.progressed = has_progressed;
	centre.wait_ms = WAIT_MS;
	centre.end_ms = RANKS_MS;
	all_come();
	for (size_t i = 0; i < NODES; i++) {
		nodes[i].restarts = 2;
		reach(i, RI_LINK_RUNNING);
	}
	return 0;
}

static void vote(size_t node, enum ri_link_step step, bool goes)
{
	struct ri_link_message said = { .kind = RI_LINK_GO, .go = { .step = step, .go = goes } };

	if (!goes)
		strcpy(said.go.text, "node 2 is not fit");
	ri_centre_hear(&centre, node, session_of(node, false), &said, now);
	pass(0);
}

/* To each node that is there, once. */
static void assert_said(enum ri_link_step step, bool goes, const char *text)
{
	size_t here = 0;

	for (size_t i = 0; i < NODES; i++) {
		const struct ri_link_message *said = last(session_of(i, false), RI_LINK_GO);

		if (!nodes[i].here)
			continue;
		here++;
		assert_non_null(said);
		assert_int_equal(said->go.step, step);
		assert_int_equal(said->go.go, goes);
		assert_string_equal(said->go.text, text);
	}
	assert_int_equal(count(RI_LINK_GO), here);
	assert_false(ri_joint_is_open(&centre, step));
}

/* The ranks of node 1 failed of themselves. */
static void fail_with(uint64_t mark, bool never)
{
	struct ri_link_message said = { .kind = RI_LINK_END, .end = { .verdict.class = RI_CLASS_OWN,
		.fatal = true, .verdict.mark = mark,
		.verdict.why = { RI_CAUSE_UNKNOWN, never ? RI_RETRY_NEVER : RI_RETRY_SAME },
		.text = "rank of node 1\n  why\n" } };

	assert_true(ri_centre_hear(&centre, 1, 1, &said, now));
	pass(RI_CENTRE_OWN_MS);
}

static void assert_refused(const char *why)
{
	const struct ri_link_message *said = last(0, RI_LINK_VERDICT);
	char text[RI_LINK_TEXT];

	snprintf(text, sizeof(text), "rank of node 1\n  why\n  the ranks do not start again: %s\n",
		why);
	assert_non_null(said);
	assert_false(said->decision.again);
	assert_string_equal(said->decision.text, text);
	assert_false(ri_joint_is_open(&centre, RI_LINK_LEAVE));
}

static void test_all_leave_when_all_ranks_have_ended(void **state)
{
	(void)state;
	/* it ended at once, and before the verdict */
	vote(1, RI_LINK_LEAVE, true);
	fail_with(7, false);
	for (size_t i = 0; i < NODES; i++) {
		const struct ri_link_message *said = last(session_of(i, false), RI_LINK_VERDICT);

		assert_true(said->decision.again);
		assert_int_equal(said->decision.verdict.mark, 7);
		assert_int_equal(said->decision.order, i != 1);
		assert_string_equal(said->decision.text, "rank of node 1\n  why\n");
	}
	vote(0, RI_LINK_LEAVE, true);
	vote(2, RI_LINK_LEAVE, true);
	pass(RANKS_MS);
	assert_int_equal(count(RI_LINK_GO), 0);
	vote(3, RI_LINK_LEAVE, true);
	assert_said(RI_LINK_LEAVE, true, "");
}

static const char *news_of(size_t session)
{
	const struct ri_link_message *said = last(session, RI_LINK_NEWS);

	return said == NULL ? NULL : said->news.text;
}

/* Its kernel keeps the connection: the others say whom they wait for, and do not for ever. */
static void test_a_node_that_is_frozen(void **state)
{
	static const int64_t lines[] = { 10, 20, 40, 80 };
	char text[RI_LINK_TEXT];

	(void)state;
	fail_with(7, false);
	sent_count = 0;
	pass(30000);
	assert_null(news_of(0));	/* as long as none of them waits */
	for (size_t i = 0; i < NODES; i++)
		if (i != 2)
			vote(i, RI_LINK_LEAVE, true);
	for (int64_t at = RI_LINK_BEAT_MS, next = 0; at <= 80000; at += RI_LINK_BEAT_MS) {
		assert_int_equal(ri_joint_due(&centre, RI_LINK_LEAVE), now + RI_LINK_BEAT_MS);
		sent_count = 0;
		pass(RI_LINK_BEAT_MS);
		snprintf(text, sizeof(text), "all nodes wait to start the ranks again, for %lld s: "
			"1 of 4 nodes has not said that the last ones have ended: node 2 (gpu-2); "
			"look at its log\n", (long long)lines[next]);
		assert_int_equal(count(RI_LINK_NEWS), NODES);
		assert_string_equal(news_of(3), at == lines[next] * 1000 ? text : "");
		next += at == lines[next] * 1000;
	}
	sent_count = 0;
	pass(RANKS_MS + WAIT_MS - 110000 - RI_CENTRE_OWN_MS - 1);
	assert_int_equal(count(RI_LINK_GO), 0);
	pass(1);
	assert_said(RI_LINK_LEAVE, false, "the ranks do not start again: node 2 (gpu-2) has not "
		"ended the ranks within 360 s\n");
	assert_int_equal(ri_joint_due(&centre, RI_LINK_LEAVE), INT64_MAX);
}

/* Its last ones ended with 0 as the verdict came: it does not come to the next attempt. */
static void test_a_node_that_ended_well_behind_the_verdict(void **state)
{
	(void)state;
	fail_with(7, false);
	vote(0, RI_LINK_LEAVE, true);
	end(2, RI_CLASS_NONE);
	ri_centre_lose(&centre, 2, 2, RI_CENTRE_CLOSED, now);
	pass(0);
	assert_said(RI_LINK_LEAVE, false, "the ranks do not start again: node 2 (gpu-2) has ended, "
		"all of its ranks with 0\n");
}

/* Its container was killed, and another life of it calls: what is gone is not waited for. */
static void test_a_node_that_is_followed(void **state)
{
	for (int i = 0; i < 3; i++) {
		begin_restarts(state);
		fail_with(7, false);
		vote(0, RI_LINK_LEAVE, true);
		/* cut off: nobody knows that it is gone */
		ri_centre_lose(&centre, 2, 2, i == 1 ? 0 : RI_CENTRE_CLOSED, now);
		now += i == 2 ? 0 : 10;	/* of a life that began before */
		assert_int_equal(call(2, true), -1);
		assert_int_equal(place_of(12), RI_LINK_LATER);
		pass(0);
		assert_int_equal(count(RI_LINK_GO), i == 0 ? NODES - 1 : 0);
		if (i == 0)
			assert_said(RI_LINK_LEAVE, false, "the ranks do not start again: node 2 "
				"(gpu-2) has gone, and its container was started again\n");
	}
}

/* What fails at once does so more slowly each time: the words, and no step before. */
static void assert_paused(int64_t pause, const char *text)
{
	fail_with(7, false);
	assert_true(last(3, RI_LINK_VERDICT)->decision.again);
	assert_string_equal(last(3, RI_LINK_VERDICT)->decision.text, text);
	for (size_t i = 0; i < NODES; i++)
		vote(i, RI_LINK_LEAVE, true);
	if (pause > 0) {
		assert_int_equal(count(RI_LINK_GO), 0);
		assert_int_equal(ri_joint_due(&centre, RI_LINK_LEAVE),
			now + pause - RI_CENTRE_OWN_MS);
		pass(pause - RI_CENTRE_OWN_MS);
	}
	assert_said(RI_LINK_LEAVE, true, "");
}

static void test_a_pause_before_what_fails_at_once(void **state)
{
	(void)state;
	centre.quick = 3;
	assert_paused(4000, "rank of node 1\n  why\n  the ranks start again in 4 s at the "
		"earliest: the last 4 attempts each ended within a minute\n");
	begin_restarts(state);
	assert_paused(0, "rank of node 1\n  why\n");
	/* the time counts since all could start */
	begin_restarts(state);
	centre.quick = 3;
	pass(60000);
	assert_paused(0, "rank of node 1\n  why\n");
	begin_restarts(state);
	centre.quick = 3;
	pass(60000);
	centre.ran_at = now - 59000;
	assert_paused(4000, "rank of node 1\n  why\n  the ranks start again in 4 s at the "
		"earliest: the last 4 attempts each ended within a minute\n");
}

/* A stop does not wait for the end of it. */
static void test_a_stop_in_a_pause(void **state)
{
	(void)state;
	centre.quick = 3;
	fail_with(7, false);
	for (size_t i = 0; i < NODES; i++)
		vote(i, RI_LINK_LEAVE, true);
	end(3, RI_CLASS_STOPPED);
	pass(0);
	assert_said(RI_LINK_LEAVE, false,
		"the ranks do not start again: node 3 (gpu-3) was stopped from outside\n");
}

static void test_what_stands_against_it(void **state)
{
	(void)state;
	fail_with(7, true);
	assert_refused("they would fail in the same way");

	begin_restarts(state);
	centre.last_mark = 7;
	fail_with(7, false);
	assert_refused("they failed in the same way before, and came no further");

	begin_restarts(state);
	nodes[3].restarts = 0;
	fail_with(7, false);
	assert_refused("node 3 (gpu-3) may not restart them any more (--restarts)");

	begin_restarts(state);
	ri_centre_lose(&centre, 2, 2, RI_CENTRE_CLOSED, now);
	fail_with(7, false);
	assert_refused("node 2 (gpu-2) is not connected");

	begin_restarts(state);
	nodes[2].may_stop = false;
	fail_with(7, false);
	assert_refused("node 2 (gpu-2) cannot start them again");

	begin_restarts(state);
	reach(2, RI_LINK_LEAVING);
	fail_with(7, false);
	assert_refused("a rank of the job had ended with 0");

	begin_restarts(state);
	vote(2, RI_LINK_LEAVE, false);
	fail_with(7, false);
	assert_refused("node 2 (gpu-2) cannot start them again");
}

static void test_what_does_not(void **state)
{
	(void)state;
	centre.last_mark = 7;
	fail_with(8, false);
	assert_true(last(0, RI_LINK_VERDICT)->decision.again);

	begin_restarts(state);
	centre.last_mark = 7;
	progressed = true;
	fail_with(7, false);
	assert_true(last(0, RI_LINK_VERDICT)->decision.again);

	/* losses alone, twice */
	begin_restarts(state);
	end(2, RI_CLASS_LOSS);
	pass(RI_CENTRE_SETTLE_MS);
	assert_true(last(0, RI_LINK_VERDICT)->decision.again);
	assert_int_equal(last(0, RI_LINK_VERDICT)->decision.verdict.mark, 1);
	begin_restarts(state);
	centre.last_mark = 1;
	end(2, RI_CLASS_LOSS);
	pass(RI_CENTRE_SETTLE_MS);
	assert_false(last(0, RI_LINK_VERDICT)->decision.again);
}

/* Nobody asked for it: not a word. */
static void test_without_restarts(void **state)
{
	(void)state;
	centre.self.restarts = 0;
	fail_with(7, false);
	assert_verdict(0, 1, true);
	assert_false(last(0, RI_LINK_VERDICT)->decision.again);

	begin_restarts(state);
	centre.orders = false;
	fail_with(7, false);
	assert_verdict(0, 1, false);
	assert_false(last(0, RI_LINK_VERDICT)->decision.again);
}

static void test_a_stop_comes_before_all_have_left(void **state)
{
	(void)state;
	fail_with(7, false);
	for (size_t i = 0; i < NODES - 1; i++)
		vote(i, RI_LINK_LEAVE, true);
	end(3, RI_CLASS_STOPPED);
	pass(0);
	assert_said(RI_LINK_LEAVE, false,
		"the ranks do not start again: node 3 (gpu-3) was stopped from outside\n");

	/* and a stop in the place of the failure restarts nothing */
	begin_restarts(state);
	end(3, RI_CLASS_STOPPED);
	fail_with(7, false);
	assert_false(last(0, RI_LINK_VERDICT)->decision.again);
	assert_string_equal(last(0, RI_LINK_VERDICT)->decision.text, "rank of node 3\n  why\n");
}

static void test_a_node_that_is_lost(void **state)
{
	(void)state;
	fail_with(7, false);
	for (size_t i = 0; i < NODES; i++)
		if (i != 2)
			vote(i, RI_LINK_LEAVE, true);
	ri_centre_lose(&centre, 2, 2, RI_CENTRE_CLOSED, now);
	pass(WAIT_MS - 1);
	assert_int_equal(ri_joint_due(&centre, RI_LINK_LEAVE), now + 1);
	assert_int_equal(count(RI_LINK_GO), 0);
	pass(1);
	assert_said(RI_LINK_LEAVE, false, "the ranks do not start again: node 2 (gpu-2) has not "
		"come within 60 s\n");
}

/* It has said that it can, but could have been stopped since, and not say so. */
static void test_who_is_lost_must_come_back(void **state)
{
	(void)state;
	fail_with(7, false);
	for (size_t i = 0; i < NODES - 1; i++)
		vote(i, RI_LINK_LEAVE, true);
	ri_centre_lose(&centre, 2, 2, RI_CENTRE_CLOSED, now);
	vote(3, RI_LINK_LEAVE, true);
	assert_int_equal(count(RI_LINK_GO), 0);
	assert_int_equal(call(2, false), 2);
	nodes[2].restarts = 2;
	pass(0);
	assert_said(RI_LINK_LEAVE, true, "");
}

/* As a later attempt begins. */
static void gather(void **state)
{
	begin_restarts(state);
	centre.gathers = true;
	sent_count = 0;
	for (size_t i = 0; i < NODES; i++)
		nodes[i].phase = RI_LINK_STARTING;
}

static void test_all_start_when_all_are_fit(void **state)
{
	gather(state);
	for (size_t i = 0; i < NODES; i++) {
		assert_int_equal(count(RI_LINK_GO), 0);
		vote(i, RI_LINK_START, true);
	}
	assert_said(RI_LINK_START, true, "");
	assert_false(centre.gathers);
	/* who did not hear it hears it when it is back, and where it asks again */
	ri_centre_lose(&centre, 3, 3, RI_CENTRE_CLOSED, now);
	assert_int_equal(call(3, false), 3);
	assert_int_equal(count(RI_LINK_GO), NODES + 1);
	vote(3, RI_LINK_START, true);
	assert_int_equal(count(RI_LINK_GO), NODES + 2);
	nodes[3].restarts = 2;
	/* and now it is an attempt as any other */
	fail_with(7, false);
	assert_true(last(0, RI_LINK_VERDICT)->decision.again);
}

static void test_one_is_not_fit(void **state)
{
	gather(state);
	vote(0, RI_LINK_START, true);
	vote(2, RI_LINK_START, false);
	end(2, RI_CLASS_OWN);
	assert_said(RI_LINK_START, false,
		"the ranks do not start again: node 2 is not fit\n");
	pass(10 * WAIT_MS);
	assert_null(last(0, RI_LINK_VERDICT));
	assert_int_equal(count(RI_LINK_GO), NODES);
	/* one that comes now need not say anything to hear it */
	ri_joint_greet(&centre, 9);
	assert_int_equal(count(RI_LINK_GO), NODES + 1);
	assert_false(last(9, RI_LINK_GO)->go.go);
}

static void test_some_do_not_come(void **state)
{
	gather(state);
	ri_centre_lose(&centre, 1, 1, RI_CENTRE_CLOSED, now);
	vote(0, RI_LINK_START, true);
	vote(2, RI_LINK_START, true);
	ri_centre_lose(&centre, 3, 3, RI_CENTRE_CLOSED, now);
	pass(WAIT_MS - 1);
	assert_int_equal(ri_joint_due(&centre, RI_LINK_START), centre.begun + WAIT_MS);
	assert_int_equal(count(RI_LINK_GO), 0);
	pass(1);
	assert_said(RI_LINK_START, false, "the ranks do not start again: node 1 (gpu-1), node 3 "
		"(gpu-3) have not come within 60 s\n");
}

static void test_one_that_has_come_is_not_ready(void **state)
{
	gather(state);
	for (size_t i = 0; i < NODES - 1; i++)
		vote(i, RI_LINK_START, true);
	pass(RI_LINK_BEAT_MS);
	assert_string_equal(news_of(1), "all nodes wait to start the ranks again, for 10 s: 1 of 4 "
		"nodes has not said to be ready: node 3 (gpu-3); look at its log\n");
	pass(WAIT_MS - RI_LINK_BEAT_MS);
	assert_said(RI_LINK_START, false, "the ranks do not start again: node 3 (gpu-3) has not "
		"said to be ready within 60 s\n");
	pass(10 * WAIT_MS);
	assert_int_equal(ri_joint_due(&centre, RI_LINK_START), INT64_MAX);
}

/* The word to start may be lost on its way: where a node does not say that its ranks run. */
static void test_all_may_start_and_one_does_not(void **state)
{
	gather(state);
	for (size_t i = 0; i < NODES; i++)
		vote(i, RI_LINK_START, true);
	for (size_t i = 0; i < NODES - 1; i++)
		reach(i, RI_LINK_RUNNING);
	sent_count = 0;
	pass(RI_LINK_BEAT_MS);
	assert_string_equal(news_of(0), "all nodes could start their ranks, and have waited for "
		"10 s: 1 of 4 nodes has not said that they run: node 3 (gpu-3); look at its log\n");
	reach(3, RI_LINK_RUNNING);
	sent_count = 0;
	pass(RI_LINK_BEAT_MS);
	assert_int_equal(sent_count, 0);
	assert_int_equal(ri_joint_due(&centre, RI_LINK_START), INT64_MAX);
}

static void test_no_node_can_come(void **state)
{
	gather(state);
	ri_joint_refuse(&centre, "node 0 cannot listen for the others");
	assert_said(RI_LINK_START, false,
		"the ranks do not start again: node 0 cannot listen for the others\n");
	/* the first attempt waits for none */
	begin_restarts(state);
	ri_joint_refuse(&centre, "why");
	assert_int_equal(count(RI_LINK_GO), 0);
}

static void test_a_stop_comes_before_all_have_started(void **state)
{
	gather(state);
	for (size_t i = 0; i < NODES - 1; i++)
		vote(i, RI_LINK_START, true);
	end(1, RI_CLASS_STOPPED);
	vote(3, RI_LINK_START, true);
	assert_said(RI_LINK_START, false,
		"the ranks do not start again: node 1 (gpu-1) was stopped from outside\n");
}

#define RESTARTS(test) cmocka_unit_test_setup(test, begin_restarts)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RESTARTS(test_all_leave_when_all_ranks_have_ended),
		RESTARTS(test_a_node_that_is_frozen),
		RESTARTS(test_a_node_that_ended_well_behind_the_verdict),
		RESTARTS(test_a_node_that_is_followed),
		RESTARTS(test_a_pause_before_what_fails_at_once),
		RESTARTS(test_a_stop_in_a_pause),
		RESTARTS(test_one_that_has_come_is_not_ready),
		RESTARTS(test_all_may_start_and_one_does_not),
		RESTARTS(test_no_node_can_come),
		RESTARTS(test_what_stands_against_it),
		RESTARTS(test_what_does_not),
		RESTARTS(test_without_restarts),
		RESTARTS(test_a_stop_comes_before_all_have_left),
		RESTARTS(test_a_node_that_is_lost),
		RESTARTS(test_who_is_lost_must_come_back),
		RESTARTS(test_all_start_when_all_are_fit),
		RESTARTS(test_one_is_not_fit),
		RESTARTS(test_some_do_not_come),
		RESTARTS(test_a_stop_comes_before_all_have_started),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
