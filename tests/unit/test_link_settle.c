/* SPDX-License-Identifier: Apache-2.0 */
/* Which of several ends is named, and how long the centre waits for a better one: docs/link.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "centre_of.h"

/* It ended of the loss of one that says so later. */
static void test_no_word_before_an_end_of_its_own(void **state)
{
	(void)state;
	all_come();
	end(1, RI_CLASS_UNKNOWN);
	pass(RI_CENTRE_SETTLE_MS - RI_CENTRE_OWN_MS - 1);
	end(2, RI_CLASS_OWN);
	pass(RI_CENTRE_OWN_MS - 1);
	assert_false(centre.decided);
	pass(1);
	assert_verdict(3, 2, true);
}

/* Node 0 tells all when nothing better can come. */
static void test_all_have_been_heard(void **state)
{
	(void)state;
	all_come();
	end(0, RI_CLASS_UNKNOWN);
	end(1, RI_CLASS_OWN);
	end(2, RI_CLASS_UNKNOWN);
	assert_false(centre.decided);
	end(3, RI_CLASS_UNKNOWN);
	assert_verdict(3, 1, true);
}

/* Who only lost another may have more to say. */
static void test_a_loser_is_waited_for(void **state)
{
	(void)state;
	all_come();
	end(0, RI_CLASS_LOSS);
	end(2, RI_CLASS_UNKNOWN);
	end(3, RI_CLASS_UNKNOWN);
	end(1, RI_CLASS_OWN);
	assert_false(centre.decided);
	pass(RI_CENTRE_OWN_MS);
	assert_verdict(3, 1, true);
}

static void end_at(size_t node, enum ri_class class, uint64_t at_us, uint64_t error_us)
{
	struct ri_link_message message = { .kind = RI_LINK_END, .end = { .verdict.class = class,
		.fatal = true, .at_us = at_us, .error_us = error_us } };

	snprintf(message.end.text, sizeof(message.end.text), "rank of node %zu\n  why\n", node);
	assert_true(ri_centre_hear(&centre, node, session_of(node, false), &message, now));
}

/* By the clocks, whichever arrives first. */
static void test_the_earlier_one_is_named(void **state)
{
	(void)state;
	for (size_t first = 1; first <= 2; first++) {
		begin(NULL);
		all_come();
		end_at(first, RI_CLASS_OWN, first == 1 ? 5001000 : 5000000, 400);
		pass(100);
		end_at(3 - first, RI_CLASS_OWN, first == 1 ? 5000000 : 5001000, 500);
		end_at(3, RI_CLASS_OWN, 5001500, 0);
		pass(RI_CENTRE_OWN_MS);
		assert_verdict(3, 2, true);
		assert_verdict(1, 2, true);
		assert_verdict(2, 2, false);
	}
}

static void test_a_tie_names_both(void **state)
{
	(void)state;
	all_come();
	end_at(3, RI_CLASS_OWN, 9000000, 0);
	end_at(1, RI_CLASS_OWN, 5003000, 2000);
	end_at(2, RI_CLASS_OWN, 5000000, 1000);
	pass(RI_CENTRE_OWN_MS);
	assert_string_equal(centre.decision.text, "two nodes failed within 3 ms, and their clocks "
		"are known to 4 ms, so either may be the first:\n"
		"  rank of node 2\n    why\n  rank of node 1\n    why\n");
	assert_true(centre.decision.verdict.node >= 0);
	assert_int_equal(centre.decision.verdict.node, 2);
	for (size_t i = 0; i < NODES; i++)
		assert_int_equal(last(i, RI_LINK_VERDICT)->decision.order, i == 0 || i == 3);
}

/* Of two whose times are not both known the first to come is named. */
static void test_a_time_that_is_not_known(void **state)
{
	(void)state;
	all_come();
	end_at(1, RI_CLASS_OWN, 0, 0);
	end_at(2, RI_CLASS_OWN, 5000000, 0);
	pass(RI_CENTRE_OWN_MS);
	assert_verdict(3, 1, true);
}

/* An end without a word is no reason; but the log says that it came before. */
static void test_no_word_and_before(void **state)
{
	(void)state;
	all_come();
	end_at(1, RI_CLASS_UNKNOWN, 5000000, 0);
	end_at(2, RI_CLASS_OWN, 5000100, 0);
	pass(RI_CENTRE_OWN_MS);
	assert_int_equal(centre.decision.verdict.node, 2);
	assert_string_equal(centre.decision.text, "rank of node 2\n  why\n"
		"  before that, and without a word:\n  rank of node 1\n    why\n");
}

/* A preempted job: nodes that had not failed are stopped in turn. */
static void test_a_stop_after_a_failure(void **state)
{
	(void)state;
	all_come();
	end(1, RI_CLASS_UNKNOWN);
	end(2, RI_CLASS_STOPPED);
	assert_verdict(3, 1, true);
	assert_verdict(2, 1, false);
	assert_int_equal(last(3, RI_LINK_VERDICT)->decision.verdict.class, RI_CLASS_UNKNOWN);
}

/* Node 0 is stopped meanwhile: what is known decides, and where no node has failed nothing does. */
static void test_no_more_time(void **state)
{
	(void)state;
	all_come();
	ri_centre_hurry(&centre, now);
	assert_false(centre.decided);
	end(1, RI_CLASS_UNKNOWN);
	assert_false(centre.decided);
	ri_centre_hurry(&centre, now);
	assert_verdict(3, 1, true);
	ri_centre_hurry(&centre, now);
	assert_int_equal(count(RI_LINK_VERDICT), NODES);
}

/* Of the next attempt: it came when this one had failed, and was not judged yet. */
static void test_a_latecomer_while_it_settles(void **state)
{
	struct ri_link_hello young = a_hello(3, false), old = a_hello(2, false);

	(void)state;
	assert_int_equal(call(1, false), 1);
	end(1, RI_CLASS_UNKNOWN);
	pass(1000);
	young.age_ms = 1000;
	old.age_ms = 1001;
	assert_int_equal(ri_centre_hello(&centre, 3, &young, now), 3);
	assert_int_equal(ri_centre_hello(&centre, 2, &old, now), 2);
	assert_int_equal(place_of(3), RI_LINK_GUEST);
	assert_int_equal(place_of(2), RI_LINK_TAKEN);
	pass(1000);
	assert_verdict(2, 1, true);
	assert_verdict(3, 1, false);
}

/* Who has not ended is asked whether a rank of it raised, again and again. */
static void test_the_question(void **state)
{
	(void)state;
	all_come();
	end(1, RI_CLASS_LOSS);
	end(2, RI_CLASS_UNKNOWN);
	assert_int_equal(count(RI_LINK_ASK), 4);
	sent_count = 0;
	assert_int_equal(ri_centre_due(&centre), now + RI_CENTRE_ASK_MS);
	pass(RI_CENTRE_ASK_MS - 1);
	assert_int_equal(count(RI_LINK_ASK), 0);
	pass(1);
	assert_non_null(last(0, RI_LINK_ASK));
	assert_non_null(last(1, RI_LINK_ASK));
	assert_null(last(2, RI_LINK_ASK));
	assert_non_null(last(3, RI_LINK_ASK));
	pass(RI_CENTRE_SETTLE_MS);
	sent_count = 0;
	pass(RI_CENTRE_SETTLE_MS);
	assert_int_equal(count(RI_LINK_ASK), 0);
}

/* It is named as one that has ended, and has to end: its own rankinit knows better how. */
static void test_who_is_on_its_way_out(void **state)
{
	struct ri_link_message message = { .kind = RI_LINK_END, .end = {
		.verdict.class = RI_CLASS_OWN, .fatal = true, .lives = true,
		.text = "rank of node 2\n  why\n" } };

	(void)state;
	all_come();
	end(1, RI_CLASS_LOSS);
	assert_true(ri_centre_hear(&centre, 2, 2, &message, now));
	pass(RI_CENTRE_OWN_MS);
	for (size_t i = 0; i < NODES; i++)
		assert_verdict(i, 2, true);
}

#define CENTRE(test) cmocka_unit_test_setup(test, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CENTRE(test_the_question),
		CENTRE(test_who_is_on_its_way_out),
		CENTRE(test_no_word_before_an_end_of_its_own),
		CENTRE(test_all_have_been_heard),
		CENTRE(test_a_loser_is_waited_for),
		CENTRE(test_the_earlier_one_is_named),
		CENTRE(test_a_tie_names_both),
		CENTRE(test_a_time_that_is_not_known),
		CENTRE(test_no_word_and_before),
		CENTRE(test_a_stop_after_a_failure),
		CENTRE(test_no_more_time),
		CENTRE(test_a_latecomer_while_it_settles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
