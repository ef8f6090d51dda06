/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void quoted(const char *value, const char *expected)
{
	char buffer[RI_QUOTE_SIZE];

	assert_ptr_equal(ri_quote(buffer, sizeof(buffer), value), buffer);
	assert_string_equal(buffer, expected);
}

static void test_builder(void **state)
{
	char buffer[16] = "garbage";
	struct ri_text text;

	(void)state;
	text = ri_text_of(buffer, sizeof(buffer));
	assert_string_equal(buffer, "");
	ri_text_add(&text, "ab");
	ri_text_add_bytes(&text, "cdef", 2);
	ri_text_addf(&text, "%d", 42);
	ri_text_add(&text, "");
	ri_text_addf(&text, "%s", "");
	assert_string_equal(buffer, "abcd42");
	assert_int_equal(text.length, 6);
	assert_false(text.cut);
}

static void test_builder_cuts(void **state)
{
	char buffer[5];
	struct ri_text text;

	(void)state;
	text = ri_text_of(buffer, sizeof(buffer));
	ri_text_add(&text, "abcd");
	assert_false(text.cut);
	ri_text_add(&text, "e");
	assert_true(text.cut);
	assert_string_equal(buffer, "abcd");
	ri_text_addf(&text, "%s", "more");
	assert_string_equal(buffer, "abcd");
	assert_int_equal(text.length, 4);

	text = ri_text_of(buffer, sizeof(buffer));
	ri_text_addf(&text, "%s", "abcd");
	assert_false(text.cut);
	text = ri_text_of(buffer, sizeof(buffer));
	ri_text_addf(&text, "%s", "abcdefgh");
	assert_true(text.cut);
	assert_string_equal(buffer, "abcd");
	ri_text_add_bytes(&text, "x", 1);
	assert_string_equal(buffer, "abcd");
}

static void test_builder_of_one_byte(void **state)
{
	char buffer[2] = { 'x', 'y' };
	struct ri_text text;

	(void)state;
	text = ri_text_of(buffer, 1);
	ri_text_addf(&text, "%s", "");
	ri_text_add(&text, "");
	assert_false(text.cut);
	ri_text_add(&text, "a");
	ri_text_addf(&text, "%d", 1);
	ri_text_add_quoted(&text, "v");
	assert_true(text.cut);
	assert_int_equal(text.length, 0);
	assert_int_equal(buffer[0], '\0');
	assert_int_equal(buffer[1], 'y');
}

static void test_copy(void **state)
{
	char buffer[4];

	(void)state;
	ri_text_copy(buffer, sizeof(buffer), "abc");
	assert_string_equal(buffer, "abc");
	ri_text_copy(buffer, sizeof(buffer), "abcd");
	assert_string_equal(buffer, "abc");
	ri_text_copy(buffer, sizeof(buffer), "");
	assert_string_equal(buffer, "");
	memset(buffer, 'x', sizeof(buffer));
	ri_text_copy(buffer, sizeof(buffer), NULL);
	assert_string_equal(buffer, "");
	ri_text_copy(buffer, 1, "abc");
	assert_string_equal(buffer, "");
}

static void test_quote_plain(void **state)
{
	(void)state;
	quoted("", "\"\"");
	quoted("node-1.example", "\"node-1.example\"");
	quoted(" ~", "\" ~\"");
	quoted("gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\"");
	quoted("\xe2\x82\xac \xf0\x9f\x9a\x80", "\"\xe2\x82\xac \xf0\x9f\x9a\x80\"");
	quoted("\xc2\xa0", "\"\xc2\xa0\"");
}

static void test_quote_controls(void **state)
{
	(void)state;
	quoted("a\nb\tc\rd", "\"a\\nb\\tc\\rd\"");
	quoted("\x1b[31m\x07", "\"\\x1b[31m\\x07\"");
	quoted("\x01\x1f\x7f", "\"\\x01\\x1f\\x7f\"");
	quoted("say \"x\\y\"", "\"say \\\"x\\\\y\\\"\"");
	/* C1: U+009B is CSI to some terminals, alone and as UTF-8 */
	quoted("\xc2\x9b" "31m", "\"\\xc2\\x9b31m\"");
	quoted("\xc2\x80\xc2\x9f", "\"\\xc2\\x80\\xc2\\x9f\"");
	quoted("\x9b" "31m", "\"\\x9b31m\"");
}

static void replaced(const char *value, const char *expected)
{
	char text[64];

	ri_text_copy(text, sizeof(text), value);
	ri_text_replace_controls(text);
	assert_string_equal(text, expected);
}

static void test_replace_controls(void **state)
{
	(void)state;
	replaced("", "");
	replaced("a gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\x80\xc2\xa0",
		"a gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\x80\xc2\xa0");
	replaced("\x1b[31m\n\t\x7f", "?[31m?" "?" "?");
	replaced("\xc2\x9b" "31m\xc2\x80", "?" "?31m?" "?");
	replaced("\x9b" "31m\x80\x9f", "?31m?" "?");
	replaced("\xff\xc3 (\xe2\x82", "?" "? (?" "?");
}

static void test_quote_broken_utf8(void **state)
{
	(void)state;
	quoted("\xff\xfe", "\"\\xff\\xfe\"");
	quoted("\xc3", "\"\\xc3\"");
	quoted("\xc3(", "\"\\xc3(\"");
	quoted("\xe2\x82", "\"\\xe2\\x82\"");
	quoted("\xf0\x9f\x9a", "\"\\xf0\\x9f\\x9a\"");
	quoted("\xc0\xaf", "\"\\xc0\\xaf\"");			/* overlong "/" */
	quoted("\xe0\x9f\xbf", "\"\\xe0\\x9f\\xbf\"");		/* overlong */
	quoted("\xf0\x8f\xbf\xbf", "\"\\xf0\\x8f\\xbf\\xbf\"");	/* overlong */
	quoted("\xed\xa0\x80", "\"\\xed\\xa0\\x80\"");		/* a surrogate */
	quoted("\xf4\x90\x80\x80", "\"\\xf4\\x90\\x80\\x80\"");	/* past U+10FFFF */
	quoted("\xed\x9f\xbf\xf4\x8f\xbf\xbf", "\"\xed\x9f\xbf\xf4\x8f\xbf\xbf\"");
}

static void test_quote_cut(void **state)
{
	char value[2 * RI_MAX_QUOTE + 1], expected[RI_MAX_QUOTE + 8];

	(void)state;
	memset(value, 'v', sizeof(value));
	memset(expected, 'v', sizeof(expected));
	expected[0] = '"';
	value[RI_MAX_QUOTE] = '\0';
	strcpy(expected + 1 + RI_MAX_QUOTE, "\"");
	quoted(value, expected);
	value[RI_MAX_QUOTE] = 'v';
	value[RI_MAX_QUOTE + 1] = '\0';
	strcpy(expected + 1 + RI_MAX_QUOTE, "...\"");
	quoted(value, expected);
}

/* A character that crosses the bound is left out whole, never cut or let over. */
static void test_quote_cut_between_characters(void **state)
{
	char value[RI_MAX_QUOTE + 8], expected[RI_QUOTE_SIZE];

	(void)state;
	for (size_t before = RI_MAX_QUOTE - 4; before <= RI_MAX_QUOTE; before++) {
		size_t shown = before + 4 <= RI_MAX_QUOTE ? before + 4 : before;

		memset(value, 'v', before);
		strcpy(value + before, "\xf0\x9f\x9a\x80");
		expected[0] = '"';
		memcpy(expected + 1, value, shown);
		strcpy(expected + 1 + shown, shown == before ? "...\"" : "\"");
		quoted(value, expected);
	}
}

static void test_quote_size_holds_any(void **state)
{
	char value[4 * RI_MAX_QUOTE], buffer[RI_QUOTE_SIZE];
	struct ri_text text;

	(void)state;
	for (size_t length = 0; length < 80; length++) {
		memset(value, 1, length);
		strcpy(value + length, "\xf0\x9f\x9a\x80 and more");
		text = ri_text_of(buffer, sizeof(buffer));
		ri_text_add_quoted(&text, value);
		assert_false(text.cut);
		assert_int_equal(buffer[text.length - 1], '"');
	}
}

static void test_quote_into_little_room(void **state)
{
	char buffer[8];

	(void)state;
	assert_string_equal(ri_quote(buffer, sizeof(buffer), "abcdefghij"), "\"abcdef");
	assert_string_equal(ri_quote(buffer, 1, "abc"), "");
}

static void test_colours_at_the_start(void **state)
{
	static const char *const rows[][2] = {
		{ "\x1b[36mred", "red" }, { "\x1b[2m\x1b[1;31mx\x1b[0m", "x\x1b[0m" },
		{ "\x1b[mx", "x" }, { "\x1b[36m", "" },
		/* no colours */
		{ "", "" }, { "x\x1b[36m", "x\x1b[36m" }, { "\x1b[36", "\x1b[36" },
		{ "\x1b[2Jm", "\x1b[2Jm" }, { "\x1b]36m", "\x1b]36m" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ri_span span = { rows[i][0], strlen(rows[i][0]) };

		span = ri_span_skip_colours(span);
		assert_int_equal(span.length, strlen(rows[i][1]));
		assert_memory_equal(span.at, rows[i][1], span.length);
	}
}

static void test_distance(void **state)
{
	static const char x31[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
	static const char x32[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

	(void)state;
	assert_int_equal(ri_text_distance("", ""), 0);
	assert_int_equal(ri_text_distance("rank", "rank"), 0);
	assert_int_equal(ri_text_distance("", "abc"), 3);
	assert_int_equal(ri_text_distance("abc", ""), 3);
	assert_int_equal(ri_text_distance("rank", "rink"), 1);
	assert_int_equal(ri_text_distance("rank", "ranks"), 1);
	assert_int_equal(ri_text_distance("rank", "rnk"), 1);
	assert_int_equal(ri_text_distance("rank", "arnk"), 1);
	assert_int_equal(ri_text_distance("rank", "rakn"), 1);
	assert_int_equal(ri_text_distance("ca", "abc"), 3);
	assert_int_equal(ri_text_distance("kitten", "sitting"), 3);
	assert_int_equal(ri_text_distance("abc", "xyz"), 3);
	assert_int_equal(ri_text_distance(x31, x31), 0);
	assert_int_equal(ri_text_distance(x31, ""), 31);
	assert_int_equal(ri_text_distance(x32, x32), 32);
	assert_int_equal(ri_text_distance("a", x32), 32);
	assert_int_equal(ri_text_distance(x32, "a"), 32);
}

static void test_nearest(void **state)
{
	static const char *const names[] = { "rank", "local-rank", "world-size", "grace", "graze" };
	enum { COUNT = sizeof(names) / sizeof(names[0]) };

	(void)state;
	assert_ptr_equal(ri_text_nearest("rank", names, COUNT), names[0]);
	assert_ptr_equal(ri_text_nearest("rnak", names, COUNT), names[0]);
	assert_ptr_equal(ri_text_nearest("localrank", names, COUNT), names[1]);
	assert_ptr_equal(ri_text_nearest("wrld-szie", names, COUNT), names[2]);
	/* of two as near the first; an exact one however late */
	assert_ptr_equal(ri_text_nearest("grave", names, COUNT), names[3]);
	assert_ptr_equal(ri_text_nearest("graze", names, COUNT), names[4]);
	/* capitals are no changes */
	assert_ptr_equal(ri_text_nearest("GRAZE", names, COUNT), names[4]);
	assert_ptr_equal(ri_text_nearest("Local-Rank", names, COUNT), names[1]);
	assert_null(ri_text_nearest("GRAZED", names, COUNT));
	/* a third of the word's length, at most 3 */
	assert_null(ri_text_nearest("ra", names, COUNT));
	assert_null(ri_text_nearest("rax", names, 0));
	assert_null(ri_text_nearest("rakkn", names, COUNT));
	assert_ptr_equal(ri_text_nearest("ran", names, COUNT), names[0]);
	assert_null(ri_text_nearest("xxxxd-size", names, COUNT));
	assert_ptr_equal(ri_text_nearest("xxxld-size", names, COUNT), names[2]);
	assert_null(ri_text_nearest("", names, COUNT));
	assert_null(ri_text_nearest("rank", names, 0));
	assert_null(ri_text_nearest("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", names, COUNT));
}

static void test_nearest_by_its_beginning(void **state)
{
	static const char *const names[] = { "log-dir", "log-file", "loh", "Master" };
	enum { COUNT = sizeof(names) / sizeof(names[0]) };

	(void)state;
	assert_ptr_equal(ri_text_nearest("log-d", names, COUNT), names[0]);
	assert_ptr_equal(ri_text_nearest("mas", names, COUNT), names[3]);
	/* two are too short, and of several none: then changes count, perhaps */
	assert_null(ri_text_nearest("ma", names, COUNT));
	assert_null(ri_text_nearest("log-", names, 2));
	assert_ptr_equal(ri_text_nearest("log", names, COUNT), names[2]);
	/* a beginning counts more than one change */
	assert_ptr_equal(ri_text_nearest("log-di", names, COUNT), names[0]);
}

/* The real names of the options, and what people write. */
static void test_nearest_option(void **state)
{
	static const char *const names[] = {
#define RI_OPTION(symbol, letter, kind, form, meta, fallback, type, help, group, brief) #symbol,
#include "options/options.def"
	};
	static const struct {
		const char *word, *wanted;
	} rows[] = {
		{ "nproc", "nproc_per_node" }, { "nproc_per", "nproc_per_node" },
		{ "nprocpernode", "nproc_per_node" }, { "NPROC", "nproc_per_node" },
		{ "gpu", "gpu_bind" }, { "omp", "omp_threads" }, { "world", "world_size" },
		{ "worldsize", "world_size" }, { "wrold_size", "world_size" },
		{ "local_word_size", "local_world_size" }, { "num_nodes", "nnodes" },
		{ "nodes", "nnodes" }, { "rnak", "rank" }, { "ranks", "rank" },
		{ "master_address", "master_addr" }, { "masterport", "master_port" },
		{ "hostsfile", "hostfile" }, { "host", "hosts" }, { "print", "print_env" },
		{ "printenv", "print_env" }, { "explai", "explain" }, { "expl", "explain" },
		{ "chekcs", "checks" }, { "verbos", "verbose" }, { "quite", "quiet" },
		{ "stat", "state" }, { "graze", "grace" }, { "wait", "wait_master" },
		{ "prefix", NULL }, { "log", NULL }, { "signal", NULL }, { "master", NULL },
		{ "rewrite", NULL }, { "help_me", NULL }, { "hlep", "help" }, { "heap", "help" },
		{ "timeout", NULL }, { "retry", NULL }, { "restart", "restarts" },
		{ "epochs", NULL }, { "np", NULL }, { "n", NULL }, { "", NULL },
		{ "devices", NULL }, { "env", NULL },
		{ "workers", NULL }, { "init", NULL }, { "config", NULL }, { "debug", NULL },
		{ "name", NULL }, { "port", NULL }, { "backend", NULL }, { "ssh", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *found = ri_text_nearest(rows[i].word, names,
			sizeof(names) / sizeof(names[0]));

		if ((found == NULL) != (rows[i].wanted == NULL) ||
			(found != NULL && strcmp(found, rows[i].wanted) != 0))
			fail_msg("%s: %s", rows[i].word, found == NULL ? "none" : found);
	}
}

static void assert_shown(const char *value, size_t columns, const char *expected, size_t used)
{
	char buffer[256];
	struct ri_text text;

	text = ri_text_of(buffer, sizeof(buffer));
	assert_int_equal(ri_text_add_shown(&text, value, columns), used);
	assert_string_equal(buffer, expected);
}

static void test_shown_fits_its_columns(void **state)
{
	(void)state;
	assert_shown("", 5, "", 0);
	assert_shown("abcde", 5, "abcde", 5);
	assert_shown("abcdef", 5, "ab...", 5);
	assert_shown("abcdef", 3, "...", 3);
	assert_shown("abcdef", 2, "", 0);
	assert_shown("abcdef", 0, "", 0);
	assert_shown("", 0, "", 0);
}

static void test_shown_escapes_what_a_terminal_obeys(void **state)
{
	(void)state;
	assert_shown("a\nb", 9, "a\\nb", 4);
	assert_shown("\033[2J", 9, "\\x1b[2J", 7);
	assert_shown("\x7f\xff", 9, "\\x7f\\xff", 8);
	assert_shown("\xc2\x9b", 9, "\\xc2\\x9b", 8);
	/* U+202E, U+2066, U+2028, U+061C; but not U+2026 */
	assert_shown("\xe2\x80\xae", 12, "\\xe2\\x80\\xae", 12);
	assert_shown("\xe2\x81\xa6", 12, "\\xe2\\x81\\xa6", 12);
	assert_shown("\xe2\x80\xa8", 12, "\\xe2\\x80\\xa8", 12);
	assert_shown("\xd8\x9c", 8, "\\xd8\\x9c", 8);
	assert_shown("\xe2\x80\xa6", 12, "\xe2\x80\xa6", 2);
	/* quotes and backslashes are as they are */
	assert_shown("\"\\", 9, "\"\\", 2);
	/* never half an escape */
	assert_shown("a\xff\xff\xff", 8, "a\\xff...", 8);
	assert_shown("a\xff\xff\xff", 7, "a...", 4);
}

static void test_shown_counts_wide_characters(void **state)
{
	(void)state;
	assert_shown("\xc3\xa9t\xc3\xa9", 3, "\xc3\xa9t\xc3\xa9", 3);
	assert_shown("\xe4\xb8\xad\xe6\x96\x87", 4, "\xe4\xb8\xad\xe6\x96\x87", 4);
	assert_shown("\xe4\xb8\xad\xe6\x96\x87", 3, "...", 3);
}

static void test_utf8_length(void **state)
{
	(void)state;
	assert_int_equal(ri_utf8_length("a"), 1);
	assert_int_equal(ri_utf8_length("\xc3\xa9"), 2);
	assert_int_equal(ri_utf8_length("\xe4\xb8\xad"), 3);
	assert_int_equal(ri_utf8_length("\xf0\x9f\x90\xa7"), 4);
	assert_int_equal(ri_utf8_length("\xc3"), 0);
	assert_int_equal(ri_utf8_length("\x80"), 0);
	assert_int_equal(ri_utf8_length("\xed\xa0\x80"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builder),
		cmocka_unit_test(test_builder_cuts),
		cmocka_unit_test(test_builder_of_one_byte),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_quote_plain),
		cmocka_unit_test(test_quote_controls),
		cmocka_unit_test(test_replace_controls),
		cmocka_unit_test(test_quote_broken_utf8),
		cmocka_unit_test(test_quote_cut),
		cmocka_unit_test(test_quote_cut_between_characters),
		cmocka_unit_test(test_quote_size_holds_any),
		cmocka_unit_test(test_quote_into_little_room),
		cmocka_unit_test(test_shown_fits_its_columns),
		cmocka_unit_test(test_shown_escapes_what_a_terminal_obeys),
		cmocka_unit_test(test_shown_counts_wide_characters),
		cmocka_unit_test(test_utf8_length),
		cmocka_unit_test(test_colours_at_the_start),
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_nearest_by_its_beginning),
		cmocka_unit_test(test_nearest_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
