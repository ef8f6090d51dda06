/* SPDX-License-Identifier: Apache-2.0 */
/* The packets between PID 1 and its helper: PID 1 takes nothing of them on trust. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "link/message.h"

static struct ri_link_message read;

static bool is_packet(void)
{
	return ri_link_packet_check(&read, sizeof(read));
}

static void round_trip(const struct ri_link_message *message)
{
	read = *message;
	assert_true(is_packet());
	assert_int_equal(read.kind, message->kind);
}

static void test_what_is_written_reads_the_same(void **state)
{
	(void)state;
	for (int phase = RI_LINK_STARTING; phase <= RI_LINK_LEAVING; phase++) {
		round_trip(&(struct ri_link_message){ .kind = RI_LINK_PHASE,
			.phase = (enum ri_link_phase)phase });
		assert_int_equal(read.phase, phase);
	}
	for (int class = RI_CLASS_NONE; class <= RI_CLASS_OWN; class++) {
		round_trip(&(struct ri_link_message){ .kind = RI_LINK_END, .end = {
			.verdict.class = (enum ri_class)class, .fatal = class % 2 == 1,
			.at_us = 1769860800000000, .verdict.mark = 7,
			.verdict.why = { RI_CAUSE_XID, RI_RETRY_NEVER }, .verdict.rank = class - 1,
			.text = "why\n" } });
		assert_int_equal(read.end.verdict.class, class);
		assert_int_equal(read.end.fatal, class % 2 == 1);
		assert_int_equal(read.end.at_us, 1769860800000000);
		assert_int_equal(read.end.verdict.mark, 7);
		assert_int_equal(read.end.verdict.why.cause, RI_CAUSE_XID);
		assert_int_equal(read.end.verdict.why.retry, RI_RETRY_NEVER);
		assert_int_equal(read.end.verdict.rank, class - 1);
		assert_string_equal(read.end.text, "why\n");
	}
	round_trip(&(struct ri_link_message){ .kind = RI_LINK_HEARD });
	for (int waits = 0; waits < 2; waits++) {
		round_trip(&(struct ri_link_message){ .kind = RI_LINK_ASK,
			.ask = { waits != 0, 7 } });
		assert_int_equal(read.ask.waits, waits != 0);
		assert_int_equal(read.ask.number, 7);
	}
	round_trip(&(struct ri_link_message){ .kind = RI_LINK_ANSWER, .answers = 7 });
	assert_int_equal(read.answers, 7);
}

static void test_verdicts(void **state)
{
	(void)state;
	for (int bits = 0; bits < 8; bits++) {
		round_trip(&(struct ri_link_message){ .kind = RI_LINK_VERDICT, .decision = {
			.verdict = { .why = { RI_CAUSE_XID, RI_RETRY_NEVER },
				.class = RI_CLASS_STOPPED, .rank = bits - 1,
				.node = (bits & 2) != 0 ? 1048575 : -1, .mark = RI_VERDICT_MARK,
				.host = "gpu-0514" },
			.order = (bits & 1) != 0, .again = (bits & 4) != 0,
			.text = "rank 9 failed first\n" } });
		assert_int_equal(read.decision.verdict.node, (bits & 2) != 0 ? 1048575 : -1);
		assert_int_equal(read.decision.verdict.class, RI_CLASS_STOPPED);
		assert_int_equal(read.decision.order, (bits & 1) != 0);
		assert_int_equal(read.decision.again, (bits & 4) != 0);
		assert_int_equal(read.decision.verdict.mark, RI_VERDICT_MARK);
		assert_int_equal(read.decision.verdict.why.cause, RI_CAUSE_XID);
		assert_int_equal(read.decision.verdict.why.retry, RI_RETRY_NEVER);
		assert_int_equal(read.decision.verdict.rank, bits - 1);
		assert_string_equal(read.decision.verdict.host, "gpu-0514");
		assert_string_equal(read.decision.text, "rank 9 failed first\n");
	}
}

/* The helper speaks with the network. */
static void test_a_cause_that_is_none(void **state)
{
	(void)state;
	read = (struct ri_link_message){ .kind = RI_LINK_END };
	read.end.verdict.why.cause = RI_CAUSE_COUNT - 1;
	assert_true(is_packet());
	read.end.verdict.why.cause = RI_CAUSE_COUNT;
	assert_false(is_packet());
	read.end.verdict.why = (struct ri_why){ .retry = RI_RETRY_COUNT };
	assert_false(is_packet());
	read.end.verdict.why.retry = 0;
	read.end.verdict.rank = -2;
	assert_false(is_packet());
	read.end.verdict.rank = -1;
	assert_true(is_packet());
	memset(&read.end.fatal, 2, 1);
	assert_false(is_packet());
}

static void test_hosts(void **state)
{
	(void)state;
	read = (struct ri_link_message){ .kind = RI_LINK_VERDICT };
	memcpy(read.decision.verdict.host, "a\033b\n", 5);
	assert_true(is_packet());
	assert_string_equal(read.decision.verdict.host, "a?b?");
	memset(read.decision.verdict.host, 'h', sizeof(read.decision.verdict.host));
	assert_false(is_packet());
}

static void test_a_look_of_all_nodes(void **state)
{
	static struct ri_link_message groups = { .kind = RI_LINK_GROUPS };
	char *text = groups.groups.text;

	(void)state;
	for (int soon = 0; soon < 2; soon++) {
		round_trip(&(struct ri_link_message){ .kind = RI_LINK_LOOK,
			.look = { soon != 0 } });
		assert_int_equal(read.look.soon, soon != 0);
	}
	memset(text, 'x', sizeof(groups.groups.text) - 1);
	text[sizeof(groups.groups.text) - 2] = '\n';
	round_trip(&groups);
	assert_string_equal(read.groups.text, text);
	round_trip(&(struct ri_link_message){ .kind = RI_LINK_FOUND, .found = { .rank = 13,
		.node = 1048575, .text = "of 64 ranks 63 wait\n" } });
	assert_int_equal(read.found.rank, 13);
	assert_int_equal(read.found.node, 1048575);
	assert_string_equal(read.found.text, "of 64 ranks 63 wait\n");
	for (int64_t rank = -2; rank <= 1048576; rank += 1048576 + 2) {
		read.found.rank = rank;
		assert_false(is_packet());
	}
	read.found.rank = -1;
	assert_true(is_packet());
	read.found.node = 1048576;
	assert_false(is_packet());
}

static void test_steps(void **state)
{
	(void)state;
	for (int bits = 0; bits < 4; bits++) {
		round_trip(&(struct ri_link_message){ .kind = RI_LINK_GO, .go = {
			.step = (enum ri_link_step)(bits & 1), .go = (bits & 2) != 0,
			.text = "why not\n" } });
		assert_int_equal(read.go.step, bits & 1);
		assert_int_equal(read.go.go, (bits & 2) != 0);
		assert_string_equal(read.go.text, "why not\n");
	}
	read.go.step = (enum ri_link_step)(RI_LINK_LEAVE + 1);
	assert_false(is_packet());
}

static void test_packets_that_are_none(void **state)
{
	(void)state;
	round_trip(&(struct ri_link_message){ .kind = RI_LINK_END, .end = { .text = "why\n" } });
	assert_false(ri_link_packet_check(&read, sizeof(read) - 1));
	assert_false(ri_link_packet_check(&read, sizeof(read) + 1));
	assert_false(ri_link_packet_check(&read, 0));
	memset(&read, 0, sizeof(read));
	for (int kind = -1; kind < 256; kind++) {
		read.kind = (enum ri_link_kind)kind;
		assert_int_equal(is_packet(), kind >= RI_LINK_HELLO && kind <= RI_LINK_GO &&
			kind != RI_LINK_HELLO && kind != RI_LINK_NEWS);
	}
	read.kind = RI_LINK_END;
	read.end.verdict.class = (enum ri_class)(RI_CLASS_OWN + 1);
	assert_false(is_packet());
	read.end.verdict.class = RI_CLASS_STOPPED;
	read.end.verdict.mark = RI_VERDICT_MARK + UINT64_C(1);
	assert_false(is_packet());
	read.end.verdict.mark = 0;
	read.end.at_us = RI_LINK_CLOCK + 1;
	assert_false(is_packet());
	read.end.at_us = RI_LINK_CLOCK;
	assert_true(is_packet());
	read.kind = RI_LINK_PHASE;
	read.phase = (enum ri_link_phase)(RI_LINK_LEAVING + 1);
	assert_false(is_packet());
	/* a text without an end */
	read = (struct ri_link_message){ .kind = RI_LINK_VERDICT };
	assert_true(is_packet());
	memset(read.decision.text, 'x', sizeof(read.decision.text));
	assert_false(is_packet());
}

static void test_texts_cannot_command_a_terminal(void **state)
{
	(void)state;
	read = (struct ri_link_message){ .kind = RI_LINK_VERDICT };
	strcpy(read.decision.text, "a\033[2Jb\nc\377");
	assert_true(is_packet());
	assert_string_equal(read.decision.text, "a?[2Jb\nc?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_written_reads_the_same),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_a_cause_that_is_none),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_a_look_of_all_nodes),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_packets_that_are_none),
		cmocka_unit_test(test_texts_cannot_command_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
