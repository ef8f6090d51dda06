/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node that is silent when the job fails: its ranks may have ended with 0, and the others may be
 * writing the last checkpoint. The verdict does not wait for it, but an order does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "centre_of.h"

enum { ARRIVES_MS = 200, LOOK_MS = 100 };	/* as centre.c has them: five times 40 */

#define WAITS "  no rank is stopped before node 2 (gpu-2) is heard again, at most for 65 s: its " \
	"ranks may have ended with 0\n"

static size_t cut_off;		/* the session to which nothing goes; 0: none */

static bool arrived(void *context, size_t session)
{
	(void)context;
	return session == 0 || session != cut_off;
}

/* The centre's helper runs when it is due, and when the test says something. */
static void run_for(int64_t ms)
{
	int64_t until = now + ms;

	for (int64_t due = ri_centre_due(&centre); due <= until; due = ri_centre_due(&centre)) {
		now = due > now ? due : now + 1;
		ri_centre_pass(&centre, now);
	}
	now = until;
}

/* Node 1 fails; node 2 is there, but nothing arrives at it. */
static void fail_beside(size_t session)
{
	centre.arrived = arrived;
	cut_off = session;
	now += 5000;
	end(1, RI_CLASS_OWN);
	run_for(RI_CENTRE_OWN_MS);
	assert_int_equal(centre.decided, session == 0);
	run_for(ARRIVES_MS);
	assert_true(centre.decided);
}

static bool is_ordered(size_t session)
{
	return last(session, RI_LINK_VERDICT)->decision.order;
}

static void test_a_node_that_is_cut_off(void **state)
{
	(void)state;
	all_come();
	fail_beside(2);
	assert_false(is_ordered(3));
	assert_non_null(strstr(last(3, RI_LINK_VERDICT)->decision.text, WAITS));
	/* what was sent to it arrives: what it has to say does, too, in a second */
	run_for(10000);
	cut_off = 0;
	run_for(RI_CENTRE_WORDS_MS - 1);
	assert_false(is_ordered(3));
	/* nobody tells the helper that it has */
	run_for(LOOK_MS + 1);
	assert_true(is_ordered(3) && is_ordered(0) && is_ordered(2) && !is_ordered(1));
	sent_count = 0;
	pass(RI_CENTRE_UNHEARD_MS);
	assert_int_equal(count(RI_LINK_VERDICT), 0);
}

/* The question goes out as the time is over, and is on its way: no order waits for that. */
static void test_what_was_sent_just_now(void **state)
{
	(void)state;
	all_come();
	centre.arrived = arrived;
	end(1, RI_CLASS_OWN);
	cut_off = 2;
	run_for(RI_CENTRE_OWN_MS + 1);
	assert_false(centre.decided);
	cut_off = 0;
	run_for(ARRIVES_MS);
	assert_true(centre.decided && is_ordered(3) && is_ordered(2));
	assert_null(strstr(centre.decision.text, "no rank is stopped"));
}

/* The control: all are there. */
static void test_nobody_is_cut_off(void **state)
{
	(void)state;
	all_come();
	fail_beside(0);
	assert_true(is_ordered(3));
	assert_null(strstr(centre.decision.text, "no rank is stopped"));
}

static void test_a_node_that_ended_with_0_meanwhile(void **state)
{
	struct ri_link_hello again = a_hello(2, false);

	(void)state;
	all_come();
	fail_beside(2);
	ri_centre_lose(&centre, 2, 2, 3000, now);
	pass(10000);
	assert_false(is_ordered(3));
	assert_int_equal(ri_centre_hello(&centre, 7, &again, now), 2);
	pass(RI_CENTRE_WORDS_MS / 2);
	end_from(2, 7, RI_CLASS_NONE, true);
	pass(RI_CENTRE_UNHEARD_MS);
	assert_false(is_ordered(3) || is_ordered(0));
}

/* The job has failed, and does not wait for ever. */
static void test_a_node_that_is_never_heard(void **state)
{
	(void)state;
	all_come();
	fail_beside(2);
	run_for(RI_CENTRE_UNHEARD_MS - 1);
	assert_false(is_ordered(3));
	run_for(1);
	assert_true(is_ordered(3));
}

static void test_a_connection_that_was_lost(void **state)
{
	(void)state;
	for (int broken = 0; broken < 2; broken++) {
		begin(NULL);
		all_come();
		ri_centre_lose(&centre, 2, 2, broken ? 0 : RI_CENTRE_CLOSED, now);
		fail_beside(0);
		/* what closed it had said all */
		assert_int_equal(is_ordered(3), !broken);
	}
}

/* What it says behind the failure says that it had not ended before. */
static void test_a_node_that_was_heard_since(void **state)
{
	(void)state;
	all_come();
	now += 5000;
	end(1, RI_CLASS_OWN);
	now++;
	end(2, RI_CLASS_LOSS);
	centre.arrived = arrived;
	cut_off = 2;
	pass(RI_CENTRE_OWN_MS);
	assert_true(is_ordered(3));
}

#define UNHEARD(test) cmocka_unit_test_setup(test, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNHEARD(test_a_node_that_is_cut_off),
		UNHEARD(test_what_was_sent_just_now),
		UNHEARD(test_nobody_is_cut_off),
		UNHEARD(test_a_node_that_ended_with_0_meanwhile),
		UNHEARD(test_a_node_that_is_never_heard),
		UNHEARD(test_a_connection_that_was_lost),
		UNHEARD(test_a_node_that_was_heard_since),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
