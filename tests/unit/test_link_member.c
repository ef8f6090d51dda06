/* SPDX-License-Identifier: Apache-2.0 */
/* What a node's helper makes of what its PID 1 and the centre say: docs/link.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "link/member.h"

enum { NODES = 4, SENT = 64 };

static int64_t now;

static struct ri_link_hello a_hello(size_t node)
{
	struct ri_link_hello hello = { .node = node, .nodes = NODES, .may_stop = true,
		.age_ms = 1, .place = RI_LINK_GUEST };

	hello.life.bytes[0] = (unsigned char)(node + 1);
	snprintf(hello.host, sizeof(hello.host), "gpu-%zu", node);
	return hello;
}

static struct ri_member member;
static struct ri_link_message to_centre[SENT];
static size_t to_centre_count, judged, heard, asked, looked, found_count, lines;
static struct ri_link_decision decision;
static struct ri_link_found found;
static struct ri_link_go go;
static size_t went;
static char line[2 * RI_LINK_TEXT];

static void keep_sent(void *context, const struct ri_link_message *message)
{
	(void)context;
	assert_true(to_centre_count < SENT);
	to_centre[to_centre_count++] = *message;
}

static void keep_told(void *context, const struct ri_link_message *message)
{
	(void)context;
	switch (message->kind) {
	case RI_LINK_VERDICT:
		decision = message->decision;
		judged++;
		break;
	case RI_LINK_HEARD:
		heard++;
		break;
	case RI_LINK_ASK:
		asked = message->ask.number;
		break;
	case RI_LINK_LOOK:
		looked++;
		break;
	case RI_LINK_FOUND:
		found = message->found;
		found_count++;
		break;
	case RI_LINK_GO:
		go = message->go;
		went++;
		break;
	default:
		fail();
	}
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
	went = 0;
	to_centre_count = judged = heard = asked = looked = found_count = lines = 0;
	now = 1000000;
	member = (struct ri_member){ .send = keep_sent, .tell = keep_told, .say = keep_line,
		.self = a_hello(2), .keyed = true,
		.centre_name = "gpu-0", .ports = "port 9471", .roll_ms = 10000 };
	ri_member_begin(&member, now);
	return 0;
}

static void from_centre(enum ri_link_place place)
{
	struct ri_link_message hello = { .kind = RI_LINK_HELLO, .hello = a_hello(0) };

	hello.hello.place = place;
	assert_true(ri_member_hear(&member, &hello, now));
}

static bool is_heard(enum ri_link_kind kind)
{
	const struct ri_link_message message = { .kind = kind };

	return ri_member_hear(&member, &message, now);
}

static struct ri_link_message a_verdict(void)
{
	return (struct ri_link_message){ .kind = RI_LINK_VERDICT, .decision = {
		.verdict.node = 1, .order = true, .text = "rank 9 failed first\n" } };
}

static void test_a_member_joins(void **state)
{
	struct ri_link_message told = a_verdict();

	(void)state;
	assert_false(ri_member_hear(&member, &told, now));
	assert_int_equal(judged, 0);
	now += 700;
	ri_member_connect(&member, now);
	assert_int_equal(to_centre[0].hello.age_ms, 700);
	assert_true(ri_link_life_is_none(&to_centre[0].hello.centre));
	from_centre(RI_LINK_TAKEN);
	assert_false(ri_member_calls(&member));
	assert_true(ri_member_hear(&member, &told, now));
	assert_true(ri_member_hear(&member, &told, now));
	assert_int_equal(judged, 1);
	assert_true(decision.order);
	assert_string_equal(decision.text, "rank 9 failed first\n");
	assert_int_equal(ri_member_due(&member), INT64_MAX);
	assert_int_equal(lines, 0);
}

/* It is bound by being taken, not by being answered. */
static void test_a_member_is_bound(void **state)
{
	(void)state;
	from_centre(RI_LINK_GUEST);
	ri_member_lose(&member, "lost");
	ri_member_connect(&member, now);
	assert_true(ri_link_life_is_none(&to_centre[to_centre_count - 1].hello.centre));
	from_centre(RI_LINK_TAKEN);
	ri_member_lose(&member, "lost");
	ri_member_connect(&member, now);
	assert_false(ri_link_life_is_none(&to_centre[to_centre_count - 1].hello.centre));
}

static void test_what_was_said_before_there_was_a_centre(void **state)
{
	struct ri_link_end own = { .verdict.class = RI_CLASS_OWN, .fatal = true, .text = "why\n" };

	(void)state;
	ri_member_reach(&member, RI_LINK_RUNNING);
	ri_member_end(&member, &own);
	assert_int_equal(to_centre_count, 0);
	from_centre(RI_LINK_TAKEN);
	assert_int_equal(to_centre_count, 2);
	assert_int_equal(to_centre[0].phase, RI_LINK_RUNNING);
	assert_string_equal(to_centre[1].end.text, "why\n");
	assert_true(is_heard(RI_LINK_HEARD));
	assert_int_equal(heard, 1);
	/* less than that is not news */
	ri_member_end(&member, &(struct ri_link_end){ .verdict.class = RI_CLASS_LOSS });
	ri_member_reach(&member, RI_LINK_STARTING);
	assert_int_equal(to_centre_count, 2);
}

/* The connection went before the verdict came: the end is said again. */
static void test_an_end_is_said_again(void **state)
{
	struct ri_link_end loss = { .verdict.class = RI_CLASS_LOSS };

	(void)state;
	from_centre(RI_LINK_TAKEN);
	ri_member_end(&member, &loss);
	assert_true(is_heard(RI_LINK_HEARD));
	ri_member_lose(&member, "lost");
	assert_string_equal(line, "the connection to node 0 is lost; the job goes on");
	to_centre_count = 0;
	from_centre(RI_LINK_TAKEN);
	assert_int_equal(to_centre_count, 1);
	assert_int_equal(to_centre[0].kind, RI_LINK_END);
	ri_member_lose(&member, "lost");
	assert_int_equal(lines, 1);
}

static void test_a_member_is_sent_away(void **state)
{
	static const enum ri_link_place away[] = { RI_LINK_OTHER, RI_LINK_SIZE };

	for (size_t i = 0; i < sizeof(away) / sizeof(away[0]); i++) {
		begin_member(state);
		from_centre(away[i]);
		assert_false(ri_member_calls(&member));
		assert_int_equal(lines, 1);
		ri_member_lose(&member, "lost");
		assert_int_equal(lines, 1);
		assert_int_equal(ri_member_due(&member), INT64_MAX);
	}
}

/* Node 0 prepares itself by a command that may end: who was there then is of no other job. */
static void test_a_centre_that_binds_nobody(void **state)
{
	struct ri_link_message hello = { .kind = RI_LINK_HELLO, .hello = a_hello(0) };

	(void)state;
	hello.hello.place = RI_LINK_TAKEN;
	hello.hello.may_stop = false;
	assert_true(ri_member_hear(&member, &hello, now));
	assert_true(member.joined);
	assert_true(ri_link_life_is_none(&member.self.centre));
	from_centre(RI_LINK_TAKEN);
	assert_false(ri_link_life_is_none(&member.self.centre));
}

static void test_a_member_calls_later(void **state)
{
	(void)state;
	from_centre(RI_LINK_LATER);
	ri_member_lose(&member, "lost");
	assert_true(ri_member_calls(&member));
	assert_int_equal(lines, 0);
	from_centre(RI_LINK_TAKEN);
	from_centre(RI_LINK_LATER);
	ri_member_lose(&member, "lost");
	assert_int_equal(lines, 0);
}

static void test_no_centre(void **state)
{
	(void)state;
	now += 10000;
	ri_member_pass(&member, now);
	assert_string_equal(line, "node 0 (gpu-0), port 9471, has not been reached for 10 s");
	ri_member_lose(&member, "no such name");
	now += 10000;
	ri_member_pass(&member, now);
	assert_string_equal(line, "node 0 (gpu-0), port 9471, has not been reached for 20 s: no "
		"such name");
	assert_int_equal(ri_member_due(&member), now + 20000);
	ri_member_shut_out(&member, "it has another key");
	now += 20000;
	ri_member_pass(&member, now);
	assert_string_equal(line, "node 0 (gpu-0), port 9471, has not let this node in for 40 s: "
		"it has another key");
	from_centre(RI_LINK_TAKEN);
	assert_string_equal(line, "node 0 answers, after 40 s");
	assert_int_equal(lines, 4);
}

static void test_a_failure_without_a_centre(void **state)
{
	(void)state;
	ri_member_end(&member, &(struct ri_link_end){ .verdict.class = RI_CLASS_OWN,
		.text = "why\n" });
	ri_member_lose(&member, "Connection refused");
	ri_member_give_up(&member);
	assert_string_equal(line, "node 0 (gpu-0), port 9471, cannot be reached: Connection "
		"refused; what follows is what this node has seen itself");
	/* it is there, and takes no other */
	ri_member_shut_out(&member, "it has another key, or is of another job");
	ri_member_give_up(&member);
	assert_string_equal(line, "node 0 (gpu-0), port 9471, does not let this node in: it has "
		"another key, or is of another job; what follows is what this node has seen "
		"itself");
	from_centre(RI_LINK_LATER);
	ri_member_lose(&member, "lost");
	ri_member_give_up(&member);
	assert_string_equal(line, "node 0 (gpu-0), port 9471, does not let this node in: it still "
		"ends an older attempt; what follows is what this node has seen itself");
	ri_member_lose(&member, "Connection refused");
	ri_member_give_up(&member);
	assert_non_null(strstr(line, " cannot be reached: Connection refused; "));
}

static void test_without_a_key(void **state)
{
	struct ri_link_message told = a_verdict();
	struct ri_link_message news = { .kind = RI_LINK_NEWS, .news = { "waiting\n" } };

	(void)state;
	member.keyed = false;
	from_centre(RI_LINK_TAKEN);
	assert_true(ri_member_hear(&member, &told, now));
	assert_int_equal(judged, 0);
	assert_string_equal(line,
		"without a key, so that anybody may have said it: rank 9 failed first");
	for (size_t i = 0; i < 100; i++)
		assert_true(ri_member_hear(&member, &news, now));
	assert_int_equal(lines, 32);
}

static void test_who_may_not_be_stopped(void **state)
{
	struct ri_link_message told = a_verdict();

	(void)state;
	member.self.may_stop = false;
	from_centre(RI_LINK_TAKEN);
	assert_true(ri_member_hear(&member, &told, now));
	assert_int_equal(judged, 1);
	assert_false(decision.order);
}

static void test_what_no_centre_says(void **state)
{
	(void)state;
	from_centre(RI_LINK_TAKEN);
	assert_false(is_heard(RI_LINK_PHASE));
	assert_false(is_heard(RI_LINK_END));
}

#define MEMBER(test) cmocka_unit_test_setup(test, begin_member)

/* PID 1 is asked by who has the key, before the verdict. The last question has one answer. */
static void test_a_question(void **state)
{
	const struct ri_link_message ask = { .kind = RI_LINK_ASK, .ask.waits = true };
	struct ri_link_message told = a_verdict();

	(void)state;
	assert_false(is_heard(RI_LINK_ASK));
	from_centre(RI_LINK_TAKEN);
	assert_true(is_heard(RI_LINK_ASK));
	ri_member_answer(&member, asked);	/* no verdict waits for it */
	assert_true(ri_member_hear(&member, &ask, now));
	ri_member_answer(&member, 1);
	assert_int_equal(to_centre_count, 0);
	ri_member_answer(&member, 2);
	ri_member_answer(&member, 2);
	assert_true(ri_member_hear(&member, &ask, now));
	ri_member_lose(&member, "connection lost");
	from_centre(RI_LINK_TAKEN);
	ri_member_answer(&member, 3);	/* of another connection */
	assert_int_equal(to_centre_count, 1);
	assert_int_equal(to_centre[0].kind, RI_LINK_ANSWER);
	member.keyed = false;
	assert_true(is_heard(RI_LINK_ASK));
	member.keyed = true;
	assert_true(ri_member_hear(&member, &told, now));
	assert_true(is_heard(RI_LINK_ASK));
	assert_int_equal(asked, 3);
}

static bool hear_look(void)
{
	const struct ri_link_message look = { .kind = RI_LINK_LOOK };

	return ri_member_hear(&member, &look, now);
}

static bool hear_found(int64_t rank, const char *text)
{
	struct ri_link_message told = { .kind = RI_LINK_FOUND, .found = { .rank = rank } };

	snprintf(told.found.text, sizeof(told.found.text), "%s", text);
	return ri_member_hear(&member, &told, now);
}

/* It asks, looks, answers, and hears what was found: each once, also behind a verdict. */
static void test_a_look_of_all_nodes(void **state)
{
	const struct ri_link_groups groups = { "groups 1\n" };
	struct ri_link_message told = a_verdict();

	(void)state;
	ri_member_look(&member, &(struct ri_link_look){ true }, now);
	assert_int_equal(to_centre_count, 0);
	assert_false(ri_member_awaits(&member, now));
	assert_false(hear_look());
	assert_false(hear_found(1, "text\n"));
	from_centre(RI_LINK_TAKEN);
	assert_true(ri_member_hear(&member, &told, now));
	ri_member_look(&member, &(struct ri_link_look){ true }, now);
	assert_int_equal(to_centre[0].kind, RI_LINK_LOOK);
	assert_true(to_centre[0].look.soon);
	assert_true(ri_member_awaits(&member, now + RI_LINK_SOON_MS));
	assert_false(ri_member_awaits(&member, now + RI_LINK_SOON_MS + 1000));
	assert_true(hear_look());
	assert_int_equal(looked, 1);
	assert_true(ri_member_awaits(&member, now + RI_LINK_LOOK_MS));
	ri_member_tell_groups(&member, &groups, now);
	assert_int_equal(to_centre_count, 2);
	assert_int_equal(to_centre[1].kind, RI_LINK_GROUPS);
	assert_string_equal(to_centre[1].groups.text, "groups 1\n");
	assert_true(hear_found(13, "of 64 ranks\n"));
	assert_false(ri_member_awaits(&member, now));
	assert_int_equal(found_count, 1);
	assert_int_equal(found.rank, 13);
	/* there is nothing to tell */
	now += 3000;
	assert_true(hear_look());
	assert_true(hear_found(-1, ""));
	assert_false(ri_member_awaits(&member, now));
	assert_int_equal(found_count, 1);
	/* whoever is gone says nothing more */
	assert_true(hear_look());
	ri_member_lose(&member, "it closed the connection");
	assert_false(ri_member_awaits(&member, now));
	assert_int_equal(lines, 0);
}

/* What PID 1 has seen a moment before it is asked is the answer. */
static void test_groups_that_were_there_before(void **state)
{
	static const struct { const char *text; int64_t age; bool counts; } rows[] = {
		{ "groups 1\n", 0, true }, { "groups 1\n", 2000, true },
		{ "groups 1\n", 2001, false }, { "", 0, false },
	};
	struct ri_link_groups groups;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin_member(state);
		from_centre(RI_LINK_TAKEN);
		strcpy(groups.text, rows[i].text);
		ri_member_tell_groups(&member, &groups, now);
		assert_int_equal(to_centre_count, 0);
		now += rows[i].age;
		assert_true(hear_look());
		assert_int_equal(looked, !rows[i].counts);
		assert_int_equal(to_centre_count, rows[i].counts);
		if (rows[i].counts)
			assert_string_equal(to_centre[0].groups.text, rows[i].text);
		strcpy(groups.text, "");
		ri_member_tell_groups(&member, &groups, now);
		assert_int_equal(to_centre_count, 1);
		assert_int_equal(to_centre[0].kind, RI_LINK_GROUPS);
	}
}

/* Who proves nothing may ask 32 times, and PID 1 hears nothing of what it found. */
static void test_looks_without_a_key(void **state)
{
	(void)state;
	member.keyed = false;
	from_centre(RI_LINK_TAKEN);
	for (size_t i = 0; i < 1000; i++) {
		assert_true(hear_look());
		assert_true(hear_found(13, "it was you\n"));
	}
	assert_int_equal(looked, 32);
	assert_int_equal(lines, 32);
	assert_int_equal(found_count, 0);
	assert_string_equal(line,
		"without a key, so that anybody may have said it: it was you");
	assert_false(ri_member_awaits(&member, now));
}

static bool is_told(enum ri_link_step step, bool goes)
{
	const struct ri_link_message message = { .kind = RI_LINK_GO,
		.go = { .step = step, .go = goes } };

	return ri_member_hear(&member, &message, now);
}

static void vote(enum ri_link_step step, bool goes)
{
	const struct ri_link_go said = { .step = step, .go = goes };

	ri_member_vote(&member, &said);
}

static void test_steps_of_all_nodes(void **state)
{
	(void)state;
	assert_false(is_told(RI_LINK_START, true));
	vote(RI_LINK_START, true);
	assert_int_equal(to_centre_count, 0);
	from_centre(RI_LINK_TAKEN);
	assert_int_equal(to_centre[to_centre_count - 1].kind, RI_LINK_GO);
	assert_true(to_centre[to_centre_count - 1].go.go);
	assert_true(ri_member_waits_for_all(&member, RI_LINK_START));
	/* not of this one, and only once */
	assert_true(is_told(RI_LINK_LEAVE, true));
	assert_int_equal(went, 0);
	assert_true(is_told(RI_LINK_START, true) && is_told(RI_LINK_START, true));
	assert_int_equal(went, 1);
	assert_true(go.go && go.step == RI_LINK_START);
	assert_false(ri_member_waits_for_all(&member, RI_LINK_START));
	/* what has been answered is not said again */
	ri_member_lose(&member, "it closed the connection");
	to_centre_count = 0;
	from_centre(RI_LINK_TAKEN);
	assert_int_equal(to_centre_count, 0);
}

/* The word that all go may cross the one that this node does not: it has to know. */
static void test_a_word_that_is_taken_back(void **state)
{
	(void)state;
	from_centre(RI_LINK_TAKEN);
	vote(RI_LINK_START, false);
	assert_true(is_told(RI_LINK_START, true));
	assert_int_equal(went, 0);	/* of one that it never gave */
	vote(RI_LINK_LEAVE, true);
	vote(RI_LINK_LEAVE, false);
	assert_int_equal(to_centre_count, 3);
	assert_false(to_centre[2].go.go);
	assert_true(ri_member_waits_for_all(&member, RI_LINK_LEAVE));
	assert_true(is_told(RI_LINK_LEAVE, true));
	assert_int_equal(went, 1);
	assert_true(go.go && go.step == RI_LINK_LEAVE);
	assert_false(ri_member_waits_for_all(&member, RI_LINK_LEAVE));
}

static void test_no_step_without_a_key(void **state)
{
	(void)state;
	member.keyed = false;
	from_centre(RI_LINK_TAKEN);
	vote(RI_LINK_START, true);
	assert_true(is_told(RI_LINK_START, true) && is_told(RI_LINK_START, false));
	assert_int_equal(went, 0);
}

/* Not without a secret, and not for a node that was not asked to restart its ranks. */
static void test_a_verdict_of_more(void **state)
{
	(void)state;
	for (int bits = 0; bits < 8; bits++) {
		struct ri_link_message said = { .kind = RI_LINK_VERDICT,
			.decision = { .again = (bits & 1) != 0, .text = "why\n" } };

		begin_member(state);
		member.keyed = (bits & 2) != 0;
		member.self.restarts = (bits & 4) != 0 ? 2 : 0;
		decision.again = false;
		from_centre(RI_LINK_TAKEN);
		assert_true(ri_member_hear(&member, &said, now));
		assert_int_equal(decision.again, bits == 7);
		assert_int_equal(member.again, bits == 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MEMBER(test_a_member_joins),
		MEMBER(test_a_question),
		MEMBER(test_steps_of_all_nodes),
		MEMBER(test_a_word_that_is_taken_back),
		MEMBER(test_no_step_without_a_key),
		MEMBER(test_a_verdict_of_more),
		MEMBER(test_a_look_of_all_nodes),
		MEMBER(test_groups_that_were_there_before),
		MEMBER(test_looks_without_a_key),
		MEMBER(test_a_member_is_bound),
		MEMBER(test_what_was_said_before_there_was_a_centre),
		MEMBER(test_an_end_is_said_again),
		MEMBER(test_a_member_is_sent_away),
		MEMBER(test_a_centre_that_binds_nobody),
		MEMBER(test_a_member_calls_later),
		MEMBER(test_no_centre),
		MEMBER(test_a_failure_without_a_centre),
		MEMBER(test_without_a_key),
		MEMBER(test_who_may_not_be_stopped),
		MEMBER(test_what_no_centre_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
