/* SPDX-License-Identifier: Apache-2.0 */
/* When a node ended, by the clock of node 0, which it asks for the time before it says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "link/member.h"

enum { SENT = 16 };

static int64_t now;
static struct ri_member member;
static struct ri_link_message to_centre[SENT];
static int to_centre_count;

static void keep_sent(void *context, const struct ri_link_message *message)
{
	(void)context;
	assert_true(to_centre_count < SENT);
	to_centre[to_centre_count++] = *message;
}

static void tell_nobody(void *context, const struct ri_link_message *message)
{
	(void)context;
	(void)message;
}

static void say_nothing(void *context, const char *text)
{
	(void)context;
	(void)text;
}

static bool is_heard(enum ri_link_kind kind)
{
	const struct ri_link_message message = { .kind = kind };

	return ri_member_hear(&member, &message, now);
}

static void join(void)
{
	const struct ri_link_message hello = { .kind = RI_LINK_HELLO,
		.hello = { .life = { { 1 } }, .nodes = 4, .place = RI_LINK_TAKEN } };

	assert_true(ri_member_hear(&member, &hello, now));
}

static void begin_member(void)
{
	to_centre_count = 0;
	now = 1000000;
	member = (struct ri_member){ .send = keep_sent, .tell = tell_nobody, .say = say_nothing,
		.self = { .node = 2, .nodes = 4, .may_stop = true }, .keyed = true,
		.centre_name = "gpu-0", .ports = "port 9471" };
	ri_member_begin(&member, now);
}

/* Its clocks, in seconds: what CLOCK_BOOTTIME shows, how far that goes before node 0's. */
static void compare(int64_t boot, int64_t ahead)
{
	ri_clocks_see(&member.wall, 1000000000, 1, boot * 1000000);
	ri_clocks_see(&member.node_0, ahead * 1000000, 70, (boot - ahead) * 1000000);
}

/* It has joined, in its hundredth second, and its ranks run. */
static void begin(void)
{
	begin_member();
	member.node_0.drift = true;
	compare(100, 30);
	join();
	ri_member_reach(&member, RI_LINK_RUNNING);
	to_centre_count = 0;
}

/* A rank of this node ended in that second by its CLOCK_BOOTTIME. */
static void end_at(enum ri_class class, int64_t boot)
{
	const struct ri_link_end end = { .verdict.class = class,
		.at_us = (uint64_t)(boot * 1000000 + 1000000000) };

	ri_member_end(&member, &end);
}

static void assert_said_end(uint64_t at_us)
{
	const struct ri_link_message *sent = &to_centre[to_centre_count - 1];

	assert_int_equal(sent->kind, RI_LINK_END);
	assert_int_equal(sent->end.at_us, at_us);
	assert_true(sent->end.error_us == 0 ? at_us == 0
		: sent->end.error_us > 70 && sent->end.error_us < 10000);
}

/* An end is told by the clock of node 0, as far as that is known. */
static void test_the_time_of_an_end(void **state)
{
	(void)state;
	begin();
	end_at(RI_CLASS_OWN, 102);
	assert_int_equal(to_centre_count, 1);
	assert_said_end(72000000);
	begin_member();
	join();
	end_at(RI_CLASS_OWN, 102);
	assert_int_equal(to_centre_count, 1);
	assert_said_end(0);
}

/* Three seconds after the clocks were compared they are compared again, before the end is told. */
static void test_the_time_is_asked_for(void **state)
{
	static const enum ri_class classes[] = { RI_CLASS_OWN, RI_CLASS_UNKNOWN };

	(void)state;
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		begin();
		end_at(classes[i], 103);
		assert_int_equal(to_centre_count, 1);
		assert_int_equal(to_centre[0].kind, RI_LINK_TIME);
		compare(103, 29);	/* it stood still */
		assert_true(is_heard(RI_LINK_TIME));
		assert_int_equal(to_centre_count, 2);
		assert_int_equal(to_centre[1].kind, RI_LINK_END);
		assert_int_equal(to_centre[1].end.at_us, 74000000);
		assert_true(to_centre[1].end.error_us > 1000000);
		assert_true(is_heard(RI_LINK_HEARD));
		assert_true(is_heard(RI_LINK_TIME));	/* nobody asked */
		assert_int_equal(to_centre_count, 2);
	}
	/* not where no end of the same kind can be named for it */
	begin();
	end_at(RI_CLASS_LOSS, 103);
	assert_said_end(73000000);
	end_at(RI_CLASS_STOPPED, 103);
	assert_said_end(73000000);
	assert_int_equal(to_centre_count, 2);
}

/* An end waits for the answer, unless the connection goes: the next hello has one. */
static void test_the_time_is_not_answered(void **state)
{
	(void)state;
	begin();
	end_at(RI_CLASS_UNKNOWN, 103);
	end_at(RI_CLASS_OWN, 104);
	assert_int_equal(to_centre_count, 1);
	ri_member_lose(&member, "lost");
	join();
	assert_int_equal(to_centre_count, 3);
	assert_int_equal(to_centre[1].kind, RI_LINK_PHASE);
	assert_int_equal(to_centre[2].end.verdict.class, RI_CLASS_OWN);
	assert_said_end(74000000);
}

/* Where its ranks have not started there is no time to wait for. */
static void test_an_end_before_the_start(void **state)
{
	(void)state;
	begin();
	member.phase = RI_LINK_STARTING;
	end_at(RI_CLASS_OWN, 103);
	assert_int_equal(to_centre_count, 2);
	assert_int_equal(to_centre[0].kind, RI_LINK_TIME);
	assert_said_end(73000000);
}

/* That nothing more is on its way is said behind an end that waits for the time. */
static void test_an_answer_behind_an_end(void **state)
{
	const struct ri_link_message ask = { .kind = RI_LINK_ASK, .ask.waits = true };

	(void)state;
	begin();
	assert_true(ri_member_hear(&member, &ask, now));
	end_at(RI_CLASS_OWN, 103);
	ri_member_answer(&member, 1);
	assert_int_equal(to_centre_count, 1);
	assert_true(is_heard(RI_LINK_TIME));
	assert_int_equal(to_centre_count, 3);
	assert_int_equal(to_centre[1].kind, RI_LINK_END);
	assert_int_equal(to_centre[2].kind, RI_LINK_ANSWER);
}

/* And every five minutes, by whoever has compared them. */
static void test_the_time_every_five_minutes(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ri_member_due(&member), now + 300000);
		now += 300000;
		ri_member_pass(&member, now);
		assert_int_equal(to_centre[to_centre_count - 1].kind, RI_LINK_TIME);
		assert_int_equal(ri_member_due(&member), INT64_MAX);
		ri_member_pass(&member, now);
		assert_true(is_heard(RI_LINK_TIME));
		assert_int_equal(to_centre_count, i + 1);
	}
	ri_member_lose(&member, "lost");
	assert_int_equal(ri_member_due(&member), INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_time_of_an_end),
		cmocka_unit_test(test_the_time_is_asked_for),
		cmocka_unit_test(test_the_time_is_not_answered),
		cmocka_unit_test(test_an_end_before_the_start),
		cmocka_unit_test(test_an_answer_behind_an_end),
		cmocka_unit_test(test_the_time_every_five_minutes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
