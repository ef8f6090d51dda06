/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/traceback.h"

#define HEADER "Traceback (most recent call last):\n"
#define CHAIN "\nDuring handling of the above exception, another exception occurred:\n\n"
#define CAUSE "\nThe above exception was the direct cause of the following exception:\n\n"
#define FRAME(file, line, function) "  File \"" file "\", line " line ", in " function "\n"

static struct ri_traceback find(const char *text)
{
	struct ri_traceback found = { .lines_after = 0 };

	if (!ri_traceback_find((struct ri_span){ text, strlen(text) }, &found))
		fail_msg("nothing in: %s", text);
	return found;
}

static void is(struct ri_span span, const char *expected)
{
	char copy[2048];

	assert_true(span.length < sizeof(copy));
	if (span.length > 0)
		memcpy(copy, span.at, span.length);
	copy[span.length] = '\0';
	assert_string_equal(copy, expected);
}

/* The last line, and the place of the innermost frame. */
static void expect(const char *text, const char *last, const char *place)
{
	struct ri_traceback found = find(text);
	char copy[256];

	is(found.last, last);
	snprintf(copy, sizeof(copy), "%.*s:%.*s:%.*s", (int)found.file.length, found.file.at,
		(int)found.line.length, found.line.at, (int)found.function.length,
		found.function.at);
	assert_string_equal(copy, place);
}

static void a_plain_one(void **state)
{
	static const char text[] = "epoch 1\n" HEADER FRAME("/app/train.py", "9", "<module>")
		"    main()\n" FRAME("/app/step.py", "41", "step")
		"    raise ValueError(\"bad batch\")\n"
		"    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
		"ValueError: bad batch\n";
	struct ri_traceback found = find(text);

	(void)state;
	expect(text, "ValueError: bad batch", "/app/step.py:41:step");
	is(found.prefix, "");
	is(found.more, "");
	is(found.member, "");
	assert_int_equal(found.lines_after, 0);
	assert_true(found.whole.at == text + strlen("epoch 1\n"));
	assert_int_equal(found.whole.length, strlen(text) - strlen("epoch 1\n") - 1);
}

static void there_is_none(void **state)
{
	static const char *const texts[] = {
		"", "\n\n", "epoch 1\nepoch 2", "Traceback", "  File \"x\", line 1",
		"  File \"x\", line 1\nNameError: x", "  File \"x\", line 1\n    x\nplain words\n",
		"Traceback (most recent call last): but more\nValueError: 1\n",
	};
	struct ri_traceback out, before;

	(void)state;
	memset(&out, 7, sizeof(out));
	memcpy(&before, &out, sizeof(out));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (ri_traceback_find((struct ri_span){ texts[i], strlen(texts[i]) }, &out))
			fail_msg("taken: %s", texts[i]);
		assert_memory_equal(&out, &before, sizeof(out));
	}
}

static void the_last_of_a_chain_counts_and_the_whole_is_kept(void **state)
{
	static const char text[] = HEADER FRAME("/a.py", "1", "load") "    x[k]\n    ~^^^\n"
		"KeyError: 'k'\n" CHAIN HEADER FRAME("/b.py", "2", "train")
		"RuntimeError: no batch\n" CAUSE HEADER FRAME("/c.py", "3", "main")
		"SystemError: the end\n";
	struct ri_traceback found = find(text);

	(void)state;
	expect(text, "SystemError: the end", "/c.py:3:main");
	assert_true(found.whole.at == text);
}

static void of_two_that_are_no_chain_the_later(void **state)
{
	static const char first[] = HEADER FRAME("/a.py", "1", "f") "KeyError: 1\n\n";
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), "%s%s", first, HEADER FRAME("/b.py", "2", "g") "OSError\n");
	expect(text, "OSError", "/b.py:2:g");
	assert_true(find(text).whole.at == text + strlen(first));
}

static void lines_of_a_message(void **state)
{
	static const char text[] = HEADER FRAME("/a.py", "1", "f")
		"torch.cuda.OutOfMemoryError: CUDA out of memory.\r\nTried to allocate 2 GiB\n"
		"a note\n\nnot of it\n";
	struct ri_traceback found = find(text);

	(void)state;
	is(found.last, "torch.cuda.OutOfMemoryError: CUDA out of memory.");
	is(found.more, "Tried to allocate 2 GiB\na note");
	assert_int_equal(found.lines_after, 1);
}

static void endless_messages_are_bounded(void **state)
{
	char text[8192] = HEADER "ValueError: many\n";
	struct ri_traceback found;

	(void)state;
	for (int i = 0; i < 100; i++)
		strcat(text, "line\n");
	found = find(text);
	assert_int_equal(found.more.length, 15 * strlen("line\n") - 1);
	assert_int_equal(found.lines_after, 85);
}

static void syntax_errors(void **state)
{
	static const char bare[] = "  File \"/app/b.py\", line 2\n    x = (\n        ^\n"
		"SyntaxError: '(' was never closed\n";
	char imported[512];

	(void)state;
	expect(bare, "SyntaxError: '(' was never closed", "/app/b.py:2:");
	snprintf(imported, sizeof(imported), "%s%s",
		HEADER FRAME("/app/c.py", "1", "<module>") "    import b\n", bare);
	expect(imported, "SyntaxError: '(' was never closed", "/app/b.py:2:");
	expect("  File \"x.py\", line 3\n    y\nIndentationError: unexpected indent\n",
		"IndentationError: unexpected indent", "x.py:3:");
	expect(HEADER "ValueError: 1\n\n  File \"x.py\", line 3\n    y\nTabError: mixed\n",
		"TabError: mixed", "x.py:3:");
}

static void torch_writes_the_rank_before_each_line(void **state)
{
	static const char text[] = "[rank2]: Traceback (most recent call last):\n"
		"[rank2]:   File \"/a.py\", line 1, in f\nanother thread\n"
		"[rank2]:     g()\n[rank2]: ValueError: bad\n[rank2]: more of it\n[rank2]:\n"
		"[W] destroying\n";
	struct ri_traceback found = find(text);

	(void)state;
	expect(text, "ValueError: bad", "/a.py:1:f");
	is(found.prefix, "[rank2]: ");
	is(ri_traceback_line(&found, found.more), "more of it");
	assert_int_equal(found.lines_after, 1);
}

static void a_logger_writes_something_before_the_header_alone(void **state)
{
	expect("2026-01-01 ERROR Traceback (most recent call last):\n"
		FRAME("/a.py", "1", "f") "    g()\nValueError: bad\n",
		"ValueError: bad", "/a.py:1:f");
	(void)state;
}

static void a_worker_s_own_traceback_is_the_cause(void **state)
{
	static const char loader[] = HEADER FRAME("/torch/_utils.py", "700", "reraise")
		"RuntimeError: Caught RuntimeError in DataLoader worker process 0.\n"
		"Original Traceback (most recent call last):\n" FRAME("/app/data.py", "5", "get")
		"    raise OSError(5)\nOSError: 5\n";
	static const char spawned[] = HEADER FRAME("/torch/spawn.py", "1", "join")
		"torch.multiprocessing.spawn.ProcessRaisedException: \n\n"
		"-- Process 1 terminated with the following error:\n" HEADER
		FRAME("/app/x.py", "7", "worker") "ValueError: in it\n\n";

	(void)state;
	expect(loader, "OSError: 5", "/app/data.py:5:get");
	assert_true(find(loader).whole.at == loader);
	expect(spawned, "ValueError: in it", "/app/x.py:7:worker");
	assert_true(find(spawned).whole.at == spawned);
}

static void groups(void **state)
{
	static const char text[] = "  + Exception Group Traceback (most recent call last):\n"
		"  |   File \"/g.py\", line 8, in <module>\n  |     run()\n"
		"  | ExceptionGroup: tasks (2 sub-exceptions)\n"
		"  +-+---------------- 1 ----------------\n"
		"    | Traceback (most recent call last):\n"
		"    |   File \"/g.py\", line 1, in leaf\n    |     raise ValueError(0)\n"
		"    | ValueError: 0\n"
		"    +---------------- 2 ----------------\n"
		"    | Traceback (most recent call last):\n"
		"    |   File \"/h.py\", line 2, in other\n"
		"    | OSError: 1\n"
		"    +------------------------------------\nafter\n";
	struct ri_traceback found = find(text);

	(void)state;
	expect(text, "ExceptionGroup: tasks (2 sub-exceptions)", "/g.py:1:leaf");
	is(found.member, "ValueError: 0");
	assert_int_equal(found.lines_after, 1);
	found = find("[rank0]:   + Exception Group Traceback (most recent call last):\n"
		"[rank0]:   |   File \"/g.py\", line 8, in f\n"
		"[rank0]:   | ExceptionGroup: one\n");
	is(found.last, "ExceptionGroup: one");
	is(found.member, "");
}

static void what_ended_nothing_gives_way(void **state)
{
	static const char real[] = HEADER FRAME("/a.py", "1", "f") "ValueError: real\n";
	static const char *const words[] = {
		"Exception ignored in: <function D.__del__ at 0x7f>\n",
		"Exception in thread Thread-1 (run):\n",
		"--- Logging error ---\n",
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		snprintf(text, sizeof(text), "%s%s%s", real, words[i],
			HEADER FRAME("/b.py", "2", "g") "OSError: aside\n");
		expect(text, "ValueError: real", "/a.py:1:f");
		is(find(text).more, "");
		assert_int_equal(find(text).lines_after, 3);
		snprintf(text, sizeof(text), "%s%s%s", words[i],
			HEADER FRAME("/b.py", "2", "g") "OSError: aside\n\n", real);
		expect(text, "ValueError: real", "/a.py:1:f");
		snprintf(text, sizeof(text), "%s%s", words[i],
			HEADER FRAME("/b.py", "2", "g") "OSError: alone\n");
		expect(text, "OSError: alone", "/b.py:2:g");
	}
}

static void one_that_breaks_off(void **state)
{
	expect(HEADER FRAME("/a.py", "1", "f"), "", "/a.py:1:f");
	expect(HEADER FRAME("/a.py", "1", "f") "ValueError: x\n\n" HEADER
		FRAME("/b.py", "2", "g"), "ValueError: x", "/a.py:1:f");
	(void)state;
}

static void lines_of_other_threads_in_between(void **state)
{
	expect(HEADER FRAME("/a.py", "1", "f") "Epoch 3: loss 2.5\nstep 4 of 5\n"
		FRAME("/b.py", "2", "g") "mypkg.Err<int>: bad: very\n",
		"mypkg.Err<int>: bad: very", "/b.py:2:g");
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_one),
		cmocka_unit_test(there_is_none),
		cmocka_unit_test(the_last_of_a_chain_counts_and_the_whole_is_kept),
		cmocka_unit_test(of_two_that_are_no_chain_the_later),
		cmocka_unit_test(lines_of_a_message),
		cmocka_unit_test(endless_messages_are_bounded),
		cmocka_unit_test(syntax_errors),
		cmocka_unit_test(torch_writes_the_rank_before_each_line),
		cmocka_unit_test(a_logger_writes_something_before_the_header_alone),
		cmocka_unit_test(a_worker_s_own_traceback_is_the_cause),
		cmocka_unit_test(groups),
		cmocka_unit_test(what_ended_nothing_gives_way),
		cmocka_unit_test(one_that_breaks_off),
		cmocka_unit_test(lines_of_other_threads_in_between),
	};

	return cmocka_run_group_tests_name("traceback", tests, NULL, NULL);
}
