/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a traceback by themselves, and what looks like one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "words/words.h"

#define SPAN_OF(text) ((struct ri_span){ (text), strlen(text) })
#define HEADER "Traceback (most recent call last):"
#define RAISED "\n  File \"a.py\", line 1, in f\nKeyError: 1\n"

static struct ri_traceback find(const char *text)
{
	struct ri_traceback found;

	if (!ri_traceback_find(SPAN_OF(text), &found))
		fail_msg("nothing in: %s", text);
	assert_int_equal(found.last.length, strlen("KeyError: 1"));
	return found;
}

static void what_a_header_is(void **state)
{
	struct ri_traceback found;

	(void)state;
	assert_int_equal(find(HEADER RAISED).prefix.length, 0);
	/* blanks behind a header are no part of what stands before each line */
	assert_int_equal(find(HEADER "  \t " RAISED).prefix.length, 0);
	find("ERROR 10:12 " HEADER RAISED);
	found = find("[rank0]: " HEADER " \n[rank0]:   File \"a.py\", line 1, in f\n"
		"[rank0]: KeyError: 1\n");
	assert_int_equal(found.prefix.length, strlen("[rank0]: "));
	assert_memory_equal(found.prefix.at, "[rank0]: ", found.prefix.length);
	/* what stands below that of C++ does not replace what Python said */
	find(HEADER RAISED "\n----\nC++ " HEADER "\n----\nFatalError: `Aborted` is detected\n");
}

static void what_is_none(void **state)
{
	static const char *const none[] = {
		RAISED, "Traceback" RAISED, HEADER " x" RAISED,
		"Traceback (most recent call first):" RAISED,
		/* Paddle's stack of C++ */
		"C++ " HEADER RAISED, "[rank0]: C++ " HEADER " " RAISED,
	};
	struct ri_traceback found;

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (ri_traceback_find(SPAN_OF(none[i]), &found))
			fail_msg("%s", none[i]);
}

static void what_ended_no_process(void **state)
{
	(void)state;
	assert_true(find("Exception ignored in: <f>\n" HEADER RAISED).aside);
	assert_true(find("Error in sys.excepthook:\n" HEADER RAISED).aside);
	assert_true(find("--- Logging error ---\n" HEADER RAISED).aside);
	assert_true(find("Exception in thread Thread-1:\n" HEADER RAISED).aside);
	assert_false(find("Original exception was:\n" HEADER RAISED).aside);
	/* what ended a thread may be what the process then ended of */
	assert_int_equal(find("Exception in thread Thread-1:\n" HEADER
		"\n  File \"b.py\", line 1, in f\nOSError: 2\nstep\n" HEADER RAISED).before.length,
		strlen("OSError: 2"));
	assert_int_equal(find("--- Logging error ---\n" HEADER
		"\n  File \"b.py\", line 1, in f\nOSError: 2\nstep\n" HEADER RAISED).before.length,
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_header_is),
		cmocka_unit_test(what_is_none),
		cmocka_unit_test(what_ended_no_process),
	};

	return cmocka_run_group_tests_name("traceback_line", tests, NULL, NULL);
}
