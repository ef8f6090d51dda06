/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers' words behind what somebody put before each line, and behind the number of a node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "words/words.h"
#include "said_of.h"

enum { ROOM = 16 };

static char plain[1 << 16], behind[1 << 17];
static char shown[2][1 << 14];

/* What is read of a text: its records, the lines of no rank, and those of rank 1. */
static const char *read_all(char *out, size_t size, struct ri_span text)
{
	static char lines[1 << 16];
	const struct ri_owner one = { .rank = 1, .local_rank = 1 };
	struct ri_rank_said said[ROOM];
	struct ri_words_place place;
	size_t count = ri_launcher_words_read(text, said, ROOM);
	struct ri_text written;

	written = ri_text_of(out, size);
	for (size_t i = 0; i < count; i++) {
		ri_text_add(&written, said[i].launcher);
		add_number(&written, "rank", said[i].rank, -1);
		add_number(&written, "local", said[i].local_rank, -1);
		add_number(&written, "pid", said[i].pid, 0);
		add_number(&written, "exit", said[i].exit_code, -1);
		add_number(&written, "signal", said[i].signal, -1);
		add_span(&written, "host", said[i].host);
		add_span(&written, "file", said[i].error_file);
		ri_text_add(&written, said[i].owned ? " owned\n" : "\n");
	}
	for (int of_rank = 0; of_rank < 2; of_rank++) {
		count = ri_lines_of(text, of_rank == 1 ? &one : NULL, lines, sizeof(lines),
			&place);
		ri_text_addf(&written, "--\n%.*s", (int)count, lines);
	}
	return out;
}

/* The text with this before each line, in which # is a number that grows. */
static struct ri_span put_before(struct ri_span text, const char *prefix)
{
	struct ri_span line;
	struct ri_text out;

	out = ri_text_of(behind, sizeof(behind));
	for (int number = 8; ri_span_line(&text, &line); number++) {
		for (const char *at = prefix; *at != '\0'; at++)
			if (*at == '#')
				ri_text_addf(&out, "%d", number);
			else
				ri_text_addf(&out, "%c", *at);
		ri_text_addf(&out, "%.*s\n", (int)line.length, line.at);
	}
	assert_true(out.length < sizeof(behind) - 1);
	return (struct ri_span){ behind, out.length };
}

static struct ri_span read_recorded(const char *name)
{
	char path[128];
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "tests/fuzz/corpus/launcher_words/%s", name);
	file = fopen(path, "r");
	if (file == NULL)
		fail_msg("no file %s", path);
	length = fread(plain, 1, sizeof(plain), file);
	fclose(file);
	return (struct ri_span){ plain, length };
}

static void is_the_same(const char *name, const char *prefix, const char *more)
{
	struct ri_span text = read_recorded(name);
	const char *one = read_all(shown[0], sizeof(shown[0]), text);
	size_t length;

	text = put_before(text, prefix);
	length = text.length;
	text.length += (size_t)snprintf(behind + length, sizeof(behind) - length, "%s", more);
	print_message("%s behind %s\n", name, prefix);
	assert_string_equal(read_all(shown[1], sizeof(shown[1]), text), one);
}

static const char *const of_torchrun[] = {
	"torch-2.4-raise", "torch-2.4-kill", "torch-2.8-exit", "torch-2.13-kill",
	"torch-2.13-record", "torch-2.13-tee",
};

/* As if it was not there: what was recorded has a prefix of nemo-run, of a log, of a pod. */
static void test_a_prefix_of_each_line(void **state)
{
	static const char *const prefixes[] = {
		"nemo.collections.llm.api.finetune/0 ", "2026-11-29 12:00:#,123 | ",
		"[pod/train-#/main] ", "node-3|",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of_torchrun) / sizeof(of_torchrun[0]); i++)
		for (size_t k = 0; k < sizeof(prefixes) / sizeof(prefixes[0]); k++)
			is_the_same(of_torchrun[i], prefixes[k], "");
}

/* One in five lines may be another's, as a shell's around the pipe. */
static void test_lines_without_it(void **state)
{
	static const char shell[] = "bash: line 1: 417 Segmentation fault  ./train | tee log\n";
	static const char few[] = "n/0 Traceback (most recent call last):\n"
		"n/0   File \"t.py\", line 1, in <module>\nn/0 ValueError: x\n"
		"n/0 a\nn/0 b\nn/0 c\nn/0 d\n";
	static const char half[] = "n/0 Traceback (most recent call last):\nw\n"
		"n/0   File \"t\"\nx\nn/0 ValueError: x\ny\n"
		"n/0 a\nz\nn/0 b\nu\nn/0 c\nv\nn/0 d\nt\nn/0 e\ns\n";
	char *shared = shown[0];
	size_t length;

	(void)state;
	read_all(shown[1], sizeof(shown[1]), put_before(read_recorded("torch-2.13-tee"), "n/0 "));
	length = strlen(behind);
	snprintf(behind + length, sizeof(behind) - length, "%s", shell);
	read_all(shown[0], sizeof(shown[0]), SPAN_OF(behind));
	assert_non_null(strstr(shared, shell));
	assert_null(strstr(shared, "n/0"));
	/* seven lines, or one in two, may begin alike for another reason */
	assert_string_equal(strstr(read_all(shown[0], sizeof(shown[0]), SPAN_OF(few)), "n/0"),
		"n/0 Traceback (most recent call last):\n"
		"n/0   File \"t.py\", line 1, in <module>\nn/0 ValueError: x\n"
		"n/0 a\nn/0 b\nn/0 c\nn/0 d\n--\n");
	assert_non_null(strstr(read_all(shown[0], sizeof(shown[0]), SPAN_OF(half)), "n/0 Value"));
}

/* A log whose lines begin alike has them, and a rank's label is no such prefix. */
static void test_what_is_none(void **state)
{
	static char text[4096], labelled[4096];
	size_t used = 0, length = 0;

	(void)state;
	for (int i = 0; i < 12; i++) {
		used += (size_t)snprintf(text + used, sizeof(text) - used,
			"vm:%d:417 [0] NCCL %s x\n", i, i == 11 ? "WARN" : "INFO");
		length += (size_t)snprintf(labelled + length, sizeof(labelled) - length,
			"n/0 [rank%d]: %s\n", i % 2, i < 2 ? "Traceback (most recent call last):"
			: "  y");
	}
	read_all(shown[0], sizeof(shown[0]), SPAN_OF(text));
	assert_non_null(strstr(shown[0], "--\nvm:0:417 [0] NCCL INFO x\n"));
	assert_non_null(strstr(shown[0], "vm:11:417 [0] NCCL WARN x\n"));
	assert_string_equal(read_all(shown[0], sizeof(shown[0]), SPAN_OF(labelled)),
		"--\n--\nTraceback (most recent call last):\n  y\n  y\n  y\n  y\n  y\n");
}

/* srun -l and mpirun in front of torchrun: their numbers are nodes, as are those of their ends. */
static void test_numbers_of_nodes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(of_torchrun) / sizeof(of_torchrun[0]); i++)
		is_the_same(of_torchrun[i], "3: ",
			"srun: error: n3: task 3: Exited with exit code 1\n");
	is_the_same("torch-2.13-kill", "[1,3]<stderr>:", "");
	is_the_same("torch-2.13-tee", "[1,3]<stderr>:", "");
	/* without -l, too */
	is_the_same("torch-2.13-tee", "", "srun: error: n3: task 3: Exited with exit code 1\n");
	/* ranks whose numbers are others than those of the tasks */
	assert_string_equal(read_all(shown[0], sizeof(shown[0]), SPAN_OF("0: [rank0]: a\n"
		"1: [rank9]: b\n1: [rank1]x\nsrun: error: n1: task 1: Killed\n")),
		"--\n[rank1]x\n--\n");
}

/* Tasks that are ranks stay so: what one of them quotes of torchrun is its own. */
static void test_numbers_of_ranks(void **state)
{
	(void)state;
	assert_string_equal(read_all(shown[0], sizeof(shown[0]), SPAN_OF("0: [rank0]: a\n"
		"1: [rank1]: b\n0: torch.distributed.elastic.multiprocessing.errors."
		"ChildFailedError: \n0: [1]:\n0:   rank      : 5 (local_rank: 5)\n"
		"0:   exitcode  : 1 (pid: 417)\nsrun: error: n1: task 1: Killed\n")),
		"torchrun rank=5 local=5 pid=417 exit=1 owned\nsrun rank=1 signal=9 host=n1\n"
		"--\n--\nb\n");
	assert_string_equal(read_all(shown[0], sizeof(shown[0]), SPAN_OF("0: a\n1: b\n"
		"srun: error: n1: task 1: Killed\n")), "srun rank=1 signal=9 host=n1\n--\n--\nb\n");
}

/* What Lightning says of a rank, and what is near that. */
static void test_lightning(void **state)
{
	static const char said[] = "[rank: 1] Child process with PID 417 terminated with code ";
	static const char rest[] = ". Forcefully terminating all other processes to avoid zombies";
	static char text[256];

	(void)state;
	snprintf(text, sizeof(text), "%s1%s \xf0\x9f\xa7\x9f\n", said, rest);
	assert_string_equal(read_all(shown[0], sizeof(shown[0]), SPAN_OF(text)),
		"lightning local=1 pid=417 exit=1\n--\n--\n");
	snprintf(text, sizeof(text), "%s-9%s\n", said, rest);
	assert_string_equal(read_all(shown[0], sizeof(shown[0]), SPAN_OF(text)),
		"lightning local=1 pid=417 signal=9\n--\n--\n");
	snprintf(text, sizeof(text), "[rank1]: %s1%s\n", said, rest);
	assert_non_null(strstr(read_all(shown[0], sizeof(shown[0]), SPAN_OF(text)), "--\n--\n"));
	snprintf(text, sizeof(text), "%s1.\n[rank: 1] Seed set to 42\n", said);
	assert_string_equal(strstr(read_all(shown[0], sizeof(shown[0]), SPAN_OF(text)), "--"),
		"--\n[rank: 1] Child process with PID 417 terminated with code 1.\n"
		"[rank: 1] Seed set to 42\n--\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_prefix_of_each_line),
		cmocka_unit_test(test_lines_without_it),
		cmocka_unit_test(test_what_is_none),
		cmocka_unit_test(test_numbers_of_nodes),
		cmocka_unit_test(test_numbers_of_ranks),
		cmocka_unit_test(test_lightning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
