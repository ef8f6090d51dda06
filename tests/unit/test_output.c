/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/lines.h"
#include "output/pattern.h"
#include "output/tail.h"

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
	static char ring[RI_OUTPUT_TAIL];
	struct ri_tail tail = { .bytes = ring };
	size_t length;

	(void)state;
	ri_tail_read(&tail, &length);
	assert_int_equal(length, 0);
	ri_tail_add(&tail, "abc", 3);
	ri_tail_add(&tail, "def", 3);
	assert_memory_equal(ri_tail_read(&tail, &length), "abcdef", 6);
	assert_int_equal(length, 6);
}

static void of_more_the_last_bytes_are_kept(void **state)
{
	static char ring[RI_OUTPUT_TAIL], all[3 * RI_OUTPUT_TAIL];
	static const size_t steps[] = { 1, 7, 4096, 65535, 65536, 65537, 100000, 2 * 65536 + 3 };

	(void)state;
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (char)(i * 2654435761u >> 24);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct ri_tail tail = { .bytes = ring };
		const char *kept;
		size_t at = 0, length;

		for (; at + steps[i] <= sizeof(all); at += steps[i]) {
			ri_tail_add(&tail, all + at, steps[i]);
			/* to look at it changes nothing */
			if (at < 8 * steps[i] || at / steps[i] % 997 == 0)
				ri_tail_read(&tail, &length);
		}
		kept = ri_tail_read(&tail, &length);
		assert_memory_equal(kept, all + at - length, length);
		assert_int_equal(length, at < RI_OUTPUT_TAIL ? at : RI_OUTPUT_TAIL);
	}
}

static bool sees(const char *text)
{
	struct ri_watch whole = { .matched = 0 }, single = { .matched = 0 };
	bool found = ri_watch_add(&whole, text, strlen(text)), again = false;

	for (const char *p = text; *p != '\0'; p++)
		again = ri_watch_add(&single, p, 1) || again;
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
		cmocka_unit_test(every_other_byte_is_kept),
		cmocka_unit_test(a_line_of_the_full_size_is_whole),
		cmocka_unit_test(a_longer_one_goes_out_in_marked_pieces),
		cmocka_unit_test(a_piece_ends_with_a_whole_character),
		cmocka_unit_test(a_short_end_is_kept_whole),
		cmocka_unit_test(of_more_the_last_bytes_are_kept),
		cmocka_unit_test(a_traceback_is_seen_wherever_it_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
