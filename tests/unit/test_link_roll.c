/* SPDX-License-Identifier: Apache-2.0 */
/* Who has come and who has gone, and when that is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "centre_of.h"

static void test_roll_call(void **state)
{
	(void)state;
	assert_int_equal(call(1, false), 1);
	pass(9999);
	assert_int_equal(count(RI_LINK_NEWS), 0);
	pass(1);
	assert_string_equal(last(1, RI_LINK_NEWS)->news.text,
		"waiting for 2 of 4 nodes for 10 s: node 2, node 3 (worker-3); look "
		"whether they run, with --link and the same key\n");
	assert_string_equal(last(0, RI_LINK_NEWS)->news.text, last(1, RI_LINK_NEWS)->news.text);
	assert_int_equal(ri_centre_due(&centre), now + 10000);
	assert_int_equal(call(3, false), 3);
	pass(10000);
	assert_string_equal(last(3, RI_LINK_NEWS)->news.text,
		"waiting for 1 of 4 nodes for 20 s: node 2\n");
	assert_int_equal(ri_centre_due(&centre), now + 20000);
	now += 3000;
	assert_int_equal(call(2, false), 2);
	assert_string_equal(last(1, RI_LINK_NEWS)->news.text,
		"all 4 nodes have come, after 23 s\n");
	assert_int_equal(ri_centre_due(&centre), INT64_MAX);
	sent_count = 0;
	pass(1000000);
	assert_int_equal(sent_count, 0);
}

static void test_a_node_of_another_version(void **state)
{
	(void)state;
	centre.version = '1';
	centre.foreign = true;
	for (int i = 0; i < 2; i++)
		pass(10000);
	assert_string_equal(last(0, RI_LINK_NEWS)->news.text, "waiting for 3 of 4 nodes for 20 s: "
		"node 1, node 2, node 3 (worker-3); a node that called speaks another version of "
		"the link (RKL1): give all nodes the same rankinit\n");
}

static void test_no_roll_call(void **state)
{
	(void)state;
	centre.roll_at = 0;
	pass(1000000);
	assert_int_equal(count(RI_LINK_NEWS), 0);
	all_come();
	assert_int_equal(count(RI_LINK_NEWS), 0);
}

/* Whoever waits knows by then why nobody comes. */
static void test_no_roll_call_after_the_verdict(void **state)
{
	(void)state;
	assert_int_equal(call(1, false), 1);
	end(1, RI_CLASS_OWN);
	pass(1000000);
	assert_int_equal(count(RI_LINK_NEWS), 0);
	assert_int_equal(ri_centre_due(&centre), INT64_MAX);
}

static void test_a_node_is_silent(void **state)
{
	(void)state;
	all_come();
	ri_centre_lose(&centre, 3, 3, RI_CENTRE_CLOSED, now);
	assert_int_equal(ri_centre_due(&centre), now + RI_CENTRE_SILENT_MS);
	pass(RI_CENTRE_SILENT_MS - 1);
	assert_int_equal(count(RI_LINK_NEWS), 0);
	pass(1);
	assert_string_equal(last(1, RI_LINK_NEWS)->news.text,
		"node 3 (gpu-3): silent for 60 s; look whether it still runs\n");
	assert_int_equal(ri_centre_due(&centre), INT64_MAX);
	assert_false(centre.decided);
}

/* What is cut is noticed a minute later: then it has been silent for that long. */
static void test_a_node_that_was_cut_off(void **state)
{
	(void)state;
	all_come();
	ri_centre_lose(&centre, 3, 3, RI_CENTRE_SILENT_MS - 1000, now);
	assert_int_equal(ri_centre_due(&centre), now + 1000);
	pass(999);
	assert_int_equal(count(RI_LINK_NEWS), 0);
	pass(1);
	assert_string_equal(last(1, RI_LINK_NEWS)->news.text,
		"node 3 (gpu-3): silent for 60 s; look whether it still runs\n");
	/* not of a session that is no more the node's */
	assert_int_equal(call(2, false), 2);
	ri_centre_lose(&centre, 2, 1, RI_CENTRE_SILENT_MS, now);
	assert_int_equal(ri_centre_due(&centre), INT64_MAX);
}

/* Who may still call, and has not the verdict. */
static void test_nodes_that_are_missed(void **state)
{
	struct ri_link_hello back = a_hello(2, false);

	(void)state;
	assert_true(ri_centre_misses(&centre));
	all_come();
	assert_false(ri_centre_misses(&centre));
	ri_centre_lose(&centre, 2, 2, RI_CENTRE_CLOSED, now);
	ri_centre_lose(&centre, 3, 3, RI_CENTRE_CLOSED, now);
	end(1, RI_CLASS_OWN);
	assert_true(ri_centre_misses(&centre));
	assert_int_equal(ri_centre_hello(&centre, 12, &back, now), 2);
	assert_true(ri_centre_misses(&centre));
	/* it has closed its connection behind the verdict; the other one is given up */
	ri_centre_lose(&centre, 2, 12, RI_CENTRE_CLOSED, now);
	pass(RI_CENTRE_SILENT_MS);
	assert_false(ri_centre_misses(&centre));
	/* as it broke the verdict may not have arrived */
	assert_int_equal(ri_centre_hello(&centre, 13, &back, now), 2);
	ri_centre_lose(&centre, 2, 13, 0, now);
	assert_true(ri_centre_misses(&centre));
}

#define CENTRE(test) cmocka_unit_test_setup(test, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CENTRE(test_roll_call),
		CENTRE(test_a_node_of_another_version),
		CENTRE(test_no_roll_call),
		CENTRE(test_no_roll_call_after_the_verdict),
		CENTRE(test_a_node_is_silent),
		CENTRE(test_a_node_that_was_cut_off),
		CENTRE(test_nodes_that_are_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
