/* SPDX-License-Identifier: Apache-2.0 */
/* The packets between PID 1 and its helper: PID 1 takes nothing of them on trust. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "link/note.h"

static struct ri_link_note note;
static struct ri_link_message read;

static void round_trip(const struct ri_link_message *message)
{
	memset(&note, 0xa5, sizeof(note));
	memset(&read, 0xa5, sizeof(read));
	ri_link_note_make(&note, message);
	assert_true(ri_link_note_read(&read, &note, sizeof(note)));
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
	for (int class = RI_LINK_DONE; class <= RI_LINK_STOPPED; class++) {
		round_trip(&(struct ri_link_message){ .kind = RI_LINK_END, .end = {
			.class = (enum ri_link_class)class, .fatal = class % 2 == 1,
			.at_us = 1769860800000000, .mark = 7,
			.why = { RI_CAUSE_XID, RI_RETRY_NEVER }, .rank = class - 1,
			.text = "why\n" } });
		assert_int_equal(read.end.class, class);
		assert_int_equal(read.end.fatal, class % 2 == 1);
		assert_int_equal(read.end.at_us, 1769860800000000);
		assert_int_equal(read.end.mark, 7);
		assert_int_equal(read.end.why.cause, RI_CAUSE_XID);
		assert_int_equal(read.end.why.retry, RI_RETRY_NEVER);
		assert_int_equal(read.end.rank, class - 1);
		assert_string_equal(read.end.text, "why\n");
	}
	round_trip(&(struct ri_link_message){ .kind = RI_LINK_HEARD });
	round_trip(&(struct ri_link_message){ .kind = RI_LINK_ASK });
}

static void test_verdicts(void **state)
{
	(void)state;
	for (int bits = 0; bits < 8; bits++) {
		round_trip(&(struct ri_link_message){ .kind = RI_LINK_VERDICT, .verdict = {
			.node = 1048575, .class = RI_LINK_STOPPED,
			.order = (bits & 1) != 0, .named = (bits & 2) != 0,
			.again = (bits & 4) != 0, .mark = RI_LINK_MARK,
			.why = { RI_CAUSE_XID, RI_RETRY_NEVER }, .rank = bits - 1,
			.host = "gpu-0514", .text = "rank 9 failed first\n" } });
		assert_int_equal(read.verdict.node, 1048575);
		assert_int_equal(read.verdict.class, RI_LINK_STOPPED);
		assert_int_equal(read.verdict.order, (bits & 1) != 0);
		assert_int_equal(read.verdict.named, (bits & 2) != 0);
		assert_int_equal(read.verdict.again, (bits & 4) != 0);
		assert_int_equal(read.verdict.mark, RI_LINK_MARK);
		assert_int_equal(read.verdict.why.cause, RI_CAUSE_XID);
		assert_int_equal(read.verdict.why.retry, RI_RETRY_NEVER);
		assert_int_equal(read.verdict.rank, bits - 1);
		assert_string_equal(read.verdict.host, "gpu-0514");
		assert_string_equal(read.verdict.text, "rank 9 failed first\n");
	}
}

/* The helper speaks with the network. */
static void test_a_cause_that_is_none(void **state)
{
	static const enum ri_link_kind kinds[] = { RI_LINK_END, RI_LINK_VERDICT };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		ri_link_note_make(&note, &(struct ri_link_message){ .kind = kinds[i] });
		note.cause = RI_CAUSE_COUNT - 1;
		assert_true(ri_link_note_read(&read, &note, sizeof(note)));
		note.cause = RI_CAUSE_COUNT;
		assert_false(ri_link_note_read(&read, &note, sizeof(note)));
		note.cause = 0;
		note.rank = -2;
		assert_false(ri_link_note_read(&read, &note, sizeof(note)));
		note.rank = -1;
		memcpy(note.host, "a\033b", 4);
		assert_true(ri_link_note_read(&read, &note, sizeof(note)));
		memset(note.host, 'h', sizeof(note.host));
		assert_false(ri_link_note_read(&read, &note, sizeof(note)));
	}
	ri_link_note_make(&note, &(struct ri_link_message){ .kind = RI_LINK_VERDICT });
	memcpy(note.host, "a\033b", 4);
	assert_true(ri_link_note_read(&read, &note, sizeof(note)));
	assert_string_equal(read.verdict.host, "a?b");
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
		note.rank = rank;
		assert_false(ri_link_note_read(&read, &note, sizeof(note)));
	}
	note.rank = -1;
	assert_true(ri_link_note_read(&read, &note, sizeof(note)));
	note.node = 1048576;
	assert_false(ri_link_note_read(&read, &note, sizeof(note)));
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
	note.word = RI_LINK_LEAVE + 1;
	assert_false(ri_link_note_read(&read, &note, sizeof(note)));
}

static void test_packets_that_are_none(void **state)
{
	const struct ri_link_message end = { .kind = RI_LINK_END, .end = { .text = "why\n" } };

	(void)state;
	round_trip(&end);
	assert_false(ri_link_note_read(&read, &note, sizeof(note) - 1));
	assert_false(ri_link_note_read(&read, &note, sizeof(note) + 1));
	assert_false(ri_link_note_read(&read, &note, 0));
	for (int kind = 0; kind < 256; kind++) {
		bool good = kind == RI_LINK_PHASE || kind == RI_LINK_END ||
			kind == RI_LINK_HEARD || kind == RI_LINK_VERDICT ||
			kind == RI_LINK_ASK || kind == RI_LINK_LOOK ||
			kind == RI_LINK_GROUPS || kind == RI_LINK_FOUND || kind == RI_LINK_GO;

		note.kind = (unsigned char)kind;
		assert_int_equal(ri_link_note_read(&read, &note, sizeof(note)), good);
	}
	note.kind = RI_LINK_END;
	note.word = RI_LINK_STOPPED + 1;
	assert_false(ri_link_note_read(&read, &note, sizeof(note)));
	note.kind = RI_LINK_VERDICT;
	assert_false(ri_link_note_read(&read, &note, sizeof(note)));
	note.word = RI_LINK_STOPPED;
	note.mark = RI_LINK_MARK + UINT64_C(1);
	assert_false(ri_link_note_read(&read, &note, sizeof(note)));
	note.kind = RI_LINK_PHASE;
	assert_false(ri_link_note_read(&read, &note, sizeof(note)));
	note.mark = 0;
	note.word = RI_LINK_LEAVING;
	assert_true(ri_link_note_read(&read, &note, sizeof(note)));
	/* a text without an end */
	note.kind = RI_LINK_VERDICT;
	memset(note.text, 'x', sizeof(note.text));
	assert_false(ri_link_note_read(&read, &note, sizeof(note)));
}

static void test_texts_cannot_command_a_terminal(void **state)
{
	(void)state;
	memset(&note, 0, sizeof(note));
	note.kind = RI_LINK_VERDICT;
	strcpy(note.text, "a\033[2Jb\nc\377");
	assert_true(ri_link_note_read(&read, &note, sizeof(note)));
	assert_string_equal(read.verdict.text, "a?[2Jb\nc?\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_written_reads_the_same),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_a_cause_that_is_none),
		cmocka_unit_test(test_a_look_of_all_nodes),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_packets_that_are_none),
		cmocka_unit_test(test_texts_cannot_command_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
