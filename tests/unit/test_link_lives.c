/* SPDX-License-Identifier: Apache-2.0 */
/* What the centre makes of a life where it knows another one of its node (docs/link.md). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "centre_of.h"

enum { RETURN = 2000, LATE_RETURN = 11000, GONE = 600000 };

#define RESTARTED "node 2 (gpu-2) failed first: it was started again, and ended before without " \
	"a word, as of SIGKILL for the whole container\n"

/* Node 2 has ranks, and its connection ends so. */
static void lose_running(bool closed)
{
	all_come();
	reach(2, RI_LINK_RUNNING);
	ri_centre_lose(&centre, 2, 2, closed ? RI_CENTRE_CLOSED : 0, now);
	now += 5000;
}

/* The same container again, or a copy of it: it has the name of the first one. */
static enum ri_link_place follow(size_t session, unsigned char life)
{
	struct ri_link_hello hello = a_hello(2, false);

	hello.life.bytes[0] = life;
	ri_centre_hello(&centre, session, &hello, now);
	return place_of(session);
}

static enum ri_link_place come_back(size_t session)
{
	struct ri_link_hello hello = a_hello(2, false);

	hello.age_ms = 1000000;
	ri_centre_hello(&centre, session, &hello, now);
	return place_of(session);
}

static bool was_dropped(size_t session)
{
	bool was = false;

	for (size_t i = 0; i < dropped_count; i++)
		was = was || dropped[i] == session;
	return was;
}

/* At all addresses of node 0 at once: it keeps the connection that is answered first. */
static void test_a_call_at_several_addresses(void **state)
{
	struct ri_link_hello node = a_hello(2, false), copy = a_hello(2, true);

	(void)state;
	node.call = copy.call = 1;
	assert_int_equal(ri_centre_hello(&centre, 2, &node, now), 2);
	assert_int_equal(ri_centre_hello(&centre, 12, &node, now), -1);
	assert_int_equal(place_of(12), RI_LINK_LATER);
	assert_true(was_dropped(12) && !was_dropped(2) && centre.nodes[2].session == 2);
	assert_int_equal(ri_centre_hello(&centre, 13, &copy, now), 2);
	assert_int_equal(ri_centre_hello(&centre, 14, &copy, now), -1);
	assert_true(was_dropped(14) && !was_dropped(13));
	/* the control: it lost that connection, and node 0 has not seen it yet */
	node.call = 2;
	assert_int_equal(ri_centre_hello(&centre, 15, &node, now), 2);
	assert_int_equal(place_of(15), RI_LINK_TAKEN);
	assert_true(was_dropped(2) && centre.nodes[2].session == 15);
}

static void test_a_restart_after_the_ranks_ran(void **state)
{
	(void)state;
	lose_running(true);
	assert_int_equal(follow(12, 90), RI_LINK_GUEST);
	assert_int_equal(ri_lives_due(&centre), now + RETURN);
	pass(RETURN - 1);
	assert_false(centre.decided);
	pass(1);
	assert_string_equal(centre.decision.text, RESTARTED);
	assert_int_equal(centre.decision.verdict.node, 2);
	assert_true(last(1, RI_LINK_VERDICT)->decision.order);
	assert_int_equal(last(1, RI_LINK_VERDICT)->decision.verdict.class, RI_CLASS_OWN);
	assert_int_equal(centre.decision.verdict.why.cause, RI_CAUSE_KILLED);
	assert_int_equal(centre.decision.verdict.rank, -1);
	/* the next attempt may take it: this verdict is news to it */
	assert_null(last(12, RI_LINK_VERDICT));
	assert_string_equal(last(12, RI_LINK_NEWS)->news.text, RESTARTED);
	assert_int_equal(place_of(12), RI_LINK_LATER);
	assert_int_equal(follow(13, 90), RI_LINK_LATER);
}

static void test_the_first_one_calls_again(void **state)
{
	(void)state;
	lose_running(true);
	assert_int_equal(follow(12, 90), RI_LINK_GUEST);
	pass(RETURN - 1);
	assert_int_equal(come_back(7), RI_LINK_TAKEN);
	pass(GONE);
	assert_false(centre.decided);
	/* it is still node 2 */
	end_from(2, 7, RI_CLASS_OWN, true);
	pass(RI_CENTRE_OWN_MS);
	assert_verdict(1, 2, true);
}

/* A cable that was cut, a time-out, a reset: no proof, however long it lasts. */
static void test_a_connection_that_broke(void **state)
{
	(void)state;
	lose_running(false);
	assert_int_equal(follow(12, 90), RI_LINK_GUEST);
	pass(GONE - 5001);
	assert_false(centre.decided);
	assert_int_equal(come_back(7), RI_LINK_TAKEN);
	assert_true(nodes[2].guest.here);
}

/* ... but one that was lost for ten minutes has no place any more. Nobody is stopped for it. */
static void test_one_that_was_lost_too_long(void **state)
{
	(void)state;
	lose_running(false);
	assert_int_equal(follow(12, 90), RI_LINK_GUEST);
	pass(GONE - 5000);
	assert_false(centre.decided);
	assert_int_equal(place_of(12), RI_LINK_LATER);
	assert_int_equal(follow(13, 90), RI_LINK_TAKEN);
	end_from(2, 13, RI_CLASS_OWN, true);
	pass(RI_CENTRE_OWN_MS);
	assert_verdict(1, 2, true);
}

static void test_a_member_that_calls_seldom(void **state)
{
	(void)state;
	lose_running(true);
	now += 300000;
	assert_int_equal(follow(12, 90), RI_LINK_GUEST);
	pass(LATE_RETURN - 1);
	assert_false(centre.decided);
	pass(1);
	assert_true(centre.decided);
}

static void test_a_host_of_another_name(void **state)
{
	(void)state;
	lose_running(true);
	assert_int_equal(call(2, true), 2);
	pass(RI_CENTRE_SILENT_MS - 1);
	assert_false(centre.decided);
	pass(1);
	assert_string_equal(centre.decision.text, RESTARTED);
}

/* A copy that was there before proves nothing, and does not keep what does out. */
static void test_a_copy_and_a_restart(void **state)
{
	(void)state;
	all_come();
	reach(2, RI_LINK_RUNNING);
	now += 5000;
	assert_int_equal(follow(12, 90), RI_LINK_GUEST);
	assert_int_equal(follow(13, 91), RI_LINK_LATER);
	now += 5000;
	ri_centre_lose(&centre, 2, 2, RI_CENTRE_CLOSED, now);
	pass(RI_CENTRE_SILENT_MS);
	assert_false(centre.decided);
	assert_int_equal(follow(14, 92), RI_LINK_GUEST);
	assert_int_equal(place_of(12), RI_LINK_LATER);
	pass(RETURN);
	assert_string_equal(centre.decision.text, RESTARTED);
}

/* A copy that runs another command: it is no container that was started again. */
static void test_a_copy_with_another_command(void **state)
{
	struct ri_link_hello copy = a_hello(2, false);

	(void)state;
	lose_running(true);
	copy.life.bytes[0] = 90;
	copy.may_stop = false;
	assert_int_equal(ri_centre_hello(&centre, 12, &copy, now), 2);
	pass(GONE);
	assert_false(centre.decided);
	assert_int_equal(place_of(12), RI_LINK_GUEST);
	/* what it prepared the node for comes behind it */
	ri_centre_lose(&centre, 2, 12, RI_CENTRE_CLOSED, now);
	now += 1000;
	assert_int_equal(follow(13, 91), RI_LINK_GUEST);
	pass(LATE_RETURN);
	assert_string_equal(centre.decision.text, RESTARTED);
}

static void test_a_restart_before_the_ranks_ran(void **state)
{
	(void)state;
	all_come();
	ri_centre_lose(&centre, 2, 2, RI_CENTRE_CLOSED, now);
	now += 5000;
	assert_int_equal(follow(12, 90), RI_LINK_GUEST);
	pass(RETURN);
	assert_int_equal(place_of(12), RI_LINK_LATER);
	assert_int_equal(follow(13, 90), RI_LINK_TAKEN);
	assert_false(centre.decided);
	end_from(2, 13, RI_CLASS_OWN, true);
	pass(RI_CENTRE_OWN_MS);
	assert_verdict(1, 2, true);
}

static void test_a_restart_after_an_end(void **state)
{
	(void)state;
	all_come();
	reach(2, RI_LINK_RUNNING);
	end(2, RI_CLASS_NONE);
	ri_centre_lose(&centre, 2, 2, RI_CENTRE_CLOSED, now);
	now += 5000;
	assert_int_equal(follow(12, 90), RI_LINK_GUEST);
	pass(GONE);
	end_from(2, 12, RI_CLASS_OWN, true);
	assert_false(centre.decided);
	/* it is still true that a rank of the job has ended with 0 */
	end(1, RI_CLASS_OWN);
	pass(RI_CENTRE_OWN_MS);
	assert_verdict(3, 1, false);
}

/* A command that may end, as one that prepares the node: what follows it is the node. */
static void test_a_restart_of_a_script(void **state)
{
	struct ri_link_hello script = a_hello(2, false);

	(void)state;
	script.may_stop = false;
	for (int class = RI_CLASS_NONE; class <= RI_CLASS_OWN; class++) {
		begin(NULL);
		assert_int_equal(call(1, false), 1);
		assert_int_equal(ri_centre_hello(&centre, 2, &script, now), 2);
		assert_int_equal(call(3, false), 3);
		reach(2, RI_LINK_RUNNING);
		end_from(2, 2, (enum ri_class)class, false);
		ri_centre_lose(&centre, 2, 2, RI_CENTRE_CLOSED, now);
		now += 5000;
		assert_int_equal(follow(12, 90), RI_LINK_TAKEN);
		assert_false(centre.decided);
		end(1, RI_CLASS_OWN);
		pass(RI_CENTRE_OWN_MS);
		assert_verdict(3, 1, true);
		assert_verdict(12, 1, true);
	}
}

/* Killed without a word: the next run of it takes its place as soon as that is certain. */
static void test_a_script_that_was_killed(void **state)
{
	struct ri_link_hello script = a_hello(2, false);

	(void)state;
	script.may_stop = false;
	assert_int_equal(ri_centre_hello(&centre, 2, &script, now), 2);
	reach(2, RI_LINK_RUNNING);
	ri_centre_lose(&centre, 2, 2, RI_CENTRE_CLOSED, now);
	now += 5000;
	assert_int_equal(follow(12, 90), RI_LINK_GUEST);
	pass(RETURN);
	assert_false(centre.decided);
	assert_int_equal(follow(13, 90), RI_LINK_TAKEN);
}

static void test_a_restart_after_the_verdict(void **state)
{
	(void)state;
	all_come();
	end(2, RI_CLASS_OWN);
	ri_centre_lose(&centre, 2, 2, RI_CENTRE_CLOSED, now);
	pass(5000);
	assert_int_equal(call(2, true), -1);
	assert_int_equal(place_of(12), RI_LINK_LATER);
	assert_null(last(12, RI_LINK_VERDICT));
}

/* What is left of the attempt before, and finds this centre by its name. */
static void test_an_older_life(void **state)
{
	struct ri_link_hello hello = a_hello(2, true);

	(void)state;
	lose_running(true);
	hello.age_ms = 60000;
	assert_int_equal(ri_centre_hello(&centre, 12, &hello, now), 2);
	assert_int_equal(place_of(12), RI_LINK_GUEST);
	end_from(2, 12, RI_CLASS_OWN, true);
	pass(GONE);
	assert_false(centre.decided);
	assert_int_equal(place_of(12), RI_LINK_LATER);
	hello.age_ms += GONE;
	assert_int_equal(ri_centre_hello(&centre, 13, &hello, now), 2);
	assert_int_equal(place_of(13), RI_LINK_GUEST);
}

/*
 * It waited for node 0 for a minute, and beside it comes what was started with node 0: the first
 * one may be of the attempt before, and its end stops nobody. When it is gone the other is the
 * node.
 */
static void test_what_is_left_of_an_attempt(void **state)
{
	struct ri_link_hello old = a_hello(2, false), young = a_hello(2, true);

	(void)state;
	for (int class = RI_CLASS_LOSS; class <= RI_CLASS_STOPPED; class++) {
		begin(NULL);
		assert_int_equal(call(1, false), 1);
		old.age_ms = 60000;
		assert_int_equal(ri_centre_hello(&centre, 2, &old, now), 2);
		assert_int_equal(place_of(2), RI_LINK_TAKEN);
		reach(2, RI_LINK_RUNNING);
		now += 5000;
		young.age_ms = 8000;
		assert_int_equal(ri_centre_hello(&centre, 12, &young, now), 2);
		end_from(2, 2, (enum ri_class)class, true);
		pass(RI_CENTRE_SETTLE_MS);
		assert_false(centre.decided);
		assert_non_null(strstr(last(1, RI_LINK_NEWS)->news.text, "rank of node 2"));
		ri_centre_lose(&centre, 2, 2, RI_CENTRE_CLOSED, now);
		pass(RETURN);
		young.age_ms = 20000;
		assert_int_equal(ri_centre_hello(&centre, 13, &young, now), 2);
		assert_int_equal(place_of(13), RI_LINK_TAKEN);
		end_from(2, 13, RI_CLASS_OWN, true);
		pass(RI_CENTRE_OWN_MS);
		assert_verdict(1, 2, true);
	}
}

/* The control: a copy that comes a minute later, where the first one waited for some seconds. */
static void test_a_copy_beside_one_that_waited(void **state)
{
	struct ri_link_hello old = a_hello(2, false);

	(void)state;
	assert_int_equal(call(1, false), 1);
	old.age_ms = 5000;
	assert_int_equal(ri_centre_hello(&centre, 2, &old, now), 2);
	now += 60000;
	assert_int_equal(call(2, true), 2);
	end(2, RI_CLASS_OWN);
	pass(RI_CENTRE_OWN_MS);
	assert_verdict(1, 2, true);
}

/* The first one stays: its ranks run. The other one is told, and so are all. */
static void test_two_machines_are_one_node(void **state)
{
	(void)state;
	all_come();
	reach(2, RI_LINK_RUNNING);
	now += 5000;
	assert_int_equal(call(2, true), 2);
	assert_int_equal(place_of(2), RI_LINK_TAKEN);
	assert_int_equal(place_of(12), RI_LINK_GUEST);
	assert_int_equal(dropped_count, 0);
	assert_string_equal(last(1, RI_LINK_NEWS)->news.text,
		"two machines call themselves node 2: gpu-2 and gpu-2b\n");
	assert_string_equal(last(12, RI_LINK_NEWS)->news.text, "another container is node 2 "
		"(gpu-2) of this job: this one is only told what happens, and what fails in it "
		"stops no other node\n");
	/* it calls again: nothing is said twice */
	sent_count = 0;
	ri_centre_lose(&centre, 2, 12, RI_CENTRE_CLOSED, now);
	assert_int_equal(call(2, true), 2);
	assert_int_equal(count(RI_LINK_NEWS), 0);
	end_from(2, 12, RI_CLASS_STOPPED, true);
	end_from(2, 12, RI_CLASS_OWN, true);
	pass(GONE);
	assert_false(centre.decided);
	end(2, RI_CLASS_OWN);
	pass(RI_CENTRE_OWN_MS);
	assert_verdict(1, 2, true);
	assert_null(last(12, RI_LINK_VERDICT));
}

#define CENTRE(test) cmocka_unit_test_setup(test, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CENTRE(test_a_call_at_several_addresses),
		CENTRE(test_a_restart_after_the_ranks_ran),
		CENTRE(test_the_first_one_calls_again),
		CENTRE(test_a_connection_that_broke),
		CENTRE(test_one_that_was_lost_too_long),
		CENTRE(test_a_member_that_calls_seldom),
		CENTRE(test_a_host_of_another_name),
		CENTRE(test_a_copy_and_a_restart),
		CENTRE(test_a_copy_with_another_command),
		CENTRE(test_a_restart_before_the_ranks_ran),
		CENTRE(test_a_restart_after_an_end),
		CENTRE(test_a_restart_of_a_script),
		CENTRE(test_a_script_that_was_killed),
		CENTRE(test_a_restart_after_the_verdict),
		CENTRE(test_an_older_life),
		CENTRE(test_what_is_left_of_an_attempt),
		CENTRE(test_a_copy_beside_one_that_waited),
		CENTRE(test_two_machines_are_one_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
