/* SPDX-License-Identifier: Apache-2.0 */
/* A member that waits for a step of all, and does not hear of it: centre.h has node 0's side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "link/member.h"

static int64_t now;
static struct ri_member member;
static struct ri_link_go go;
static size_t went, lines;
static char line[RI_LINK_TEXT];

static void keep_sent(void *context, const struct ri_link_message *message)
{
	(void)context;
	(void)message;
}

static void keep_told(void *context, const struct ri_link_message *message)
{
	(void)context;
	if (message->kind != RI_LINK_GO)
		return;
	go = message->go;
	went++;
}

static void keep_line(void *context, const char *text)
{
	(void)context;
	snprintf(line, sizeof(line), "%s", text);
	lines++;
}

static int begin_member(void **state)
{
	(void)state;
	went = lines = 0;
	now = 1000000;
	member = (struct ri_member){ .send = keep_sent, .tell = keep_told, .say = keep_line,
		.self = { .node = 2, .nodes = 4, .may_stop = true, .restarts = 2 }, .keyed = true,
		.centre_name = "gpu-0", .ports = "port 9471", .roll_ms = 10000 };
	ri_member_begin(&member, now);
	return 0;
}

static void from_centre(enum ri_link_place place)
{
	const struct ri_link_message hello = { .kind = RI_LINK_HELLO, .hello = {
		.life.bytes[0] = 1, .nodes = 4, .place = place } };

	assert_true(ri_member_hear(&member, &hello, now));
}

static void vote(enum ri_link_step step)
{
	const struct ri_link_go said = { .step = step, .go = true };

	ri_member_vote(&member, &said);
}

/* No job goes on without it: it need not wait for the word of a node 0 that is none of its own. */
static void test_who_is_sent_away_waits_for_no_step(void **state)
{
	(void)state;
	vote(RI_LINK_START);
	from_centre(RI_LINK_OTHER);
	assert_int_equal(went, 1);
	assert_true(go.step == RI_LINK_START && !go.go);
	assert_string_equal(go.text, "the ranks do not start again: node 0 was started again\n");
	assert_int_equal(lines, 0);
	/* and where it was sent away before, it hears that as it says that it can */
	vote(RI_LINK_LEAVE);
	assert_int_equal(went, 2);
	assert_true(go.step == RI_LINK_LEAVE && !go.go);
	assert_string_equal(go.text,
		"the ranks do not start again: node 0 has sent this node away\n");
}

/* Its kernel keeps the connection, so only what it does not say shows it. */
static void test_node_0_is_frozen(void **state)
{
	const struct ri_link_message wait = { .kind = RI_LINK_NEWS };
	const struct ri_link_message all_go = { .kind = RI_LINK_GO, .go = {
		.step = RI_LINK_LEAVE, .go = true } };
	const struct ri_link_message told = { .kind = RI_LINK_VERDICT, .decision = {
		.order = true, .again = true, .text = "rank 9 failed first\n" } };

	(void)state;
	from_centre(RI_LINK_TAKEN);
	assert_true(ri_member_hear(&member, &told, now));
	vote(RI_LINK_LEAVE);
	ri_member_pass(&member, now);
	for (int i = 0; i < 3; i++) {
		now += RI_LINK_BEAT_MS;
		ri_member_pass(&member, now);
		assert_true(ri_member_hear(&member, &wait, now));
	}
	assert_int_equal(lines, 0);
	assert_int_equal(ri_member_waits_until(&member, 1000, 60000), now + 70000);
	assert_int_equal(ri_member_waits_until(&member, 300000, 60000), 1000000 + 360000);
	ri_member_pass(&member, now);
	assert_int_equal(ri_member_due(&member), now + 11000);
	now += 11000;
	ri_member_pass(&member, now);
	assert_int_equal(lines, 1);
	assert_string_equal(line, "this node waits to start its ranks again, and has not heard "
		"node 0 (gpu-0) for 11 s; look at its log");
	assert_int_equal(ri_member_due(&member), now + 11000);
	/* what it hears after all ends that, and node 0 is not silent to itself */
	assert_true(ri_member_hear(&member, &all_go, now));
	ri_member_pass(&member, now);
	assert_int_equal(ri_member_due(&member), INT64_MAX);
	member.steps[RI_LINK_LEAVE].answered = false;
	member.self.node = 0;
	ri_member_pass(&member, now + 20000);
	assert_int_equal(lines, 1);
	assert_int_equal(ri_member_due(&member), INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_who_is_sent_away_waits_for_no_step, begin_member),
		cmocka_unit_test_setup(test_node_0_is_frozen, begin_member),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
