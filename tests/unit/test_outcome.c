/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank failed first, and what torch's file says about it. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/culprit.h"
#include "report/outcome.h"

#define EXITED(code) .end = RI_END_EXITED, .exit_code = (code)
#define KILLED(number) .end = RI_END_SIGNALED, .signal = (number)
#define SPAN_OF(text) ((struct ri_span){ (text), strlen(text) })

static struct ri_rank_outcome ranks[3];
static struct ri_outcome outcome;

/* Three ranks that ran from second 100 to 200, in this order, and exited with 0. */
static int begin(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++)
		ranks[i] = (struct ri_rank_outcome){
			.rank = i, .local_rank = i, .pid = (pid_t)(10 + i), EXITED(0),
			.order = i + 1, .started = { .tv_sec = 100 },
			.ended = { .tv_sec = 200, .tv_nsec = (long)i * 1000 },
		};
	outcome = (struct ri_outcome){ .ranks = ranks, .count = 3, .first = -1 };
	return 0;
}

static void fails(int index, int code)
{
	ranks[index].exit_code = code;
}

static void crashes(int index)
{
	ranks[index].end = RI_END_SIGNALED;
	ranks[index].signal = SIGSEGV;
}

static void expect(int first)
{
	for (size_t i = 0; i < 3; i++)
		ri_class_find(&ranks[i]);
	ri_culprit_find(&outcome);
	assert_int_equal(outcome.first, first);
	assert_int_equal(outcome.culprit, RI_CULPRIT_FIRST);
}

static void nobody_failed(void **state)
{
	(void)state;
	expect(-1);
	ranks[1].end = RI_END_RUNNING;
	ranks[2].end = RI_END_NOT_STARTED;
	expect(-1);
}

#define TRACEBACK "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nOSError: x\n"

/* Its message is long, it ended of our stop with 0, and a stop from outside came after that. */
static void one_that_lingered(void **state)
{
	static const char tail[] = TRACEBACK "1\n2\n3\n4\n5\n";

	(void)state;
	ranks[1].wrote.tail = SPAN_OF(tail);
	ranks[1].traceback_at.tv_sec = 160;
	ranks[1].told_to_stop = true;
	ranks[1].course = RI_COURSE_LEFT;
	outcome.stop.signal = SIGTERM;
	ranks[1].lingered_s = 30;
	expect(1);
	assert_int_equal(ranks[1].evidence.class, RI_CLASS_OWN);
	/* still there, for the other nodes */
	ranks[1].end = RI_END_RUNNING;
	expect(1);
	ranks[1].end = RI_END_SIGNALED;
	ranks[1].signal = SIGKILL;
	expect(1);
	/* the control: one that was only stopped */
	ranks[1].lingered_s = 0;
	expect(-1);
}

/* It was printed, and the rank went on for a long time. */
static void by_no_traceback_that_is_old(void **state)
{
	static char tail[4096] = TRACEBACK;

	(void)state;
	fails(1, 7);
	ranks[0].end = RI_END_SIGNALED;
	ranks[0].signal = SIGTERM;
	ranks[0].told_to_stop = true;
	ranks[0].traceback_at.tv_sec = 199;
	ranks[0].wrote.tail.at = tail;
	ranks[0].wrote.tail.length = strlen(tail);
	/* the control: its exception had left its program, whatever followed */
	ranks[0].course = RI_COURSE_LEFT;
	expect(0);
	strcat(tail, "step 1\nstep 2\nstep 3\nstep 4\n");
	ranks[0].wrote.tail.length = strlen(tail);
	expect(0);
	ranks[0].course = RI_COURSE_UNKNOWN;
	expect(1);
	/* one that failed by itself is compared by its end then */
	ranks[0].told_to_stop = false;
	crashes(1);
	expect(0);
	ranks[0].order = 3;
	expect(1);
}

/* A tensor in a message has more lines than any program prints after an exception. */
static void by_a_message_of_many_lines(void **state)
{
	static char tail[16384] = TRACEBACK;

	(void)state;
	for (int i = 0; i < 1000; i++)
		strcat(tail, "[0.1, 0.2],\n");
	fails(0, 3);
	fails(1, 1);
	ranks[0].order = 2;
	ranks[1].order = 3;
	ranks[1].wrote.tail.at = tail;
	ranks[1].wrote.tail.length = strlen(tail);
	ranks[1].traceback_at.tv_sec = 195;
	expect(1);
	assert_true(ranks[1].evidence.witnessed);
	/* the controls: a minute ago, of another status */
	ranks[1].traceback_at.tv_sec = 140;
	expect(0);
	ranks[1].traceback_at.tv_sec = 195;
	ranks[1].exit_code = 2;
	expect(0);
	/* without a time it counts, but not as a witness of when */
	ranks[1].exit_code = 1;
	ranks[1].traceback_at.tv_sec = 0;
	expect(1);
	assert_false(ranks[1].evidence.witnessed);
	/* of one that was stopped at its exit, and whose middle was not kept */
	ranks[1] = (struct ri_rank_outcome){ .end = RI_END_SIGNALED, .signal = SIGTERM,
		.told_to_stop = true, .course = RI_COURSE_LEFT, .order = 3, .wrote.tail.at = tail,
		.wrote.tail.length = strlen(tail), .wrote.head = 100, .ended = { .tv_sec = 200 },
		.traceback_at = { .tv_sec = 195 } };
	expect(1);
	ranks[1].course = RI_COURSE_UNKNOWN;
	expect(0);
}

static void by_the_order_of_reaping(void **state)
{
	(void)state;
	fails(1, 7);
	fails(2, 1);
	expect(1);
	/* a clock that was set back changes nothing */
	ranks[2].ended.tv_sec = 50;
	expect(1);
	ranks[1].order = 9;
	expect(2);
	/* without the order by the clock */
	ranks[1].order = ranks[2].order = 0;
	ranks[2].ended.tv_sec = 300;
	expect(1);
}

static void each_way_to_fail(void **state)
{
	(void)state;
	ranks[2] = (struct ri_rank_outcome){ .order = 3, KILLED(SIGSEGV) };
	expect(2);
	ranks[1] = (struct ri_rank_outcome){ .order = 2, .end = RI_END_EXEC_FAILED };
	expect(1);
}

static void a_traceback_before_the_end_of_another(void **state)
{
	(void)state;
	fails(0, 1);
	fails(2, 1);
	ranks[2].traceback_at.tv_sec = 199;
	expect(2);
	ranks[0].traceback_at.tv_sec = 198;
	expect(0);
}

static void by_torch_s_file(void **state)
{
	static const char early[] = "{\"message\": {\"message\": \"x\", \"extraInfo\": "
		"{\"timestamp\": \"150\"}}}";
	static const char late[] = "{\"message\": \"x\", \"timestamp\": 160}";

	(void)state;
	fails(0, 1);
	fails(1, 1);
	fails(2, 1);
	ranks[1].wrote.torch_error.at = late;
	ranks[1].wrote.torch_error.length = strlen(late);
	expect(1);
	ranks[2].wrote.torch_error.at = early;
	ranks[2].wrote.torch_error.length = strlen(early);
	expect(2);
	/* an end without a word says less than a file */
	ranks[0].ended.tv_sec = 120;
	expect(2);
	/* what a signal killed before has no file, and was first all the same */
	crashes(0);
	expect(0);
}

static void torch_cuts_its_time_to_seconds(void **state)
{
	static const char file[] = "{\"message\": \"x\", \"timestamp\": 200}";

	(void)state;
	crashes(0);
	fails(2, 1);
	ranks[2].wrote.torch_error.at = file;
	ranks[2].wrote.torch_error.length = strlen(file);
	expect(0);
	/* what proves nothing was perhaps caught, and the crash is the kernel's word */
	ranks[2].traceback_at = (struct timespec){ .tv_sec = 199, .tv_nsec = 999999999 };
	expect(0);
}

static void a_file_of_another_time_says_nothing(void **state)
{
	static const char file[] = "{\"message\": \"x\", \"timestamp\": 99}";

	(void)state;
	crashes(0);
	fails(2, 1);
	ranks[2].wrote.torch_error.at = file;
	ranks[2].wrote.torch_error.length = strlen(file);
	expect(0);
}

static void who_was_told_counts_with_a_witness_only(void **state)
{
	(void)state;
	ranks[0] = (struct ri_rank_outcome){ .order = 1, KILLED(SIGTERM), .told_to_stop = true };
	expect(-1);
	fails(1, 1);
	ranks[1].told_to_stop = true;
	ranks[1].traceback_at.tv_sec = 199;
	expect(-1);
	ranks[1].course = RI_COURSE_LEFT;
	expect(1);
	ranks[1].exit_code = 3;
	expect(-1);
	ranks[1].exit_code = 1;
	fails(2, 1);
	expect(1);
	/* a stop from outside: what handlers print then is no failure */
	outcome.stop.signal = SIGTERM;
	expect(2);
}

#define INTERRUPTED "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n" \
	"KeyboardInterrupt\n"
#define CLEANUP "\nDuring handling of the above exception, another exception occurred:\n\n"

static void says(int index, const char *tail)
{
	ranks[index].wrote.tail.at = tail;
	ranks[index].wrote.tail.length = strlen(tail);
}

static void expect_interrupted(bool is)
{
	for (size_t i = 0; i < 3; i++)
		ri_class_find(&ranks[i]);
	outcome.first = 0;
	assert_true(ri_outcome_is_interrupted(&outcome) == is);
}

static void interrupts(time_t second)
{
	outcome.interrupt = (struct ri_stop){ .signal = SIGINT, .passed_on = SIGINT,
		.at = { .tv_sec = second } };
}

static void of_a_signal(void **state)
{
	(void)state;
	ranks[0] = (struct ri_rank_outcome){ .order = 1, KILLED(SIGINT) };
	expect_interrupted(false);
	interrupts(199);
	assert_false(ri_outcome_is_interrupted(&(struct ri_outcome){ .first = -1 }));
	expect_interrupted(true);
	ranks[0].signal = SIGSEGV;
	expect_interrupted(false);
	/* as --signal-map has it */
	outcome.interrupt.passed_on = SIGSEGV;
	expect_interrupted(true);
	ranks[0] = (struct ri_rank_outcome){ .order = 1, EXITED(130) };
	expect_interrupted(true);
	ranks[0] = (struct ri_rank_outcome){ .order = 1, .end = RI_END_RUNNING };
	expect_interrupted(false);
}

static void of_what_python_says(void **state)
{
	(void)state;
	interrupts(199);
	fails(0, 1);
	says(0, INTERRUPTED);
	expect_interrupted(true);
	/* our own stop was faster */
	ranks[0].end = RI_END_SIGNALED;
	ranks[0].signal = SIGTERM;
	ranks[0].told_to_stop = true;
	ranks[0].course = RI_COURSE_LEFT;
	expect_interrupted(true);
	says(0, INTERRUPTED CLEANUP TRACEBACK);
	expect_interrupted(true);
	says(0, TRACEBACK);
	expect_interrupted(false);
	says(0, INTERRUPTED);
	outcome.interrupt.signal = outcome.interrupt.passed_on = SIGHUP;
	expect_interrupted(false);
}

/* SIGTERM came while it printed: what another one ended of counts. */
static void of_an_end_of_another(void **state)
{
	(void)state;
	interrupts(199);
	ranks[0] = (struct ri_rank_outcome){ .order = 2, KILLED(SIGTERM), .told_to_stop = true,
		.course = RI_COURSE_LEFT, .ended = { .tv_sec = 200 },
		.traceback_at = { .tv_sec = 198 } };
	says(0, "Traceback (most recent call last):\n");
	expect_interrupted(false);
	ranks[1] = (struct ri_rank_outcome){ .order = 1, KILLED(SIGINT) };
	expect_interrupted(true);
	/* said to its end before the interrupt, and after it */
	says(0, TRACEBACK);
	expect_interrupted(false);
	ranks[0].traceback_at.tv_sec = 199;
	expect_interrupted(true);
	ranks[0].told_to_stop = false;
	expect_interrupted(false);
	ranks[0].told_to_stop = ranks[1].told_to_stop = true;
	expect_interrupted(false);
}

static void of_a_handler(void **state)
{
	(void)state;
	interrupts(199);
	fails(0, 1);
	expect_interrupted(true);
	says(0, "saved\n");
	expect_interrupted(true);
	/* an exception of its own */
	says(0, TRACEBACK);
	expect_interrupted(false);
	says(0, "saved\n");
	ranks[0].wrote.torch_error.at = "{}";
	expect_interrupted(false);
	ranks[0].wrote.torch_error.at = NULL;
	/* before it, and long after it */
	interrupts(201);
	expect_interrupted(false);
	interrupts(170);
	expect_interrupted(true);
	interrupts(169);
	expect_interrupted(false);
}

static void a_file_of_torch(void **state)
{
	static const char text[] = "{\"message\": {\"message\": \"ValueError: bad token=abc\", "
		"\"errorCode\": 1, \"extraInfo\": {\"py_callstack\": \"Traceback (most recent call "
		"last):\\n  A_KEY=abc\\nValueError: bad\\n\", \"timestamp\": \"1700000000\"}}}";
	struct ri_torch_error error;
	uint64_t seconds;

	(void)state;
	assert_true(ri_torch_error_read(SPAN_OF(text), &error));
	assert_string_equal(error.message, "ValueError: bad token=***");
	assert_string_equal(error.callstack, "Traceback (most recent call last):\n  A_KEY=***\n"
		"ValueError: bad\n");
	assert_true(ri_torch_error_time(SPAN_OF(text), &seconds));
	assert_int_equal(seconds, 1700000000);
}

static void a_plain_file(void **state)
{
	static const char text[] = "{\"message\": \"killed by me\", \"timestamp\": 12.9}";
	struct ri_torch_error error;
	uint64_t seconds;

	(void)state;
	assert_true(ri_torch_error_read(SPAN_OF(text), &error));
	assert_string_equal(error.message, "killed by me");
	assert_string_equal(error.callstack, "");
	assert_true(ri_torch_error_time(SPAN_OF(text), &seconds) && seconds == 12);
	assert_true(ri_torch_error_read(SPAN_OF("{\"message\": \"m\"}"), &error));
	assert_false(ri_torch_error_time(SPAN_OF("{\"message\": \"m\"}"), &seconds));
}

static void a_long_callstack_keeps_its_end(void **state)
{
	static char text[70000];
	struct ri_torch_error error;
	size_t length;

	(void)state;
	strcpy(text, "{\"message\": {\"message\": \"m\", \"extraInfo\": {\"py_callstack\": \"");
	for (int i = 0; i < 3000; i++)
		strcat(text, "a line of it\\n");
	strcat(text, "ValueError: end\"}}}");
	assert_true(ri_torch_error_read(SPAN_OF(text), &error));
	length = strlen(error.callstack);
	assert_true(length > 8000 && length < sizeof(error.callstack));
	assert_string_equal(error.callstack + length - 15, "ValueError: end");
	assert_int_equal(strncmp(error.callstack, "a line of it\n", 13), 0);
}

static void what_is_no_file_of_torch(void **state)
{
	static const char *const texts[] = {
		"", "null", "[]", "{}", "{\"message\": 1}", "{\"message\": {}}", "{\"message\": \"",
		"{\"message\": {\"message\": []}}", "\xff", "{\"message\": \"\xff\"}",
	};
	static const char *const undated[] = {
		"\"\"", "\"-1\"", "\"1e9\"", "0", "-5", "1e300", "[]", "null", "true",
	};
	struct ri_torch_error error;
	uint64_t seconds;
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (ri_torch_error_read(SPAN_OF(texts[i]), &error))
			fail_msg("taken: %s", texts[i]);
	for (size_t i = 0; i < sizeof(undated) / sizeof(undated[0]); i++) {
		snprintf(text, sizeof(text), "{\"timestamp\": %s}", undated[i]);
		if (ri_torch_error_time(SPAN_OF(text), &seconds))
			fail_msg("taken: %s", undated[i]);
	}
	/* the control */
	assert_true(ri_torch_error_time(SPAN_OF("{\"timestamp\": \"5\"}"), &seconds));
	assert_int_equal(seconds, 5);
}

static void times_are_those_of_iso_8601(void **state)
{
	char buffer[64];
	struct ri_text text;

	(void)state;
	text = ri_text_of(buffer, sizeof(buffer));
	ri_time_add(&text, (struct timespec){ .tv_sec = 1700000000, .tv_nsec = 7999999 });
	assert_string_equal(buffer, "2023-11-14T22:13:20.007Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nobody_failed, begin),
		cmocka_unit_test_setup(one_that_lingered, begin),
		cmocka_unit_test_setup(by_no_traceback_that_is_old, begin),
		cmocka_unit_test_setup(by_a_message_of_many_lines, begin),
		cmocka_unit_test_setup(by_the_order_of_reaping, begin),
		cmocka_unit_test_setup(each_way_to_fail, begin),
		cmocka_unit_test_setup(a_traceback_before_the_end_of_another, begin),
		cmocka_unit_test_setup(by_torch_s_file, begin),
		cmocka_unit_test_setup(torch_cuts_its_time_to_seconds, begin),
		cmocka_unit_test_setup(a_file_of_another_time_says_nothing, begin),
		cmocka_unit_test_setup(who_was_told_counts_with_a_witness_only, begin),
		cmocka_unit_test_setup(of_a_signal, begin),
		cmocka_unit_test_setup(of_what_python_says, begin),
		cmocka_unit_test_setup(of_an_end_of_another, begin),
		cmocka_unit_test_setup(of_a_handler, begin),
		cmocka_unit_test(a_file_of_torch),
		cmocka_unit_test(a_plain_file),
		cmocka_unit_test(a_long_callstack_keeps_its_end),
		cmocka_unit_test(what_is_no_file_of_torch),
		cmocka_unit_test(times_are_those_of_iso_8601),
	};

	return cmocka_run_group_tests_name("outcome", tests, NULL, NULL);
}
