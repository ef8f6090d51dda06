/* SPDX-License-Identifier: Apache-2.0 */
/* A look of all nodes at one moment, as node 0's helper has it: docs/link.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "centre_of.h"
#include "link/centre.h"

enum { MANY = 1000, ROUND_AGAIN_MS = 10000 };

static struct { size_t node; char text[64]; } added[MANY];
static size_t added_count, judged;

static void keep_groups(void *context, size_t node, const char *groups)
{
	assert_ptr_equal(context, &judged);
	assert_true(added_count < MANY);
	added[added_count].node = node;
	ri_text_copy(added[added_count++].text, sizeof(added[0].text), groups);
}

/* The last node that said something is the one that holds up the others. */
static void judge(void *context, struct ri_link_found *found)
{
	assert_ptr_equal(context, &judged);
	assert_int_equal(found->rank, -1);
	assert_string_equal(found->text, "");
	judged++;
	if (added_count == 0)
		return;
	found->node = added[added_count - 1].node;
	found->rank = (int64_t)found->node * 8;
	snprintf(found->text, sizeof(found->text), "%zu nodes\n", added_count);
}

static int begin_round(void **state)
{
	begin(state);
	added_count = judged = 0;
	centre.add = keep_groups;
	centre.judge = judge;
	centre.context = &judged;
	return 0;
}

static bool hear(size_t node, const struct ri_link_message *message)
{
	bool is_said = ri_centre_hear(&centre, node, session_of(node, false), message, now);

	ri_centre_pass(&centre, now);
	return is_said;
}

static void look(size_t node, bool soon)
{
	const struct ri_link_message message = { .kind = RI_LINK_LOOK, .look = { soon } };

	assert_true(hear(node, &message));
}

static bool say_groups(size_t node, const char *text)
{
	struct ri_link_message message = { .kind = RI_LINK_GROUPS };

	snprintf(message.groups.text, sizeof(message.groups.text), "%s", text);
	return hear(node, &message);
}

static void wait_ms(int64_t ms)
{
	now += ms;
	ri_centre_pass(&centre, now);
}

static void assert_found(size_t session, int64_t rank, const char *text)
{
	const struct ri_link_message *found = last(session, RI_LINK_FOUND);

	assert_non_null(found);
	assert_int_equal(found->found.rank, rank);
	assert_string_equal(found->found.text, text);
}

static void test_all_look_and_all_hear(void **state)
{
	(void)state;
	all_come();
	assert_true(ri_centre_due(&centre) == INT64_MAX);
	look(2, false);
	assert_int_equal(count(RI_LINK_LOOK), NODES);
	for (size_t i = 0; i < NODES; i++)
		assert_false(last(i, RI_LINK_LOOK)->look.soon);
	for (size_t i = 0; i < NODES; i++) {
		assert_int_equal(count(RI_LINK_FOUND), 0);
		assert_true(say_groups(i, "one"));
		assert_int_equal(added[i].node, i);
		assert_string_equal(added[i].text, "one");
	}
	assert_int_equal(judged, 1);
	assert_int_equal(count(RI_LINK_FOUND), NODES);
	for (size_t i = 0; i < NODES; i++)
		assert_found(i, 24, "4 nodes\n");
	assert_true(ri_centre_due(&centre) == INT64_MAX);
}

static void test_who_does_not_answer_is_not_waited_for_longer(void **state)
{
	static const struct { bool soon; int64_t ms; } rows[] = {
		{ false, RI_LINK_LOOK_MS }, { true, RI_LINK_SOON_MS },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin_round(state);
		all_come();
		look(0, rows[i].soon);
		assert_int_equal(last(3, RI_LINK_LOOK)->look.soon, rows[i].soon);
		assert_true(say_groups(1, "one") && say_groups(2, ""));
		assert_int_equal(ri_centre_due(&centre), now + rows[i].ms);
		wait_ms(rows[i].ms - 1);
		assert_int_equal(judged, 0);
		wait_ms(1);
		assert_int_equal(judged, 1);
		assert_found(3, 8, "1 nodes\n");
		/* late, and no lie */
		assert_true(say_groups(3, "late"));
		assert_int_equal(added_count, 1);
	}
}

static void test_a_lost_node_is_not_waited_for(void **state)
{
	(void)state;
	all_come();
	look(1, false);
	for (size_t i = 0; i < NODES - 1; i++)
		say_groups(i, "one");
	assert_int_equal(judged, 0);
	ri_centre_lose(&centre, 3, 3, RI_CENTRE_CLOSED, now);
	wait_ms(0);
	assert_int_equal(judged, 1);
	assert_null(last(3, RI_LINK_FOUND));
	assert_found(1, 16, "3 nodes\n");
}

/* The same life calls again, and still owes an answer. */
static void test_a_connection_that_broke(void **state)
{
	struct ri_link_hello hello = a_hello(3, false);
	const struct ri_link_message groups = { .kind = RI_LINK_GROUPS, .groups = { "again" } };

	(void)state;
	all_come();
	look(1, false);
	for (size_t i = 0; i < NODES - 1; i++)
		say_groups(i, "one");
	assert_int_equal(ri_centre_hello(&centre, 20, &hello, now), 3);
	assert_true(ri_centre_hear(&centre, 3, 20, &groups, now));
	wait_ms(0);
	assert_found(20, 24, "4 nodes\n");
	/* the session before is nobody's */
	assert_false(ri_centre_hear(&centre, 3, 3, &groups, now));
}

/* A new life was not asked; nor is it one that the centre only tells what there is to tell. */
static void test_who_is_not_of_the_job(void **state)
{
	const struct ri_link_message ask = { .kind = RI_LINK_LOOK };
	const struct ri_link_message groups = { .kind = RI_LINK_GROUPS, .groups = { "guest" } };

	(void)state;
	all_come();
	look(0, false);
	reach(3, RI_LINK_RUNNING);
	ri_centre_lose(&centre, 3, 3, RI_CENTRE_CLOSED, now);
	now++;
	assert_int_equal(call(3, true), 3);
	assert_int_equal(place_of(13), RI_LINK_GUEST);
	assert_false(ri_centre_hear(&centre, 3, 13, &groups, now));
	assert_true(ri_centre_hear(&centre, 3, 13, &ask, now));
	assert_found(13, -1, "");
	wait_ms(ROUND_AGAIN_MS);
	sent_count = 0;
	look(0, false);
	assert_int_equal(count(RI_LINK_LOOK), NODES - 1);
	assert_null(last(13, RI_LINK_LOOK));
}

static void answer_all(void)
{
	for (size_t i = 0; i < NODES; i++)
		assert_true(say_groups(i, "one"));
}

static void test_one_in_ten_seconds(void **state)
{
	(void)state;
	all_come();
	look(0, false);
	answer_all();
	sent_count = 0;
	now += ROUND_AGAIN_MS - 1;
	for (int i = 0; i < 20; i++)
		look(2, true);
	assert_int_equal(count(RI_LINK_LOOK), 0);
	assert_int_equal(count(RI_LINK_FOUND), 20);
	assert_found(2, -1, "");
	assert_int_equal(judged, 1);
	now++;
	sent_count = 0;
	look(2, true);
	assert_int_equal(count(RI_LINK_LOOK), NODES);
	assert_int_equal(count(RI_LINK_FOUND), 0);
}

static void test_a_stop_shortens_what_goes_on(void **state)
{
	(void)state;
	all_come();
	look(0, false);
	now += 100;
	look(1, true);
	assert_int_equal(count(RI_LINK_LOOK), NODES);
	assert_int_equal(ri_centre_due(&centre), now + RI_LINK_SOON_MS);
	now += 100;
	look(2, true);
	look(2, false);
	assert_int_equal(ri_centre_due(&centre), now - 100 + RI_LINK_SOON_MS);
}

static void test_groups_that_no_one_asked_for(void **state)
{
	(void)state;
	all_come();
	assert_false(say_groups(1, "one"));
	look(0, false);
	assert_true(say_groups(1, "one"));
	for (int i = 0; i < 10000; i++)
		assert_false(say_groups(1, "more"));
	assert_int_equal(added_count, 1);
	assert_string_equal(added[0].text, "one");
}

static void test_where_no_rank_was_looked_at(void **state)
{
	(void)state;
	all_come();
	look(0, false);
	for (size_t i = 0; i < NODES; i++)
		assert_true(say_groups(i, ""));
	assert_int_equal(judged, 1);
	assert_int_equal(added_count, 0);
	assert_found(3, -1, "");
}

static void test_after_the_verdict_too(void **state)
{
	(void)state;
	all_come();
	end(1, RI_CLASS_STOPPED);
	assert_true(centre.decided);
	look(1, true);
	answer_all();
	assert_found(2, 24, "4 nodes\n");
}

static void test_what_no_member_says(void **state)
{
	static const enum ri_link_kind kinds[] = { RI_LINK_HELLO, RI_LINK_HEARD, RI_LINK_NEWS,
		RI_LINK_VERDICT, RI_LINK_ASK, RI_LINK_FOUND, RI_LINK_TIME };

	(void)state;
	all_come();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		assert_false(hear(1, &(struct ri_link_message){ .kind = kinds[i] }));
	assert_int_equal(count(RI_LINK_LOOK), 0);
}

/* What is sent to one of many. */
static struct { unsigned looks, founds; } got[MANY];

static void count_sent(void *context, size_t session, const struct ri_link_message *message)
{
	(void)context;
	assert_true(session < MANY);
	got[session].looks += message->kind == RI_LINK_LOOK;
	got[session].founds += message->kind == RI_LINK_FOUND;
}

/* A message of each way for each of a thousand nodes, and some bytes a node. */
static void test_a_thousand_nodes(void **state)
{
	static struct ri_centre_node many[MANY];
	struct ri_link_hello hello;

	(void)state;
	memset(got, 0, sizeof(got));
	memset(many, 0, sizeof(many));
	centre.send = count_sent;
	centre.nodes = many;
	centre.count = MANY;
	for (size_t i = 0; i < MANY; i++) {
		hello = a_hello(0, false);
		hello.node = i;
		hello.nodes = MANY;
		assert_int_equal(ri_centre_hello(&centre, i, &hello, now), i);
	}
	/* all of them notice it */
	for (size_t i = 0; i < MANY; i++)
		look(i, false);
	for (size_t i = MANY; i-- > 0;)
		assert_true(say_groups(i, "one"));
	assert_int_equal(added_count, MANY);
	assert_int_equal(judged, 1);
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(got[i].looks, 1);
		assert_int_equal(got[i].founds, 1);
	}
	assert_true(sizeof(many) < 512 * 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_all_look_and_all_hear, begin_round),
		cmocka_unit_test(test_who_does_not_answer_is_not_waited_for_longer),
		cmocka_unit_test_setup(test_a_lost_node_is_not_waited_for, begin_round),
		cmocka_unit_test_setup(test_a_connection_that_broke, begin_round),
		cmocka_unit_test_setup(test_who_is_not_of_the_job, begin_round),
		cmocka_unit_test_setup(test_one_in_ten_seconds, begin_round),
		cmocka_unit_test_setup(test_a_stop_shortens_what_goes_on, begin_round),
		cmocka_unit_test_setup(test_groups_that_no_one_asked_for, begin_round),
		cmocka_unit_test_setup(test_where_no_rank_was_looked_at, begin_round),
		cmocka_unit_test_setup(test_after_the_verdict_too, begin_round),
		cmocka_unit_test_setup(test_what_no_member_says, begin_round),
		cmocka_unit_test_setup(test_a_thousand_nodes, begin_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
