/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a traceback by themselves, and what looks like one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "words/traceback.h"
#include "words/traceback_line.h"

#define SPAN_OF(text) ((struct ri_span){ (text), strlen(text) })
#define HEADER "Traceback (most recent call last):"
#define RAISED "\n  File \"a.py\", line 1, in f\nKeyError: 1\n"

static void what_a_header_is(void **state)
{
	static const struct {
		const char *line, *prefix;
	} headers[] = {
		{ HEADER, "" }, { HEADER "  \t ", "" }, { "[rank0]: " HEADER " ", "[rank0]: " },
		{ "ERROR 10:12 " HEADER, "ERROR 10:12 " },
	};
	static const char *const none[] = {
		"", "Traceback", HEADER " x", "Traceback (most recent call first):",
		/* Paddle's stack of C++ */
		"C++ " HEADER, "[rank0]: C++ " HEADER " ",
	};
	struct ri_span prefix;

	(void)state;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		assert_true(ri_header_find(SPAN_OF(headers[i].line), &prefix));
		assert_int_equal(prefix.length, strlen(headers[i].prefix));
		assert_memory_equal(prefix.at, headers[i].prefix, prefix.length);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (ri_header_find(SPAN_OF(none[i]), &prefix))
			fail_msg("%s", none[i]);
}

/* The same in a text: blanks behind a header are no part of what stands before each line. */
static void a_header_in_a_text(void **state)
{
	struct ri_traceback found;

	(void)state;
	assert_true(ri_traceback_find(SPAN_OF(HEADER "  " RAISED), &found));
	assert_int_equal(found.prefix.length, 0);
	assert_int_equal(found.last.length, strlen("KeyError: 1"));
	assert_false(ri_traceback_find(SPAN_OF("C++ " HEADER RAISED), &found));
	/* what stands below that of C++ does not replace what Python said */
	assert_true(ri_traceback_find(SPAN_OF(HEADER RAISED "\n----\nC++ " HEADER "\n----\n"
		"FatalError: `Aborted` is detected\n"), &found));
	assert_int_equal(found.last.length, strlen("KeyError: 1"));
}

static void what_ended_no_process(void **state)
{
	static const char *const ignored[] = {
		"Exception ignored in: <f>", "Error in sys.excepthook:", "--- Logging error ---",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		assert_true(ri_aside_is(SPAN_OF(ignored[i])) && ri_ignored_is(SPAN_OF(ignored[i])));
	/* what ended a thread may be what the process then ended of */
	assert_true(ri_aside_is(SPAN_OF("Exception in thread Thread-1:")));
	assert_false(ri_ignored_is(SPAN_OF("Exception in thread Thread-1:")));
	assert_false(ri_aside_is(SPAN_OF("Original exception was:")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_header_is),
		cmocka_unit_test(a_header_in_a_text),
		cmocka_unit_test(what_ended_no_process),
	};

	return cmocka_run_group_tests_name("traceback_line", tests, NULL, NULL);
}
