/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that tell nothing, and lines that decide. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "words/words.h"
#include "words_samples.h"

static struct ri_span span(const char *text)
{
	return (struct ri_span){ text, strlen(text) };
}

static void is(struct ri_span found, const char *expected)
{
	char copy[512];

	assert_true(found.length < sizeof(copy));
	memcpy(copy, found.at, found.length);
	copy[found.length] = '\0';
	assert_string_equal(copy, expected);
}

static void shapes(void **state)
{
	static const struct {
		const char *line, *shape;
		int first;	/* of the first words of the shape; -1: it does not fit */
	} cases[] = {
		{ "", "", 0 }, { "", "*", 0 }, { "a", "", -1 }, { "", "a", -1 },
		{ "abc", "abc", 0 }, { "abc", "ab", -1 }, { "abc", "a*", 0 },
		{ "abc", "*c", 2 }, { "abc", "*b", -1 }, { "abab", "*ab", 2 },
		{ "abab", "*ab*", 0 }, { "aab", "*ab*", 1 }, { "abab", "a*b*b", 0 },
		{ "aab", "a*b*b", -1 }, { "a5", "a~", 0 }, { "ax", "a~", -1 }, { "a~", "a~", -1 },
		{ "a1b22c", "*~~c", 3 }, { "a1b22c3", "*~~c*", 3 }, { "1a2b", "*~b*", 2 },
		{ "abc", "**b**", 1 }, { "ab", "a*b*", 0 }, { " 30%|", "*~%|*", 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *at = ri_shape_fits(span(cases[i].line), cases[i].shape);

		if (at != (cases[i].first < 0 ? NULL : cases[i].line + cases[i].first))
			fail_msg("%s: %s", cases[i].line, cases[i].shape);
	}
}

/* Each row's line fits that row, and none above it. */
static void each_row(void **state)
{
	static const struct {
		enum ri_line_kind kind;
		const char *shape, *source;
	} rows[] = {
#define RI_LINE(kind_, shape_, source_) { RI_LINE_##kind_, shape_, source_ },
#include "words/words.def"
	};
	struct ri_last_words found;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ri_span line = span(words_sample(rows[i].shape));
		size_t first = 0;

		while (first <= i && !ri_shape_fits(ri_line_trim(line), rows[first].shape))
			first++;
		if (first != i)
			fail_msg("%s: %s", rows[first <= i ? first : i].shape, line.at);
		assert_true(strlen(rows[i].source) > 5);
		assert_int_equal(ri_line_kind(line), rows[i].kind);
		assert_true(ri_noise_hides(line) ==
			(rows[i].kind != RI_LINE_PLAIN && rows[i].kind < RI_LINE_WORD));
		ri_last_words_find(line, NULL, RI_TELLING_WORD, 0, &found);
		assert_int_equal(found.count, rows[i].kind >= RI_LINE_WORD);
	}
}

/* However long it is, its first part tells. */
static void a_long_line(void **state)
{
	static char line[8192];

	(void)state;
	memset(line, 'x', sizeof(line) - 1);
	memcpy(line + 4000, "CUDA error", 10);
	assert_int_equal(ri_line_kind(span(line)), RI_LINE_WORD);
	memset(line, 'x', sizeof(line) - 1);
	memcpy(line + 5000, "CUDA error", 10);
	assert_int_equal(ri_line_kind(span(line)), RI_LINE_PLAIN);
}

static void ordinary_lines(void **state)
{
	static const char *const lines[] = {
		"epoch 3, loss 2.31", "cannot open the data", "100% of the data is there",
		"step 5: 3 of 10 [ok]", "Train: 72 [1350/5004 ( 27%)]  Loss: 2.884 (2.69)",
		"F is for failure", "E1 is a name", "MPI_ERR_TRUNCATE was caught",
	};
	struct ri_last_words found;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		ri_last_words_find(span(lines[i]), NULL, RI_TELLING_WORD, 0, &found);
		if (ri_line_kind(span(lines[i])) != RI_LINE_PLAIN || found.count > 0)
			fail_msg("%s", lines[i]);
		assert_false(ri_noise_is(span(lines[i])));
		assert_int_equal(ri_noise_count(span(lines[i])), 1);
	}
}

static void what_stands_before_the_words(void **state)
{
	static const char bar[] = "  0%|          | 0/1250 [00:00<?, ?it/s]";
	char text[256];

	(void)state;
	is(ri_line_trim(span("[rank3]: frame #0: f \t")), "frame #0: f");
	is(ri_line_trim(span("[rank12]:[E1119 x.cpp:5] y")), "[E1119 x.cpp:5] y");
	is(ri_line_trim(span(" 10%|# | 1/9 [0<1, 1it/s][rank0]:[E1 x.cpp:6] y")), "[E1 x.cpp:6] y");
	is(ri_line_trim(span("[rank3]:")), "");
	is(ri_line_trim(span("[rank3] x")), "[rank3] x");
	is(ri_line_trim(span("[rank3")), "[rank3");
	is(ri_line_last_state(span("\r 10%\r 20%\r")), " 20%");
	is(ri_line_last_state(span("\r\r")), "");
	is(ri_line_trim(span(bar)), bar + 2);
	snprintf(text, sizeof(text), "\r%s\r%spython: x.cpp:5: f: Assertion `n' failed.", bar, bar);
	is(ri_line_trim(span(text)), "python: x.cpp:5: f: Assertion `n' failed.");
	assert_int_equal(ri_line_kind(span(text)), RI_LINE_LAST);
	assert_int_equal(ri_line_kind(span(bar)), RI_LINE_PROGRESS);
}

/* One that is closed says nothing; one that goes on for hours does. */
static void a_bar_that_moves_on_is_life(void **state)
{
	static const char bar[] = "\r  3%|#   | 3/100 [00:03<01:00,  1.00it/s]";
	char text[4096] = "";

	(void)state;
	strcat(text, bar);
	strcat(text, "\n");
	assert_int_equal(ri_noise_count(span(text)), 0);
	text[0] = '\0';
	for (int i = 0; i < 50; i++)
		strcat(text, bar);
	assert_int_equal(ri_noise_count(span(text)), 51);
}

static void collect(const char *text, const char *expected)
{
	struct ri_last_words found;
	char all[2048] = "";

	ri_last_words_find(span(text), NULL, RI_TELLING_WORD, 0, &found);
	for (size_t i = 0; i < found.count; i++) {
		strncat(all, found.lines[i].at, found.lines[i].length);
		strcat(all, "\n");
	}
	assert_string_equal(all, expected);
}

#define STACK "frame #0: c10::Error::Error(std::string) + 0x57 (0x7f in /lib/libc10.so)\n"

static void an_exception_of_cpp(void **state)
{
	(void)state;
	collect("epoch 1\nterminate called after throwing an instance of 'c10::Error'\n"
		"  what():  CUDA error: out of memory\nCUDA kernel errors might be "
		"asynchronously reported at some other API call.\nsecond line\n\nnot of it\n"
		"Exception raised from f at x.cpp:44 (most recent call first):\n" STACK STACK,
		"terminate called after throwing an instance of 'c10::Error'\n"
		"what():  CUDA error: out of memory\nsecond line\n");
	collect("  what():  NCCL error: x\nLast error:\nNET/OFI: bad\n" STACK "later\n",
		"what():  NCCL error: x\nLast error:\nNET/OFI: bad\n");
	/* Paddle's, whose stack stands above it */
	collect("C++ Traceback (most recent call last):\n0   paddle::f()\n\n--------------------\n"
		"Error Message Summary:\n--------------------\nExternalError: CUDA error(719)\n"
		"  [Hint: x] (at /x.cc:1)\n\nlater\n",
		"ExternalError: CUDA error(719)\n[Hint: x] (at /x.cc:1)\n");
	collect("----------------------\nExternalError is one of them\n", "");
	collect("  what():  x\n1\n2\n3\n4\n", "what():  x\n1\n2\n3\n");
	collect("epoch 1\n" STACK, "");
}

static void a_stack_of_faulthandler(void **state)
{
	static const char fatal[] = "Fatal Python error: Segmentation fault\n\n";
	char text[1024];

	(void)state;
	snprintf(text, sizeof(text), "%sCurrent thread 0x7f (most recent call first):\n"
		"  File \"a.py\", line 1 in f\n  File \"a.py\", line 2 in g\n\n"
		"Extension modules: x (total: 1)\n", fatal);
	collect(text, "Fatal Python error: Segmentation fault\nFile \"a.py\", line 1 in f\n"
		"File \"a.py\", line 2 in g\n");
	/* of the thread that died, wherever it stands */
	snprintf(text, sizeof(text), "%sThread 0x7e (most recent call first):\n"
		"  File \"b.py\", line 1 in wait\n\nCurrent thread 0x7f (most recent call first):\n"
		"  File \"a.py\", line 1 in f\n\nThread 0x7d (most recent call first):\n"
		"  File \"c.py\", line 1 in wait\n", fatal);
	collect(text, "Fatal Python error: Segmentation fault\nFile \"a.py\", line 1 in f\n");
	/* a thread of C++ has none */
	snprintf(text, sizeof(text), "%sThread 0x7e (most recent call first):\n"
		"  File \"b.py\", line 1 in wait\n\nCurrent thread 0x7f (most recent call first):\n"
		"  <no Python frame>\n", fatal);
	collect(text, "Fatal Python error: Segmentation fault\n");
	/* where none is the current one, the first */
	snprintf(text, sizeof(text), "%sThread 0x7e (most recent call first):\n"
		"  File \"b.py\", line 1 in f\n\nThread 0x7d (most recent call first):\n"
		"  File \"c.py\", line 1 in wait\n", fatal);
	collect(text, "Fatal Python error: Segmentation fault\nFile \"b.py\", line 1 in f\n");
	/* nobody died: a program may print its own stacks */
	collect("Current thread 0x7f (most recent call first):\n"
		"  File \"a.py\", line 1 in f\n", "");
	strcpy(text, fatal);
	strcat(text, "Current thread 0x7f (most recent call first):\n");
	for (int i = 0; i < 20; i++)
		strcat(text, "  File \"a.py\", line 1 in f\n");
	collect(text, "Fatal Python error: Segmentation fault\nFile \"a.py\", line 1 in f\n"
		"File \"a.py\", line 1 in f\nFile \"a.py\", line 1 in f\n"
		"File \"a.py\", line 1 in f\n");
}

static void equal_words_once_and_not_too_many(void **state)
{
	char text[1024] = "";

	(void)state;
	for (int i = 0; i < 20; i++)
		strcat(text, "free(): invalid pointer\n");
	collect(text, "free(): invalid pointer\n");
	text[0] = '\0';
	for (int i = 0; i < 20; i++)
		sprintf(text + strlen(text), "LLVM ERROR: %d\n", i);
	collect(text, "LLVM ERROR: 0\nLLVM ERROR: 1\nLLVM ERROR: 2\n");
}

static void the_first_of_the_last_lines_that_names_an_error(void **state)
{
	char text[4096] = "ERROR: long ago\n";

	(void)state;
	collect("a\nwandb: x\n ERROR: 1\nValueError: 2\n", "ERROR: 1\n");
	for (int i = 0; i < 100; i++)
		strcat(text, "epoch 1\n");
	collect(text, "");
	strcat(text, "[rank1]:[E1119 x.cpp:5] [Rank 1] Watchdog\n" STACK "CUDA error: 1\n");
	collect(text, "[E1119 x.cpp:5] [Rank 1] Watchdog\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes),
		cmocka_unit_test(each_row),
		cmocka_unit_test(a_long_line),
		cmocka_unit_test(ordinary_lines),
		cmocka_unit_test(what_stands_before_the_words),
		cmocka_unit_test(a_bar_that_moves_on_is_life),
		cmocka_unit_test(an_exception_of_cpp),
		cmocka_unit_test(a_stack_of_faulthandler),
		cmocka_unit_test(equal_words_once_and_not_too_many),
		cmocka_unit_test(the_first_of_the_last_lines_that_names_an_error),
	};

	return cmocka_run_group_tests_name("noise", tests, NULL, NULL);
}
