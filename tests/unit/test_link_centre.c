/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of docs/link.md row by row: what the centre makes of one message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "centre_of.h"

/* A node, as the centre sees it. */

static void test_all_are_taken(void **state)
{
	(void)state;
	all_come();
	for (size_t i = 0; i < NODES; i++)
		assert_int_equal(place_of(i), RI_LINK_TAKEN);
	assert_int_equal(count(RI_LINK_NEWS), 0);
	assert_int_equal(ri_centre_due(&centre), INT64_MAX);
}

static void test_numbers_that_do_not_fit(void **state)
{
	struct ri_link_hello hello = a_hello(1, false);

	(void)state;
	hello.nodes = NODES + 1;
	assert_int_equal(ri_centre_hello(&centre, 1, &hello, now), -1);
	assert_int_equal(place_of(1), RI_LINK_SIZE);
	hello = a_hello(0, true);
	assert_int_equal(ri_centre_hello(&centre, 2, &hello, now), -1);
	assert_int_equal(place_of(2), RI_LINK_OTHER);
	assert_int_equal(dropped_count, 2);
	assert_false(nodes[1].called);
}

/* It is one of another centre, and has come all the same. */
static void test_a_member_of_another_centre(void **state)
{
	struct ri_link_hello hello = a_hello(1, false);

	(void)state;
	hello.centre.bytes[0] = 99;
	assert_int_equal(ri_centre_hello(&centre, 1, &hello, now), -1);
	assert_int_equal(place_of(1), RI_LINK_OTHER);
	assert_true(nodes[1].called);
	hello.centre = centre.self.life;
	assert_int_equal(ri_centre_hello(&centre, 1, &hello, now), 1);
	assert_int_equal(place_of(1), RI_LINK_TAKEN);
}

/* No centre has taken it, and its ranks had met before this one began. */
static void test_a_member_of_an_older_attempt(void **state)
{
	struct ri_link_hello hello = a_hello(1, false);

	(void)state;
	now += 5000;
	hello.age_ms = hello.met_ms = 5001;
	assert_int_equal(ri_centre_hello(&centre, 1, &hello, now), -1);
	assert_int_equal(place_of(1), RI_LINK_OTHER);
	/* one that waited for node 0 as long, and met it since */
	hello.met_ms = 5000;
	assert_int_equal(ri_centre_hello(&centre, 1, &hello, now), 1);
	assert_int_equal(place_of(1), RI_LINK_TAKEN);
}

static void test_a_member_comes_back(void **state)
{
	(void)state;
	all_come();
	ri_centre_lose(&centre, 2, 2, RI_CENTRE_CLOSED, now);
	end(1, RI_CLASS_OWN);
	pass(5000);
	assert_null(last(2, RI_LINK_VERDICT));
	assert_int_equal(ri_centre_hello(&centre, 7, &(struct ri_link_hello){ .node = 2,
		.nodes = NODES, .life = a_hello(2, false).life, .age_ms = 5001, .may_stop = true },
		now), 2);
	assert_int_equal(place_of(7), RI_LINK_TAKEN);
	assert_verdict(7, 1, true);
	assert_int_equal(last(7, RI_LINK_VERDICT)->decision.verdict.why.cause, RI_CAUSE_XID);
	assert_int_equal(last(7, RI_LINK_VERDICT)->decision.verdict.rank, 101);
	assert_string_equal(last(7, RI_LINK_VERDICT)->decision.verdict.host, "gpu-1");
	/* what the old connection still brings changes nothing */
	ri_centre_lose(&centre, 2, 2, RI_CENTRE_CLOSED, now);
	assert_true(nodes[2].here);
}

static void test_a_second_connection_of_one_life(void **state)
{
	struct ri_link_hello hello = a_hello(2, false);

	(void)state;
	all_come();
	assert_int_equal(ri_centre_hello(&centre, 7, &hello, now), 2);
	assert_int_equal(dropped_count, 1);
	assert_int_equal(dropped[0], 2);
}

static void test_latecomers(void **state)
{
	struct ri_link_hello old = a_hello(2, false), young = a_hello(3, false);

	(void)state;
	assert_int_equal(call(1, false), 1);
	end(1, RI_CLASS_OWN);
	pass(3000);
	old.age_ms = 3001;
	young.age_ms = 3000;
	assert_int_equal(ri_centre_hello(&centre, 2, &old, now), 2);
	assert_int_equal(ri_centre_hello(&centre, 3, &young, now), 3);
	assert_int_equal(place_of(2), RI_LINK_TAKEN);
	assert_int_equal(place_of(3), RI_LINK_GUEST);
	assert_verdict(2, 1, true);
	assert_verdict(3, 1, false);
}

/* The job. */

static void test_an_end_of_its_own(void **state)
{
	(void)state;
	all_come();
	end(1, RI_CLASS_OWN);
	assert_int_equal(centre.settle_at, now + RI_CENTRE_OWN_MS);
	pass(RI_CENTRE_OWN_MS - 1);
	assert_false(centre.decided);
	pass(1);
	assert_verdict(0, 1, true);
	assert_verdict(1, 1, false);
	assert_verdict(2, 1, true);
	assert_verdict(3, 1, true);
	sent_count = 0;
	end(2, RI_CLASS_OWN);
	assert_int_equal(count(RI_LINK_VERDICT), 0);
}

static void test_an_end_without_a_word(void **state)
{
	(void)state;
	all_come();
	end(1, RI_CLASS_UNKNOWN);
	assert_int_equal(centre.settle_at, now + RI_CENTRE_SETTLE_MS);
	pass(RI_CENTRE_SETTLE_MS);
	assert_verdict(2, 1, true);
}

static void test_a_loss_waits_for_a_better_word(void **state)
{
	(void)state;
	all_come();
	end(1, RI_CLASS_LOSS);
	assert_false(centre.decided);
	assert_int_equal(centre.settle_at, now + RI_CENTRE_SETTLE_MS);
	pass(RI_CENTRE_SETTLE_MS - 1);
	assert_false(centre.decided);
	end(2, RI_CLASS_OWN);
	pass(1);
	assert_verdict(3, 2, true);
	assert_verdict(1, 2, true);
	pass(10);
	assert_int_equal(count(RI_LINK_VERDICT), NODES);
}

static void test_no_word_after_a_loss(void **state)
{
	(void)state;
	all_come();
	end(1, RI_CLASS_LOSS);
	end(2, RI_CLASS_UNKNOWN);
	end(3, RI_CLASS_LOSS);
	assert_false(centre.decided);
	pass(RI_CENTRE_SETTLE_MS);
	assert_verdict(3, 2, true);
}

/* The node says more than before: its own rank ended after the losses that it had seen. */
static void test_a_node_corrects_itself(void **state)
{
	(void)state;
	all_come();
	end(1, RI_CLASS_LOSS);
	end(1, RI_CLASS_OWN);
	pass(RI_CENTRE_OWN_MS);
	assert_verdict(2, 1, true);
}

static void test_losses_alone(void **state)
{
	const struct ri_link_message *verdict;

	(void)state;
	all_come();
	ri_centre_lose(&centre, 3, 3, RI_CENTRE_CLOSED, now);
	now += 4000;
	end(2, RI_CLASS_LOSS);
	end(1, RI_CLASS_LOSS);
	pass(RI_CENTRE_SETTLE_MS);
	verdict = last(1, RI_LINK_VERDICT);
	assert_non_null(verdict);
	assert_false(verdict->decision.verdict.node >= 0);
	assert_true(verdict->decision.order);
	assert_int_equal(verdict->decision.verdict.class, RI_CLASS_LOSS);
	assert_int_equal(verdict->decision.verdict.why.cause, RI_CAUSE_XID);
	assert_int_equal(verdict->decision.verdict.rank, -1);
	assert_string_equal(verdict->decision.verdict.host, "");
	assert_string_equal(verdict->decision.text, "cannot tell which rank failed first: ranks of "
		"2 nodes lost others, and no rank failed of itself\n"
		"  node 3 (gpu-3) closed its connection without a word, as when its container is "
		"killed\n"
		"  the first to lose another was node 2 (gpu-2):\n"
		"  rank of node 2\n    why\n");
}

/* A cable is no end: what is known is since when nothing was heard. */
static void test_a_loss_of_one_that_broke(void **state)
{
	(void)state;
	all_come();
	ri_centre_lose(&centre, 3, 3, 0, now);
	now += 4000;
	end(2, RI_CLASS_LOSS);
	pass(RI_CENTRE_SETTLE_MS);
	assert_non_null(strstr(centre.decision.text,
		"  node 3 (gpu-3) has been silent for 6 s\n"));
	assert_null(strstr(centre.decision.text, "closed"));
}

static void test_a_loss_of_one_that_had_left(void **state)
{
	(void)state;
	all_come();
	reach(3, RI_LINK_LEAVING);
	end(1, RI_CLASS_LOSS);
	pass(RI_CENTRE_SETTLE_MS);
	assert_non_null(strstr(last(1, RI_LINK_VERDICT)->decision.text,
		"\n  a rank of node 3 (gpu-3) had ended with 0\n"));
}

static void test_a_loss_of_one_that_had_ended(void **state)
{
	(void)state;
	all_come();
	end(3, RI_CLASS_NONE);
	end(1, RI_CLASS_LOSS);
	pass(RI_CENTRE_SETTLE_MS);
	assert_non_null(strstr(centre.decision.text, "  node 3 (gpu-3) had ended with 0\n"));
	assert_false(last(2, RI_LINK_VERDICT)->decision.order);
}

static void test_a_stop_from_outside(void **state)
{
	(void)state;
	all_come();
	end(1, RI_CLASS_STOPPED);
	assert_verdict(2, 1, false);
	assert_int_equal(last(2, RI_LINK_VERDICT)->decision.verdict.class, RI_CLASS_STOPPED);
	sent_count = 0;
	end(2, RI_CLASS_LOSS);
	end(3, RI_CLASS_OWN);
	pass(RI_CENTRE_SETTLE_MS);
	assert_int_equal(count(RI_LINK_VERDICT), 0);
	assert_int_equal(count(RI_LINK_NEWS), 0);
}

/* The stop of one node comes while others settle for what it made them lose. */
static void test_a_stop_explains_a_loss(void **state)
{
	(void)state;
	all_come();
	end(2, RI_CLASS_LOSS);
	end(1, RI_CLASS_STOPPED);
	assert_verdict(2, 1, false);
}

static void test_a_command_that_may_fail(void **state)
{
	struct ri_link_message stop = { .kind = RI_LINK_END,
		.end.verdict.class = RI_CLASS_STOPPED };

	(void)state;
	all_come();
	end_from(1, 1, RI_CLASS_OWN, false);
	assert_false(centre.decided);
	assert_string_equal(last(3, RI_LINK_NEWS)->news.text,
		"node 1 (gpu-1): rank of node 1\n  why\n");
	/* one that names its node already does so once */
	snprintf(stop.end.text, sizeof(stop.end.text), "node 2 (gpu-2) was stopped\n");
	assert_true(ri_centre_hear(&centre, 2, 2, &stop, now));
	assert_string_equal(last(3, RI_LINK_NEWS)->news.text, "node 2 (gpu-2) was stopped\n");
}

/* Who is ordered: each condition of docs/link.md by itself. */

static bool is_ordered_after(void (*change)(void))
{
	begin(NULL);
	all_come();
	if (change != NULL)
		change();
	end(1, RI_CLASS_OWN);
	pass(RI_CENTRE_OWN_MS);
	assert_non_null(last(2, RI_LINK_VERDICT));
	return last(2, RI_LINK_VERDICT)->decision.order;
}

static void without_orders(void)
{
	centre.orders = false;
}

static void with_a_script(void)
{
	nodes[2].may_stop = false;
}

static void with_a_guest(void)
{
	nodes[2].taken = false;
}

static void with_a_rank_that_left(void)
{
	reach(3, RI_LINK_LEAVING);
}

static void with_a_node_that_left(void)
{
	end(3, RI_CLASS_NONE);
}

static void with_its_own_stop(void)
{
	nodes[2].ended = true;
	nodes[2].class = RI_CLASS_STOPPED;
}

static void test_each_condition_of_an_order(void **state)
{
	void (*const changes[])(void) = { without_orders, with_a_script, with_a_guest,
		with_a_rank_that_left, with_a_node_that_left, with_its_own_stop };

	(void)state;
	assert_true(is_ordered_after(NULL));
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		assert_false(is_ordered_after(changes[i]));
}

static void test_what_no_member_says(void **state)
{
	struct ri_link_message news = { .kind = RI_LINK_NEWS };

	(void)state;
	all_come();
	for (int kind = RI_LINK_HELLO; kind <= RI_LINK_VERDICT; kind++) {
		news.kind = (enum ri_link_kind)kind;
		assert_int_equal(ri_centre_hear(&centre, 1, 1, &news, now),
			kind == RI_LINK_PHASE || kind == RI_LINK_END);
	}
}

static void test_the_centre_ends(void **state)
{
	(void)state;
	all_come();
	ri_centre_close(&centre, now);
	for (size_t i = 1; i < NODES; i++)
		assert_int_equal(place_of(i), RI_LINK_LATER);
}

#define CENTRE(test) cmocka_unit_test_setup(test, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CENTRE(test_all_are_taken),
		CENTRE(test_numbers_that_do_not_fit),
		CENTRE(test_a_member_of_another_centre),
		CENTRE(test_a_member_of_an_older_attempt),
		CENTRE(test_a_member_comes_back),
		CENTRE(test_a_second_connection_of_one_life),
		CENTRE(test_latecomers),
		CENTRE(test_an_end_of_its_own),
		CENTRE(test_an_end_without_a_word),
		CENTRE(test_a_loss_waits_for_a_better_word),
		CENTRE(test_no_word_after_a_loss),
		CENTRE(test_a_node_corrects_itself),
		CENTRE(test_losses_alone),
		CENTRE(test_a_loss_of_one_that_broke),
		CENTRE(test_a_loss_of_one_that_had_left),
		CENTRE(test_a_loss_of_one_that_had_ended),
		CENTRE(test_a_stop_from_outside),
		CENTRE(test_a_stop_explains_a_loss),
		CENTRE(test_a_command_that_may_fail),
		CENTRE(test_each_condition_of_an_order),
		CENTRE(test_what_no_member_says),
		CENTRE(test_the_centre_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
