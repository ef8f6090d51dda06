/* SPDX-License-Identifier: Apache-2.0 */
/* What stands below the first line of the verdict. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/culprit.h"
#include "report/verdict.h"

#define HEADER "Traceback (most recent call last):\n"
#define LIBRARY "  File \"/env/lib/python3.11/site-packages/torch/x.py\", line 5, in g\n    h()\n"
#define SHOWN \
	"      File \"/env/lib/python3.11/site-packages/torch/x.py\", line 5, in g\n        h()\n"
#define STACK "frame #0: c10::Error::Error(std::string) + 0x57 (0x7f in /lib/libc10.so)\n"

static struct ri_reason reason;
static char lines[(RI_REASON_LINES + 1) * 4 * RI_VERDICT_COLUMNS];

static const char *tell(struct ri_rank_outcome rank, const char *tail)
{
	struct ri_text out;

	rank.wrote.tail.at = tail;
	rank.wrote.tail.length = tail == NULL ? 0 : strlen(tail);
	ri_class_find(&rank);
	ri_reason_find(&rank, &reason);
	out = ri_text_of(lines, sizeof(lines));
	ri_reason_add(&out, &rank, &reason);
	assert_false(out.cut);
	return lines;
}

static const char *exited(const char *tail)
{
	return tell((struct ri_rank_outcome){ .end = RI_END_EXITED, .exit_code = 1 }, tail);
}

static const char *aborted(const char *tail)
{
	return tell((struct ri_rank_outcome){ .end = RI_END_SIGNALED, .signal = SIGABRT }, tail);
}

static void a_chain(void **state)
{
	(void)state;
	assert_string_equal(exited(HEADER "  File \"/job/data.py\", line 12, in get\n    d[k]\n"
		LIBRARY "KeyError: 'img'\n\nDuring handling of the above exception, another "
		"exception occurred:\n\n" HEADER "  File \"/job/train.py\", line 8, in <module>\n"
		"    main()\nRuntimeError: epoch 3 failed\n"),
		"  RuntimeError: epoch 3 failed\n"
		"  caused by: KeyError: 'img'\n"
		"    File \"/job/data.py\", line 12, in get\n"
		"    Traceback (most recent call last):\n"
		"      File \"/job/train.py\", line 8, in <module>\n"
		"        main()\n");
}

/* ray/gcs/gcs_server/gcs_actor_manager.cc, GenNodeDiedCause: below what the actor was. */
static void the_end_of_a_cause_s_message(void **state)
{
	(void)state;
	assert_string_equal(exited(HEADER "  File \"/job/run.py\", line 3, in step\n    get(x)\n"
		"ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this "
		"task.\n\tclass_name: Worker\n\tpid: 7\n\tip: 10.0.0.5\nThe actor is dead because "
		"its node has died. Node Id: 1a\n\nThe above exception was the direct cause of the "
		"following exception:\n\n" HEADER "  File \"/job/train.py\", line 8, in <module>\n"
		"    main()\nRuntimeError: epoch 3 failed\n"),
		"  RuntimeError: epoch 3 failed\n"
		"  caused by: ray.exceptions.ActorDiedError: The actor died unexpectedly before "
		"finishing this task.\n"
		"    ip: 10.0.0.5\n"
		"    The actor is dead because its node has died. Node Id: 1a\n"
		"    File \"/job/run.py\", line 3, in step\n"
		"    Traceback (most recent call last):\n"
		"      File \"/job/train.py\", line 8, in <module>\n"
		"        main()\n");
}

static void a_worker_and_the_user_s_own_frame(void **state)
{
	char text[2048] = HEADER LIBRARY
		"KeyError: Caught KeyError in DataLoader worker process 0.\n"
		"Original " HEADER LIBRARY "  File \"/job/data.py\", line 7, in __getitem__\n"
		"    return load(path)\n";

	(void)state;
	for (int i = 0; i < 9; i++)
		strcat(text, LIBRARY);
	strcat(text, "KeyError: 'img'\n");
	assert_string_equal(exited(text), "  KeyError: 'img'\n"
		"  raised in a worker: KeyError: Caught KeyError in DataLoader worker process 0.\n"
		"      File \"/job/data.py\", line 7, in __getitem__\n"
		"        return load(path)\n"
		SHOWN SHOWN SHOWN);
}

/* The cause stands in the last line of a message that a process above it wrote. */
static void all_of_the_message_before_it(void **state)
{
	(void)state;
	assert_non_null(strstr(exited("(W pid=7) " HEADER
		"(W pid=7)   File \"/a.py\", line 1, in f\n"
		"(W pid=7) DistBackendError: NCCL error in: x.cpp:8\n(W pid=7) Last error:\n"
		"(W pid=7) Error while creating shared memory segment\n" HEADER LIBRARY
		"RuntimeError: a worker failed\n"),
		"  RuntimeError: a worker failed\n"
		"  before it: DistBackendError: NCCL error in: x.cpp:8\n"
		"    Last error:\n"
		"    Error while creating shared memory segment\n"));
}

/* The middle gives way: what differs stands at the end. */
static void a_long_message(void **state)
{
	char text[4096] = HEADER LIBRARY "RuntimeError: Detected mismatch between collectives";
	const char *line;
	size_t length, count = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		strcat(text, " layout=Strided (default),");
	strcat(text, " Collectives differ in: Tensor shapes: 10vs 20\n");
	assert_non_null(strstr(exited(text), "  RuntimeError: Detected mismatch between "));
	assert_non_null(strstr(lines, "\n    ... "));
	assert_non_null(strstr(lines, " Collectives differ in: Tensor shapes: 10vs 20\n"));
	for (line = lines; *line != '\0'; line += length + 1, count++) {
		length = strcspn(line, "\n");
		assert_true(length <= RI_VERDICT_COLUMNS);
	}
	assert_int_equal(count, 4 + 3);
	/* what fits is not cut, and breaks at a blank */
	strcpy(text, HEADER LIBRARY "RuntimeError: x");
	for (int i = 0; i < 30; i++)
		strcat(text, " word-of-20-characters");
	strcat(text, " end\n");
	exited(text);
	assert_null(strstr(lines, "..."));
	assert_non_null(strstr(lines, "word-of-20-characters\n    word-of-20-characters "));
	assert_non_null(strstr(lines, " end\n"));
}

static void a_death_in_cpp(void **state)
{
	(void)state;
	assert_string_equal(aborted("epoch 1\n"
		"terminate called after throwing an instance of 'c10::Error'\n"
		"  what():  CUDA error: out of memory\nFor debugging consider passing X\n\n"
		"Exception raised from f at x.cpp:44 (most recent call first):\n" STACK STACK STACK
		STACK STACK STACK STACK STACK STACK STACK "node1:7:9 [0] NCCL INFO bye\n"),
		"  terminate called after throwing an instance of 'c10::Error'\n"
		"  what():  CUDA error: out of memory\n"
		"  its last lines on stderr:\n"
		"    epoch 1\n");
}

/* An exception explains no signal: it is quoted, and the words of the abort stand above it. */
static void an_abort_behind_a_traceback(void **state)
{
	(void)state;
	assert_non_null(strstr(aborted(HEADER LIBRARY "ValueError: bad batch 17\n"
		"terminate called without an active exception\nFatal Python error: Aborted\n\n"
		"Current thread 0x7f (most recent call first):\n  <no Python frame>\n\n"
		"Extension modules: numpy (total: 1)\n"), "    ValueError: bad batch 17\n"));
	assert_non_null(strstr(aborted(HEADER LIBRARY "ValueError: bad batch 17\n1\n2\n3\n4\n"
		"terminate called without an active exception\n"),
		"  terminate called without an active exception\n"));
	assert_false(ri_span_starts((struct ri_span){ lines, strlen(lines) }, "  ValueError"));
}

static void what_killed_a_worker(void **state)
{
	static const char killed[] = HEADER LIBRARY "RuntimeError: DataLoader worker (pid 7) is "
		"killed by signal: Aborted.\n";
	char text[1024];

	(void)state;
	snprintf(text, sizeof(text), "LLVM ERROR: pthread_join failed\n%s", killed);
	assert_non_null(strstr(exited(text), "  LLVM ERROR: pthread_join failed\n"
		"  raised then: RuntimeError: DataLoader worker (pid 7) is killed by signal: "
		"Aborted.\n"));
	/* what a program had handled shortly before did not kill it */
	snprintf(text, sizeof(text), HEADER LIBRARY "ValueError: bad image\n%s", killed);
	assert_true(ri_span_starts((struct ri_span){ exited(text), strlen(lines) },
		"  RuntimeError: DataLoader worker (pid 7) is killed by signal: Aborted.\n"
		"  before it: ValueError: bad image\n"));
	/* of one that speaks of no other */
	assert_null(strstr(exited("LLVM ERROR: x\n" HEADER LIBRARY "ValueError: 17\n"), "LLVM"));
	/* long ago */
	strcpy(text, "LLVM ERROR: x\n");
	for (int i = 0; i < 50; i++)
		strcat(text, "epoch\n");
	strcat(text, killed);
	assert_null(strstr(exited(text), "LLVM"));
	assert_non_null(strstr(exited("n:7:9 [0] NCCL WARN No space left on device\n"
		"n:7:9 [0] NCCL WARN later\n" HEADER LIBRARY
		"RuntimeError: NCCL error in: x.cpp:8\n"),
		"\n  before it: n:7:9 [0] NCCL WARN No space left on device\n"));
}

#define WORKER "Process Process-12:\n" HEADER LIBRARY "PanicException: no threads\n"
#define AGENT(exitcode) HEADER LIBRARY \
	"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" \
	"============\ntrain.py FAILED\n------------\nFailures:\n  <NO_OTHER_FAILURES>\n" \
	"------------\nRoot Cause (first observed failure):\n[0]:\n  time      : " \
	"2024-05-31_10:12:05\n  host      : n0\n  rank      : 1 (local_rank: 1)\n" \
	"  exitcode  : " exitcode " (pid: 7)\n  error_file: <N/A>\n"

/* An exception that brings the news of another process's end gives way to that one's words. */
static void news_of_another(void **state)
{
	static const char exit[] = HEADER LIBRARY "RuntimeError: DataLoader worker (pid(s) 7) "
		"exited unexpectedly\n";
	char text[2048];

	(void)state;
	snprintf(text, sizeof(text), WORKER "%s", exit);
	assert_non_null(strstr(exited(text), "  PanicException: no threads\n"
		"  raised then: RuntimeError: DataLoader worker (pid(s) 7) exited unexpectedly\n"));
	assert_true(ri_span_starts((struct ri_span){ exited(exit), strlen(lines) },
		"  RuntimeError: DataLoader"));
	/* of a kill it is not what a process raised */
	assert_true(ri_span_starts((struct ri_span){ exited("x.cc:4: f: Assertion `n' failed.\n"
		WORKER AGENT("-6")), strlen(lines) }, "  x.cc:4: f: Assertion `n' failed.\n"
		"  raised then: torch.distributed.elastic.multiprocessing.errors.Child"));
	assert_non_null(strstr(lines, "\n  before it: PanicException: no threads\n"));
	assert_null(strstr(lines, "train.py FAILED"));
	assert_true(ri_span_starts((struct ri_span){ exited("x.cc:4: f: Assertion `n' failed.\n"
		WORKER AGENT("1 ")), strlen(lines) }, "  PanicException: no threads\n"));
	/* where no rank said a word the table is all there is */
	assert_true(ri_span_starts((struct ri_span){ exited(AGENT("-9")), strlen(lines) },
		"  torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
		"  ============\n  train.py FAILED\n"));
	/* other exceptions are not moved */
	assert_true(ri_span_starts((struct ri_span){ exited(WORKER HEADER LIBRARY
		"KeyError: 1\n"), strlen(lines) },
		"  KeyError: 1\n  before it: PanicException"));
}

static void last_lines_that_are_worth_it(void **state)
{
	char text[4096] = "cannot open the data\n";

	(void)state;
	for (int i = 0; i < 20; i++)
		strcat(text, "wandb: Run history\nn:7:9 [0] NCCL INFO x\n\n");
	strcat(text, "\r  3%|#   | 3/100 [00:03<01:00,  1.00it/s]\n");
	assert_string_equal(exited(text),
		"  its last lines on stderr:\n    cannot open the data\n");
	/* there is nothing else */
	assert_string_equal(exited("wandb: bye\n 10%|#  | 1/9 [0<1, 1it/s]\r"
		" 20%|## | 2/9 [1<1, 1it/s]"),
		"  its last lines on stderr:\n    wandb: bye\n     20%|## | 2/9 [1<1, 1it/s]\n");
	assert_string_equal(exited("\n \n"), "  it wrote nothing to stderr: look at its stdout\n");
	/* a signal is a reason, and what was not kept may have been said */
	assert_string_equal(aborted(""), "");
	assert_string_equal(tell((struct ri_rank_outcome){ .end = RI_END_EXITED }, NULL), "");
	/* a line that decides stands above the others */
	assert_string_equal(exited("loading\nERROR: no data\ngiving up\n"), "  ERROR: no data\n"
		"  its last lines on stderr:\n    loading\n    giving up\n");
}

static void never_too_long(void **state)
{
	static char text[60000];
	const char *line;
	unsigned count = 0;

	(void)state;
	strcpy(text, "LLVM ERROR: a\nLLVM ERROR: b\n" HEADER LIBRARY "OSError: 0\n" HEADER);
	for (int i = 0; i < 3; i++) {
		strcat(text, LIBRARY LIBRARY LIBRARY LIBRARY LIBRARY "KeyError: killed by signal");
		for (int j = 0; j < 200; j++)
			strcat(text, " a very long message");
		strcat(text, i == 2 ? "\n" : "\n\nThe above exception was the direct cause of the "
			"following exception:\n\n" HEADER);
	}
	strcat(text, "more\nmore\nmore\nmore\n");
	tell((struct ri_rank_outcome){ .end = RI_END_EXITED, .exit_code = 1,
		.wrote.log = "/log" }, text);
	for (line = lines; *line != '\0'; line++)
		count += *line == '\n';
	assert_int_equal(count, RI_REASON_LINES);
	assert_non_null(strstr(lines, "\n  caused by: KeyError: "));
	assert_non_null(strstr(lines, "\n        h()\n  log: /log\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain),
		cmocka_unit_test(the_end_of_a_cause_s_message),
		cmocka_unit_test(a_worker_and_the_user_s_own_frame),
		cmocka_unit_test(all_of_the_message_before_it),
		cmocka_unit_test(a_long_message),
		cmocka_unit_test(a_death_in_cpp),
		cmocka_unit_test(an_abort_behind_a_traceback),
		cmocka_unit_test(what_killed_a_worker),
		cmocka_unit_test(news_of_another),
		cmocka_unit_test(last_lines_that_are_worth_it),
		cmocka_unit_test(never_too_long),
	};

	return cmocka_run_group_tests_name("reason", tests, NULL, NULL);
}
