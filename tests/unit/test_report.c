/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict for people and the report for programs. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "report/culprit.h"
#include "report/members.h"
#include "report/verdict.h"
#include "topology_of.h"

#define TRACEBACK \
	"epoch 1\nTraceback (most recent call last):\n" \
	"  File \"/app/train.py\", line 9, in <module>\n    main(api_key=\"hunter2\")\n    ^^^^\n" \
	"  File \"/app/step.py\", line 41, in step\n    raise ValueError(\"bad\")\n" \
	"ValueError: bad batch token=hunter2\n"

#define LOSS "RuntimeError: [x/gloo/transport/tcp/pair.cc:5] Connection closed by peer [::1]"

enum { MANY = 512 };

static struct ri_rank_outcome ranks[MANY];
static struct ri_outcome outcome;
static struct ri_reason reason;
static char bytes[4 << 20];

/* Four ranks of which none failed. */
static int begin(void **state)
{
	(void)state;
	topology = (struct ri_topology){ .identity = NULL };
	for (int i = 0; i < MANY; i++)
		ranks[i] = (struct ri_rank_outcome){
			.rank = 8 + (uint64_t)i, .local_rank = (uint64_t)i, .pid = 100 + i,
			.end = RI_END_EXITED, .started = { .tv_sec = 1700000000 },
			.ended = { .tv_sec = 1700000001, .tv_nsec = 500000000 },
		};
	outcome = (struct ri_outcome){
		.topology = &topology, .launch = "process", .host = "node-a", .command = "/bin/x",
		.ranks = ranks, .count = 4, .first = -1, .started = { .tv_sec = 1700000000 },
		.ended = { .tv_sec = 1700000002 },
	};
	return 0;
}

static const char *verdict(void)
{
	struct ri_text out;

	if (outcome.first >= 0) {
		ri_class_find(&ranks[outcome.first]);
		ri_reason_find(&ranks[outcome.first], &reason);
		outcome.reason = &reason;
	}
	out = ri_text_of(bytes, RI_VERDICT_SIZE);
	ri_verdict_render(&outcome, &out);
	assert_false(out.cut);
	return bytes;
}

static json_t *report(void)
{
	const struct ri_report document = { .version = "1.2.3", .outcome = &outcome };
	struct ri_text out;
	json_t *object;

	if (outcome.first >= 0) {
		ri_class_find(&ranks[outcome.first]);
		ri_reason_find(&ranks[outcome.first], &reason);
		outcome.reason = &reason;
	}
	out = ri_text_of(bytes, sizeof(bytes));
	assert_int_equal(ri_report_render(&(struct ri_json){ .escapes = 0 }, &document, &out), 0);
	assert_int_equal(bytes[out.length - 1], '\n');
	object = json_loads(bytes, 0, NULL);
	assert_non_null(object);
	return object;
}

static void fail_rank(int index, const char *tail)
{
	ranks[index].exit_code = 1;
	ranks[index].wrote.tail.at = tail;
	ranks[index].wrote.tail.length = strlen(tail);
	outcome.first = index;
	outcome.exit_status = 1;
}

static unsigned count_lines(const char *text)
{
	unsigned count = 0;

	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

static void nothing_to_say(void **state)
{
	(void)state;
	assert_string_equal(verdict(), "");
	outcome.stop.signal = SIGTERM;
	assert_string_equal(verdict(), "");
}

static void a_value_error_in_rank_2_of_4(void **state)
{
	(void)state;
	fail_rank(2, TRACEBACK);
	ranks[0] = (struct ri_rank_outcome){ .rank = 8, .end = RI_END_SIGNALED, .signal = SIGTERM,
		.told_to_stop = true };
	ranks[3] = ranks[0];
	ranks[3].rank = 11;
	assert_string_equal(verdict(),
		"rank 10 (local rank 2, pid 102 on node-a) failed first: exit status 1, after "
		"1.500 s, at 2023-11-14T22:13:21.500Z\n"
		"  ValueError: bad batch token=***\n"
		"    Traceback (most recent call last):\n"
		"      File \"/app/train.py\", line 9, in <module>\n"
		"        main(api_key=\"***\")\n"
		"      File \"/app/step.py\", line 41, in step\n"
		"        raise ValueError(\"bad\")\n"
		"  ranks 8, 11: told to stop, killed by SIGTERM (15)\n"
		"  rank 9: exit status 0\n"
		"  the job's exit status is 1\n");
}

static void last_lines_where_there_is_no_traceback(void **state)
{
	(void)state;
	fail_rank(0, "one\n\nMY_KEY=hunter2\n\033[1;31mred\033[m \033[2Jx\nlast");
	assert_non_null(strstr(verdict(), "on stderr:\n    one\n    MY_KEY=***\n"
		"    red \\x1b[2Jx\n    last\n"));
	/* half a line may be half a secret */
	ranks[0].wrote.cut = true;
	assert_null(strstr(verdict(), "one"));
}

static const char *text_of(json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static void each_way_to_end(void **state)
{
	static const struct {
		struct ri_rank_outcome rank;
		const char *text, *kind;
	} ends[] = {
		{ { .end = RI_END_EXITED, .exit_code = 7 }, "exit status 7", "exit" },
		{ { .end = RI_END_SIGNALED, .signal = SIGSEGV, .core = true },
			"killed by SIGSEGV (11), core dumped", "signal" },
		{ { .end = RI_END_SIGNALED, .signal = SIGKILL, .oom = true },
			"killed by SIGKILL (9): out of memory", "oom" },
		{ { .end = RI_END_EXEC_FAILED }, "could not be started\n", "exec" },
	};
	json_t *object;

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		ranks[1] = ends[i].rank;
		outcome.first = 1;
		if (strstr(verdict(), ends[i].text) == NULL)
			fail_msg("%s not in %s", ends[i].text, bytes);
		object = report();
		assert_string_equal(json_string_value(json_object_get(
			json_object_get(object, "first_failure"), "kind")), ends[i].kind);
		json_decref(object);
	}
}

static void an_old_traceback_is_no_reason(void **state)
{
	char tail[4096] = TRACEBACK;

	(void)state;
	for (int i = 0; i < 5; i++)
		strcat(tail, "a line\n");
	fail_rank(1, tail);
	assert_non_null(strstr(verdict(), "  ValueError: bad batch"));
	assert_null(strstr(bytes, "its last lines"));
	ranks[1].end = RI_END_SIGNALED;
	ranks[1].signal = SIGSEGV;
	assert_non_null(strstr(verdict(), "its last lines"));
	ranks[1].end = RI_END_EXITED;
	ranks[1].ended.tv_sec = 1000;
	ranks[1].traceback_at.tv_sec = 940;
	assert_non_null(strstr(verdict(), "its last lines"));
}

static void torch_s_file_where_stderr_tells_nothing(void **state)
{
	static const char plain[] = "{\"message\": \"OSError: PASS=hunter2\"}";
	static const char whole[] = "{\"message\": {\"message\": \"OSError: x\", \"extraInfo\": "
		"{\"py_callstack\": \"Traceback (most recent call last):\\n  File \\\"/a.py\\\", "
		"line 3, in f\\nOSError: x\\n\"}}}";

	(void)state;
	fail_rank(0, "some line\n");
	ranks[0].wrote.torch_error.at = plain;
	ranks[0].wrote.torch_error.length = strlen(plain);
	assert_non_null(strstr(verdict(), "  OSError: PASS=***\n"));
	assert_null(strstr(bytes, "some line"));
	ranks[0].wrote.torch_error.at = whole;
	ranks[0].wrote.torch_error.length = strlen(whole);
	assert_non_null(strstr(verdict(), "  OSError: x\n    Traceback"));
	assert_non_null(strstr(bytes, "File \"/a.py\", line 3, in f\n"));
}

static void a_stop_from_outside(void **state)
{
	(void)state;
	outcome.stop.signal = SIGTERM;
	outcome.exit_status = 143;
	for (int i = 0; i < 4; i++)
		ranks[i] = (struct ri_rank_outcome){ .rank = (uint64_t)i, .told_to_stop = true,
			.end = RI_END_SIGNALED, .signal = SIGTERM };
	assert_string_equal(verdict(), "stopped by SIGTERM from outside this container; exit "
		"status 143\n  ranks 0-3: told to stop, killed by SIGTERM (15)\n");
	outcome.stop.sender = 17;
	assert_non_null(strstr(verdict(), "from pid 17;"));
	outcome.stop.signal = SIGINT;
	outcome.stop.by_terminal = true;
	assert_non_null(strstr(verdict(), "stopped by SIGINT from the terminal;"));
}

static void a_plain_init(void **state)
{
	json_t *object, *rank;

	(void)state;
	fail_rank(0, "");
	outcome.count = 1;
	assert_true(strstr(verdict(), "x (pid 100 on node-a) failed: exit status 1") == bytes);
	object = report();
	rank = json_array_get(json_object_get(object, "ranks"), 0);
	assert_true(json_is_null(json_object_get(rank, "rank")));
	assert_true(json_is_null(json_object_get(rank, "local_rank")));
	json_decref(object);
}

/* As long as can be: each line, the message, the frames, the kinds of ends. */
static void the_longest_verdict_is_bounded(void **state)
{
	static char tail[RI_MAX_TAIL * 2];
	static const struct ri_cause cause = { .subject = "x", .text = "y", .hint = "z" };
	static const struct ri_restarts restarts = { .count = 1, .all = 2 };
	const char *line;
	size_t length;

	(void)state;
	outcome.count = MANY;
	strcpy(tail, "Traceback (most recent call last):\n");
	for (int i = 0; i < 100; i++)
		sprintf(tail + strlen(tail), "  File \"%0300d\", line %d, in f\n", i, i);
	strcat(tail, "ValueError: bad\n");
	for (int i = 0; i < 20; i++)
		sprintf(tail + strlen(tail), "\xe2\x82\xac%0400d\n", i);
	fail_rank(0, tail);
	ranks[0].wrote.log = tail;
	outcome.restarts = &restarts;
	outcome.cause = &cause;
	for (int i = 1; i < MANY; i++) {
		ranks[i].exit_code = i % 255;
		ranks[i].told_to_stop = i % 2 != 0;
	}
	assert_true(count_lines(verdict()) <= RI_VERDICT_LINES);
	for (line = bytes; *line != '\0'; line += length + 1) {
		length = strcspn(line, "\n");
		assert_true(length <= RI_VERDICT_COLUMNS);
	}
	assert_non_null(strstr(bytes, "other ranks ended in"));
	/* two kinds in turn: the list of ranks is what is long */
	for (int i = 1; i < MANY; i++)
		ranks[i].exit_code = i % 2;
	assert_true(count_lines(verdict()) <= RI_VERDICT_LINES);
	assert_non_null(strstr(bytes, ", ...: "));
}

static void the_last_line_is_among_the_first_five(void **state)
{
	char *end;

	(void)state;
	fail_rank(2, TRACEBACK);
	end = strstr(verdict(), "ValueError: bad batch");
	assert_non_null(end);
	*end = '\0';
	assert_true(count_lines(bytes) < 5);
}

static void the_document(void **state)
{
	static const char *const keys[] = {
		"schema", "version", "exit_status", "launch", "host", "started", "ended",
		"topology", "ranks", "first_failure", "job_verdict", "check",
		"job_verdict_node", "stop", "facts", "roll_call", "roll_call_unproved", "clock",
		"autopsy", "job_autopsy", "refusal", "restarts", "verdict",
	};
	json_t *object, *first, *rank;

	take(LIST(RANK_13));
	fail_rank(2, TRACEBACK);
	ranks[2].wrote.log = "/logs/\xff.log";
	object = report();
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		assert_non_null(json_object_get(object, keys[i]));
	assert_int_equal(json_object_size(object), sizeof(keys) / sizeof(keys[0]));
	rank = json_object_get(json_object_get(object, "topology"), "rank");
	assert_int_equal(json_integer_value(json_object_get(rank, "value")), 13);
	assert_string_equal(text_of(rank, "variable"), "OMPI_COMM_WORLD_RANK");
	assert_string_equal(text_of(object, "started"), "2023-11-14T22:13:20.000Z");
	rank = json_array_get(json_object_get(object, "ranks"), 2);
	assert_int_equal(json_integer_value(json_object_get(rank, "rank")), 10);
	assert_string_equal(json_string_value(json_object_get(rank, "state")), "exited");
	assert_string_equal(json_string_value(json_object_get(rank, "log")), "/logs/\\xff.log");
	first = json_object_get(object, "first_failure");
	assert_int_equal(json_integer_value(json_object_get(first, "rank")), 10);
	assert_int_equal(json_integer_value(json_object_get(first, "exit_code")), 1);
	assert_true(json_is_null(json_object_get(first, "signal")));
	assert_true(json_is_null(json_object_get(first, "torch_error")));
	assert_non_null(strstr(json_string_value(json_object_get(first, "traceback")),
		"in step\n    raise ValueError(\"bad\")\nValueError: bad batch token=***"));
	assert_int_equal(json_array_size(json_object_get(first, "last_lines")), 8);
	assert_null(strstr(bytes, "hunter2"));
	json_decref(object);
	give_back(state);
}

/* For who compares nodes: facts, the stop, what the link named, whose loss it was. */
static void what_stands_beside_it(void **state)
{
	static const struct ri_node_fact facts[] = { { "kernel", "6.1" }, { "NCCL_X", "\xff" } };
	json_t *object, *first;

	(void)state;
	object = report();
	assert_int_equal(json_object_size(json_object_get(object, "facts")), 0);
	assert_true(json_is_null(json_object_get(object, "stop")));
	assert_true(json_is_null(json_object_get(object, "roll_call")));
	json_decref(object);
	fail_rank(1, "Traceback (most recent call last):\n  File \"a.py\", line 1, in b\n"
		"    c()\n" LOSS "\n");
	ri_class_find(&ranks[1]);
	outcome.facts.items = facts;
	outcome.facts.count = 2;
	outcome.link.roll_call = "node 1 has not connected";
	outcome.stop.signal = SIGTERM;
	outcome.stop.at.tv_sec = 1700000000;
	outcome.link.verdict = &(const struct ri_verdict){ .rank = 7, .node = 3 };
	outcome.link.text = "rank 7 failed first\n";
	outcome.link.found = &(const struct ri_report_found){
		.text = "of 8 ranks 7 wait in all_reduce\n",
	};
	object = report();
	first = json_object_get(object, "job_autopsy");
	assert_string_equal(text_of(first, "text"), outcome.link.found->text);
	assert_string_equal(text_of(json_object_get(object, "facts"), "NCCL_X"), "\\xff");
	first = json_object_get(object, "stop");
	assert_string_equal(text_of(first, "signal"), "SIGTERM");
	assert_string_equal(text_of(first, "at"), "2023-11-14T22:13:20.000Z");
	assert_string_equal(text_of(object, "roll_call"), "node 1 has not connected");
	assert_int_equal(json_integer_value(json_object_get(object, "job_verdict_node")), 3);
	assert_string_equal(json_string_value(json_object_get(json_array_get(json_object_get(
		object, "ranks"), 1), "lost")), "peer");
	first = json_object_get(json_object_get(object, "first_failure"), "reason");
	assert_string_equal(json_string_value(json_array_get(first, 0)), LOSS);
	assert_string_equal(json_string_value(json_array_get(first, 2)),
		"    File \"a.py\", line 1, in b");
	json_decref(object);
}

static void what_explains_the_end(void **state)
{
	struct ri_cause cause = {
		.code = RI_CODE_SHM_FREE_SMALL, .subject = "/dev/shm", .text = "was full",
		.hint = "make it larger",
	};
	static const char line[] = "\n  /dev/shm was full: make it larger [shm.free.small]\n";
	json_t *object, *member;

	(void)state;
	fail_rank(1, "x\n");
	object = report();
	member = json_object_get(json_object_get(object, "first_failure"), "cause");
	assert_true(json_is_null(member));
	json_decref(object);
	outcome.cause = &cause;
	assert_non_null(strstr(verdict(), line));
	cause.shown = true;
	assert_null(strstr(verdict(), "/dev/shm"));
	object = report();
	member = json_object_get(json_object_get(object, "first_failure"), "cause");
	assert_int_equal(json_object_size(member), 4);
	assert_string_equal(json_string_value(json_object_get(member, "code")), "shm.free.small");
	assert_string_equal(json_string_value(json_object_get(member, "subject")), "/dev/shm");
	assert_string_equal(json_string_value(json_object_get(member, "text")), "was full");
	assert_string_equal(json_string_value(json_object_get(member, "hint")), "make it larger");
	json_decref(object);
}

static void restarts_before_it(void **state)
{
	static struct ri_restarts restarts = { .count = 1, .all = 1, .items[0].known = true };
	json_t *object, *member;

	(void)state;
	fail_rank(1, TRACEBACK);
	restarts.items[0].first = ranks[1];
	outcome.restarts = &restarts;
	object = report();
	member = json_array_get(json_object_get(object, "restarts"), 0);
	member = json_object_get(member, "rank");
	assert_int_equal(json_integer_value(json_object_get(member, "rank")), 9);
	json_decref(object);
	/* all nodes started theirs: what failed here is not why */
	restarts.items[0] = (struct ri_restart){ .of_job = true, .words = "rank 1 failed first",
		.verdict = { .rank = 1, .node = 2 } };
	object = report();
	member = json_array_get(json_object_get(object, "restarts"), 0);
	assert_true(json_is_null(json_object_get(member, "rank")));
	assert_true(json_is_null(json_object_get(member, "exception")));
	assert_string_equal(json_string_value(json_object_get(member, "job_verdict")),
		"rank 1 failed first");
	member = json_object_get(member, "verdict");
	assert_int_equal(json_integer_value(json_object_get(member, "node")), 2);
	json_decref(object);
}

static void why_a_start_failed(void **state)
{
	static char text[600];
	struct ri_cause cause = {
		.code = RI_CODE_EXEC_NOT_FOUND, .subject = "\xff", .text = "it is not there",
		.hint = "", .shown = true,
	};
	const char *line;
	json_t *object;

	(void)state;
	fail_rank(1, "");
	ranks[1].end = RI_END_EXEC_FAILED;
	outcome.cause = &cause;
	assert_non_null(strstr(verdict(), "could not be started\n"));
	assert_non_null(strstr(bytes, ": it is not there [exec.not_found]\n"));
	cause.hint = "look for it";
	assert_non_null(strstr(verdict(), ": it is not there; look for it [exec.not_found]\n"));
	object = report();
	json_decref(object);
	memset(text, 'x', sizeof(text) - 1);
	cause.text = text;
	line = strstr(verdict(), "\n  ") + 1;
	assert_true(strcspn(line, "\n") <= RI_VERDICT_COLUMNS);
}

static void secrets_in_torch_s_file(void **state)
{
	static const char file[] = "{\"message\": \"x --token hunter2\", \"api_key\": \"hunter2\", "
		"\"a\": [{\"b\": \"https://u:hunter2@h/\"}], \"n\": 5, \"secrets\": {\"c\": "
		"\"hunter2\"}, \"env\": {\"name\": \"HF_TOKEN\", \"value\": \"hunter2\"}, "
		"\"max_tokens\": \"many\", "
		"\"deep\": [[[[[[[[[[[[[[[[[[\"hunter2\"]]]]]]]]]]]]]]]]]]}";
	json_t *object, *error;

	(void)state;
	fail_rank(1, "x\n");
	ranks[1].wrote.torch_error.at = file;
	ranks[1].wrote.torch_error.length = strlen(file);
	object = report();
	error = json_object_get(json_object_get(object, "first_failure"), "torch_error");
	assert_string_equal(json_string_value(json_object_get(error, "message")), "x --token ***");
	assert_int_equal(json_integer_value(json_object_get(error, "n")), 5);
	assert_string_equal(json_string_value(json_object_get(error, "max_tokens")), "many");
	assert_null(strstr(bytes, "hunter2"));
	json_decref(object);
}

static void what_does_not_fit_is_refused(void **state)
{
	const struct ri_report document = { .version = "1", .outcome = &outcome };
	struct ri_text out;
	size_t whole;

	(void)state;
	out = ri_text_of(bytes, sizeof(bytes));
	assert_int_equal(ri_report_render(&(struct ri_json){ .escapes = 0 }, &document, &out), 0);
	whole = out.length;
	out = ri_text_of(bytes, whole + 1);
	assert_int_equal(ri_report_render(&(struct ri_json){ .escapes = 0 }, &document, &out), 0);
	out = ri_text_of(bytes, whole);
	assert_int_equal(ri_report_render(&(struct ri_json){ .escapes = 0 }, &document, &out), -1);
}

/* Memory for so many allocations, and no more. */
static int left;

static void *take_some(size_t size)
{
	return left-- > 0 ? malloc(size) : NULL;
}

static void memory_that_runs_out_is_said(void **state)
{
	const struct ri_report document = { .version = "1", .outcome = &outcome };
	struct ri_text out;
	int needed, status = -1;

	(void)state;
	take(LIST(RANK_13, "MASTER_ADDR=h"));
	fail_rank(2, TRACEBACK);
	ranks[2].wrote.torch_error.at = "{\"message\": [\"x\", {\"a\": 1}]}";
	ranks[2].wrote.torch_error.length = strlen(ranks[2].wrote.torch_error.at);
	ranks[2].wrote.log = "\xff";
	ri_reason_find(&ranks[2], &reason);
	outcome.reason = &reason;
	json_set_alloc_funcs(take_some, free);
	for (needed = 0; status < 0 && needed < 100000; needed++) {
		left = needed;
		out = ri_text_of(bytes, sizeof(bytes));
		status = ri_report_render(&(struct ri_json){ .escapes = 0 }, &document, &out);
	}
	json_set_alloc_funcs(malloc, free);
	assert_int_equal(status, 0);
	assert_true(needed > 100);
	give_back(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nothing_to_say, begin),
		cmocka_unit_test_setup(a_value_error_in_rank_2_of_4, begin),
		cmocka_unit_test_setup(last_lines_where_there_is_no_traceback, begin),
		cmocka_unit_test_setup(each_way_to_end, begin),
		cmocka_unit_test_setup(an_old_traceback_is_no_reason, begin),
		cmocka_unit_test_setup(torch_s_file_where_stderr_tells_nothing, begin),
		cmocka_unit_test_setup(a_stop_from_outside, begin),
		cmocka_unit_test_setup(a_plain_init, begin),
		cmocka_unit_test_setup(the_longest_verdict_is_bounded, begin),
		cmocka_unit_test_setup(the_last_line_is_among_the_first_five, begin),
		cmocka_unit_test_setup(the_document, begin),
		cmocka_unit_test_setup(what_stands_beside_it, begin),
		cmocka_unit_test_setup(what_explains_the_end, begin),
		cmocka_unit_test_setup(restarts_before_it, begin),
		cmocka_unit_test_setup(why_a_start_failed, begin),
		cmocka_unit_test_setup(secrets_in_torch_s_file, begin),
		cmocka_unit_test_setup(what_does_not_fit_is_refused, begin),
		cmocka_unit_test_setup(memory_that_runs_out_is_said, begin),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
