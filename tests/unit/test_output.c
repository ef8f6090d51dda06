/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/output.h"
#include "thinned.h"

/* Names of logs. */

static const struct ri_pattern_values values = {
	.rank = 13, .local_rank = 5, .node = 1, .host = "node-1",
};

static void assert_expands(const char *pattern, const char *expected)
{
	static struct ri_arena arena;
	struct ri_pattern_use use;

	assert_true(ri_pattern_read(pattern, &use));
	assert_string_equal(ri_pattern_expand(pattern, &values, &arena), expected);
	ri_arena_release(&arena);
}

static void a_name_is_made_of_what_is_known(void **state)
{
	(void)state;
	assert_expands("", "");
	assert_expands("plain.log", "plain.log");
	assert_expands("%r", "13");
	assert_expands("/logs/%h-%n/rank%r_local%l.log", "/logs/node-1-1/rank13_local5.log");
	assert_expands("100%%%r%%", "100%13%");
	assert_expands("%%r", "%r");
	assert_expands("%l%l%l%l%l%l%l%l%l%l", "5555555555");
}

static void a_host_is_no_folder(void **state)
{
	static struct ri_arena arena;
	struct ri_pattern_values odd = { .host = "../etc/x" };

	(void)state;
	assert_string_equal(ri_pattern_expand("/a/%h/b", &odd, &arena), "/a/.._etc_x/b");
	ri_arena_release(&arena);
}

static void what_is_used_is_told(void **state)
{
	struct ri_pattern_use use;

	(void)state;
	assert_true(ri_pattern_read("a%%r", &use));
	assert_true(!use.rank && !use.node && !use.host);
	assert_true(ri_pattern_read("%r", &use) && use.rank);
	assert_true(ri_pattern_read("%l", &use) && use.rank && !use.node);
	assert_true(ri_pattern_read("%n", &use) && use.node && !use.rank);
	assert_true(ri_pattern_read("%h", &use) && use.host && !use.rank);
}

static void anything_else_after_a_percent_sign_is_refused(void **state)
{
	static const char *const patterns[] = {
		"%", "a%", "%x", "%R", "%5r", "%%%", "% r", "%r%d",
	};
	struct ri_pattern_use use;

	(void)state;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		assert_false(ri_pattern_read(patterns[i], &use));
}

/* Lines. */

struct cutter {
	struct ri_lines lines;
	char held[RI_OUTPUT_LINE + 1];
	char out[8 * RI_OUTPUT_LINE];
	size_t length;
};

static struct cutter *make(const char *prefix)
{
	struct cutter *made = calloc(1, sizeof(*made));

	assert_non_null(made);
	made->lines.held = made->held;
	made->lines.prefix_length = strlen(prefix);
	memcpy(made->lines.prefix, prefix, strlen(prefix));
	return made;
}

static void feed(struct cutter *cutter, const char *bytes, size_t length)
{
	size_t added = ri_lines_cut(&cutter->lines, bytes, length, cutter->out + cutter->length);

	assert_true(added <= RI_LINES_ROOM(length, RI_LINES_PREFIX));
	cutter->length += added;
}

static void assert_out(struct cutter *cutter, const char *expected, size_t length)
{
	assert_int_equal(cutter->length, length);
	assert_memory_equal(cutter->out, expected, length);
}

static void a_line_waits_for_its_end(void **state)
{
	struct cutter *cutter = make("[3] ");

	(void)state;
	feed(cutter, "be", 2);
	assert_out(cutter, "", 0);
	feed(cutter, "gin\nnext", 8);
	assert_out(cutter, "[3] begin\n", 10);
	feed(cutter, "\n\n", 2);
	assert_out(cutter, "[3] begin\n[3] next\n[3] \n", 24);
	assert_int_equal(ri_lines_finish(&cutter->lines, cutter->out), 0);
	free(cutter);
}

static void the_last_line_is_completed(void **state)
{
	struct cutter *cutter = make("[0] ");

	(void)state;
	feed(cutter, "a\nb", 3);
	cutter->length += ri_lines_finish(&cutter->lines, cutter->out + cutter->length);
	assert_out(cutter, "[0] a\n[0] b\n", 12);
	free(cutter);
}

/* A bar of progress is there while it grows; "\r\n" is one end. */
static void a_return_ends_a_line(void **state)
{
	static const char bar[] = "\r 10%\r 20%\r\n100%\r\nnext\r\r\nno end\r";
	static const char expected[] = "\r[0]  10%\r[0]  20%\r\n[0] 100%\r\n[0] next\r[0] \r\n"
		"[0] no end\r\n";
	const size_t length = sizeof(bar) - 1;
	struct cutter *cutter = make("[0] ");

	(void)state;
	feed(cutter, bar, 10);
	assert_out(cutter, "\r[0]  10%\r", 10);
	free(cutter);
	/* in whatever pieces it comes */
	for (size_t first = 0; first <= length; first++)
		for (size_t second = first; second <= length; second++) {
			cutter = make("[0] ");
			feed(cutter, bar, first);
			feed(cutter, bar + first, second - first);
			feed(cutter, bar + second, length - second);
			cutter->length += ri_lines_finish(&cutter->lines,
				cutter->out + cutter->length);
			assert_out(cutter, expected, sizeof(expected) - 1);
			free(cutter);
		}
}

/* Behind a line that was cut, and where blocks of sixteen bytes end. */
static void a_return_at_any_place(void **state)
{
	struct cutter *cutter;
	char line[80];

	(void)state;
	for (size_t at = 1; at < 40; at++) {
		memset(line, 'x', sizeof(line));
		line[at] = '\r';
		line[at + 20] = '\n';
		cutter = make("[7] ");
		feed(cutter, line, at + 1);
		assert_int_equal(cutter->length, 0);
		feed(cutter, line + at + 1, 20);
		assert_int_equal(cutter->length, at + 21 + 8);
		assert_memory_equal(cutter->out + 4 + at, "\r[7] x", 6);
		free(cutter);
	}
}

static void every_other_byte_is_kept(void **state)
{
	static const char odd[] = "\0\r\xff\xc3\x1b[1m\0\n";
	struct cutter *cutter = make("");

	(void)state;
	feed(cutter, odd, sizeof(odd) - 1);
	assert_out(cutter, odd, sizeof(odd) - 1);
	free(cutter);
}

/* A line of this many bytes, the last two of them an accented letter where that is asked for. */
static char *make_line(size_t length, bool accent)
{
	char *line = malloc(length + 1);

	assert_non_null(line);
	memset(line, 'x', length);
	if (accent)
		memcpy(line + length - 2, "\xc3\xa9", 2);
	line[length] = '\n';
	return line;
}

static void a_line_of_the_full_size_is_whole(void **state)
{
	struct cutter *cutter = make("[1] ");
	char *line = make_line(RI_OUTPUT_LINE, false);

	(void)state;
	feed(cutter, line, RI_OUTPUT_LINE);
	assert_int_equal(cutter->length, 0);
	feed(cutter, "\n", 1);
	assert_int_equal(cutter->length, RI_OUTPUT_LINE + 5);
	assert_memory_equal(cutter->out, "[1] ", 4);
	assert_memory_equal(cutter->out + 4, line, RI_OUTPUT_LINE + 1);
	free(line);
	free(cutter);
}

static void a_longer_one_goes_out_in_marked_pieces(void **state)
{
	struct cutter *cutter = make("[1] ");
	char *line = make_line(RI_OUTPUT_LINE + 1, false);

	(void)state;
	feed(cutter, line, RI_OUTPUT_LINE + 2);
	feed(cutter, "short\n", 6);
	assert_int_equal(cutter->length, 4 + RI_OUTPUT_LINE + 1 + 6 + 10);
	assert_memory_equal(cutter->out + 4 + RI_OUTPUT_LINE, "\n[1]+x\n[1] short\n", 17);
	free(line);
	free(cutter);
}

static void a_piece_ends_with_a_whole_character(void **state)
{
	struct cutter *cutter = make("[1] ");
	char *line = make_line(RI_OUTPUT_LINE + 1, true);

	(void)state;
	feed(cutter, line, RI_OUTPUT_LINE + 2);
	assert_memory_equal(cutter->out + 4 + RI_OUTPUT_LINE - 1, "\n[1]+\xc3\xa9\n", 8);
	free(line);
	free(cutter);
}

/* The end of stderr. */

static void a_short_end_is_kept_whole(void **state)
{
	static char room[RI_TAIL_ROOM];
	struct ri_tail tail = { .bytes = room };
	struct ri_tail_text text;

	(void)state;
	assert_int_equal(ri_tail_read(&tail).length, 0);
	ri_tail_add(&tail, "abc", 3);
	ri_tail_add(&tail, "def", 3);
	text = ri_tail_read(&tail);
	assert_memory_equal(text.bytes, "abcdef", 6);
	assert_int_equal(text.length, 6);
	assert_int_equal(text.head, 0);
	assert_false(text.cut);
}

static void of_more_the_last_bytes_are_kept(void **state)
{
	static char room[RI_TAIL_ROOM], all[3 * RI_OUTPUT_TAIL];
	static const size_t steps[] = { 1, 7, 4096, 65535, 65536, 65537, 100000, 2 * 65536 + 3 };

	(void)state;
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (char)(i * 2654435761u >> 24);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct ri_tail tail = { .bytes = room };
		struct ri_tail_text text;
		size_t at = 0;

		for (; at + steps[i] <= sizeof(all); at += steps[i]) {
			ri_tail_add(&tail, all + at, steps[i]);
			/* to look at it changes nothing */
			if (at < 8 * steps[i] || at / steps[i] % 997 == 0)
				ri_tail_read(&tail);
		}
		text = ri_tail_read(&tail);
		assert_memory_equal(text.bytes, all + at - text.length, text.length);
		assert_int_equal(text.length, at < RI_OUTPUT_TAIL ? at : RI_OUTPUT_TAIL);
		assert_int_equal(text.cut, at > RI_OUTPUT_TAIL);
		assert_int_equal(text.head, 0);
	}
}

#define FIRST "[rank0]: " RI_TRACEBACK "\n  File \"a.py\", line 1, in f\nValueError: "

/* As the pump does it: in pieces of this size, and looked at after every so many of them. */
static struct ri_tail_text remember(struct ri_tail *tail, const char *bytes, size_t length,
	size_t step, size_t looks)
{
	struct ri_watch watch = { .matched = 0 };
	size_t part, taken, count = 0;
	bool found;

	for (; length > 0; bytes += part, length -= part) {
		part = length < step ? length : step;
		for (taken = 0; taken < part;) {
			size_t more = ri_watch_add(&watch, RI_TRACEBACK, bytes + taken,
				part - taken, &found);

			ri_tail_add(tail, bytes + taken, more);
			if (found)
				ri_tail_mark(tail);
			taken += more;
		}
		if (count++ % looks == 0)
			ri_tail_read(tail);
	}
	return ri_tail_read(tail);
}

/*
 * However long the message is: of one line, of many, and with lines before and after. Below
 * valgrind it is looked at as rarely as that which comes byte by byte.
 */
static void a_long_traceback_keeps_its_beginning(void **state)
{
	static const size_t steps[] = { 1, 37, 4096, 65536, 131072, 500000 };
	static char room[RI_TAIL_ROOM], all[500000];
	const size_t before = 70000, begin = before + 1, end = sizeof(all) - 5;

	(void)state;
	for (int lines = 0; lines < 2; lines++) {
		memset(all, 'x', sizeof(all));
		for (size_t i = begin + 200; lines > 0 && i < end; i += 100)
			all[i] = '\n';
		all[before] = '\n';
		memcpy(all + begin, FIRST, sizeof(FIRST) - 1);
		memcpy(all + end, "\nend\n", 5);
		for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
			struct ri_tail tail = { .bytes = room };
			struct ri_tail_text text = remember(&tail, all, sizeof(all), steps[i],
				steps[i] == 1 ? 50000 : thinned(1, 1000));

			assert_int_equal(text.head, RI_OUTPUT_HEAD);
			assert_memory_equal(text.bytes, all + begin, RI_OUTPUT_HEAD);
			assert_false(text.cut);
			assert_in_range(text.length, text.head + 5, RI_OUTPUT_TAIL);
			assert_int_equal(text.bytes[text.head], '\n');
			assert_memory_equal(text.bytes + text.head, all + sizeof(all) -
				(text.length - text.head), text.length - text.head);
			/* of many lines more than the last one is left */
			assert_int_equal(text.length > text.head + 30000, lines > 0);
		}
	}
}

/* A chain begins with its first one; a later one begins anew. */
static void of_two_tracebacks_the_last_counts_unless_it_follows_at_once(void **state)
{
	static const char first[] = FIRST "1\n\n", second[] = FIRST "2\n";
	static char room[RI_TAIL_ROOM], all[400000];
	struct ri_tail tail = { .bytes = room };
	struct ri_tail_text text;

	(void)state;
	memset(all, '\n', sizeof(all));
	memcpy(all, first, sizeof(first) - 1);
	memcpy(all + sizeof(first) - 1, second, sizeof(second) - 1);
	text = remember(&tail, all, 200000, 4096, 1);
	assert_int_equal(text.head, RI_OUTPUT_HEAD);
	assert_memory_equal(text.bytes, all, RI_OUTPUT_HEAD);
	memcpy(all + 100000, second, sizeof(second) - 1);
	tail = (struct ri_tail){ .bytes = room };
	text = remember(&tail, all, 400000, 4096, 1);
	assert_memory_equal(text.bytes, all + 100000, RI_OUTPUT_HEAD);
	/* the control: it is still in the ring */
	tail = (struct ri_tail){ .bytes = room };
	text = remember(&tail, all, 110000, 4096, 1);
	assert_int_equal(text.head, 0);
}

#define BETWEEN(text_, from, to, bytes_) \
	do { \
		struct ri_tail_text part_ = ri_tail_between(text_, from, to); \
		assert_int_equal(part_.length, strlen(bytes_)); \
		assert_memory_equal(part_.bytes, bytes_, part_.length); \
	} while (0)

static void a_part_of_what_is_remembered(void **state)
{
	static char room[RI_TAIL_ROOM], all[200000];
	struct ri_tail tail = { .bytes = room };
	struct ri_tail_text text, part;

	(void)state;
	ri_tail_add(&tail, "abcdef", 6);
	text = ri_tail_read(&tail);
	BETWEEN(text, 0, UINT64_MAX, "abcdef");
	BETWEEN(text, 2, UINT64_MAX, "cdef");
	BETWEEN(text, 0, 4, "abcd");
	BETWEEN(text, 2, 4, "cd");
	BETWEEN(text, 6, UINT64_MAX, "");
	BETWEEN(text, 9, UINT64_MAX, "");
	BETWEEN(text, 0, 0, "");
	BETWEEN(text, 4, 2, "");
	part = ri_tail_between((struct ri_tail_text){ .bytes = NULL }, 3, UINT64_MAX);
	assert_null(part.bytes);
	/* what is gone from the ring, and a head of an earlier part */
	memset(all, 'x', sizeof(all));
	memcpy(all + 1000, "\n" FIRST, sizeof(FIRST));
	memcpy(all + sizeof(all) - 9, "\nend\nlast", 9);
	tail = (struct ri_tail){ .bytes = room };
	text = remember(&tail, all, sizeof(all), 4096, 1);
	assert_int_equal(text.head, RI_OUTPUT_HEAD);
	part = ri_tail_between(text, 1001, UINT64_MAX);
	assert_int_equal(part.head, RI_OUTPUT_HEAD);
	assert_int_equal(part.length, text.length);
	part = ri_tail_between(text, 1001, sizeof(all) - 4);
	assert_int_equal(part.length, text.length - 4);
	BETWEEN(text, sizeof(all) - 4, UINT64_MAX, "last");
	part = ri_tail_between(text, 2000, UINT64_MAX);
	assert_int_equal(part.head, 0);
	assert_int_equal(part.length, text.length - text.head);
	/* the control: nothing of a text is lost that began before */
	tail = (struct ri_tail){ .bytes = room };
	ri_tail_add(&tail, all + 2000, sizeof(all) - 2000);
	part = ri_tail_between(ri_tail_read(&tail), 10, UINT64_MAX);
	assert_true(part.cut);
	assert_int_equal(part.length, RI_OUTPUT_TAIL);
}

static bool sees(const char *text)
{
	struct ri_watch whole = { .matched = 0 }, single = { .matched = 0 };
	bool found, once, again = false;

	ri_watch_add(&whole, RI_TRACEBACK, text, strlen(text), &found);
	for (const char *p = text; *p != '\0'; p++) {
		assert_int_equal(ri_watch_add(&single, RI_TRACEBACK, p, 1, &once), 1);
		again = again || once;
	}
	assert_true(found == again);
	return found;
}

static void a_traceback_is_seen_wherever_it_begins(void **state)
{
	(void)state;
	assert_true(sees("Traceback (most recent call last):\n"));
	assert_true(sees("Traceback (most recent call last):"));
	assert_true(sees("x\n\nTraceback (most recent call last):\r\n  File"));
	assert_true(sees("[rank12]: Traceback (most recent call last):\n"));
	assert_true(sees("\r 30%|###| 3/10 [0<1, 4.14it/s]Traceback (most recent call last):\n"));
	assert_true(sees("2026-01-01 ERROR Traceback (most recent call last):\n"));
	assert_true(sees("TracebackTraceback (most recent call last):\n"));
	assert_false(sees("Traceback (most recent call Traceback"));
	assert_false(sees("Traceback (most recent call last)\n:"));
	assert_false(sees("[rank"));
	assert_false(sees("[rank]"));
	assert_false(sees(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_made_of_what_is_known),
		cmocka_unit_test(a_host_is_no_folder),
		cmocka_unit_test(what_is_used_is_told),
		cmocka_unit_test(anything_else_after_a_percent_sign_is_refused),
		cmocka_unit_test(a_line_waits_for_its_end),
		cmocka_unit_test(the_last_line_is_completed),
		cmocka_unit_test(a_return_ends_a_line),
		cmocka_unit_test(a_return_at_any_place),
		cmocka_unit_test(every_other_byte_is_kept),
		cmocka_unit_test(a_line_of_the_full_size_is_whole),
		cmocka_unit_test(a_longer_one_goes_out_in_marked_pieces),
		cmocka_unit_test(a_piece_ends_with_a_whole_character),
		cmocka_unit_test(a_short_end_is_kept_whole),
		cmocka_unit_test(of_more_the_last_bytes_are_kept),
		cmocka_unit_test(a_long_traceback_keeps_its_beginning),
		cmocka_unit_test(of_two_tracebacks_the_last_counts_unless_it_follows_at_once),
		cmocka_unit_test(a_part_of_what_is_remembered),
		cmocka_unit_test(a_traceback_is_seen_wherever_it_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
