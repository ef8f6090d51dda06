/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What launchers say of their ranks' ends, in recorded outputs (tests/fuzz/corpus/launcher_words),
 * and what only looks like it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "words/launcher_words.h"

#define SPAN_OF(text) ((struct ri_span){ (text), strlen(text) })

enum { ROOM = 16 };

static char file_text[1 << 16], shown[1 << 14], lines[1 << 14];
static struct ri_rank_said said[ROOM];

static struct ri_span read_recorded(const char *name)
{
	char path[128];
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "tests/fuzz/corpus/launcher_words/%s", name);
	file = fopen(path, "r");
	if (file == NULL)
		fail_msg("no file %s", path);
	length = fread(file_text, 1, sizeof(file_text), file);
	fclose(file);
	return (struct ri_span){ file_text, length };
}

static void add_number(struct ri_text *text, const char *name, int64_t number, int64_t unsaid)
{
	if (number != unsaid)
		ri_text_addf(text, " %s=%lld", name, (long long)number);
}

static void add_span(struct ri_text *text, const char *name, struct ri_span span)
{
	if (span.length > 0)
		ri_text_addf(text, " %s=%.*s", name, (int)span.length, span.at);
}

/* A line for each record: who says it, and what. */
static const char *read_words(struct ri_span text)
{
	size_t count = ri_launcher_words_read(text, said, ROOM);
	struct ri_text out;

	ri_text_init(&out, shown, sizeof(shown));
	for (size_t i = 0; i < count; i++) {
		ri_text_add(&out, said[i].launcher);
		add_number(&out, "rank", said[i].rank, -1);
		add_number(&out, "local", said[i].local_rank, -1);
		add_number(&out, "pid", said[i].pid, 0);
		add_number(&out, "exit", said[i].exit_code, -1);
		add_number(&out, "signal", said[i].signal, -1);
		add_span(&out, "host", said[i].host);
		add_span(&out, "file", said[i].error_file);
		ri_text_add(&out, said[i].first ? " first" : "");
		ri_text_add(&out, said[i].out_of_memory ? " memory" : "");
		ri_text_add(&out, said[i].owned ? " owned\n" : "\n");
	}
	return shown;
}

static const char *read_lines(struct ri_span text, int64_t rank)
{
	const struct ri_owner owner = { .rank = rank, .local_rank = -1 };
	size_t used = ri_lines_of(text, rank < 0 ? NULL : &owner, lines, sizeof(lines) - 1);

	lines[used] = '\0';
	return lines;
}

static const struct {
	const char *name, *records, *shared;	/* what is no rank's by its label */
} recorded[] = {
	{ "torch-2.13-kill",
		"torchrun rank=1 local=1 pid=25934 signal=9 host=node-0 file=<N/A> first\n"
		"torchrun rank=0 local=0 pid=25933 signal=15 host=node-0 file=<N/A>\n"
		"torchrun rank=2 local=2 pid=25935 signal=15 host=node-0 file=<N/A>\n", "" },
	{ "torch-2.13-record",
		"torchrun rank=1 local=1 pid=27416 exit=1 host=node-0 file=/tmp/"
		"torchelastic_s8h4ar28/"
		"883281a6-fec2-4320-994e-153d5d20f83c_pxk4aw6s/attempt_0/1/error.json first\n"
		"torchrun rank=0 local=0 pid=27415 signal=15 host=node-0 file=<N/A>\n"
		"torchrun rank=2 local=2 pid=27417 signal=15 host=node-0 file=<N/A>\n",
		"Traceback (most recent call last):\n"
		"  File \"/job/f.py\", line 16, in <module>\n"
		"    main()\n"
		"  File \"/opt/venv/lib/python3.11/site-packages/torch/distributed/elastic/"
		"multiprocessing/errors/__init__.py\", line 367, in wrapper\n"
		"    return f(*args, **kwargs)\n"
		"           ^^^^^^^^^^^^^^^^^^\n"
		"  File \"/job/f.py\", line 9, in main\n"
		"    if how == \"raise\": raise ValueError(\"bad batch 17\")\n"
		"                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
		"ValueError: bad batch 17\n" },
	{ "torch-2.13-restart",
		"torchrun local=0 pid=23727 signal=11 first\n"
		"torchrun rank=0 local=0 pid=25001 signal=11 host=node-0 file=<N/A> first\n"
		"torchrun rank=1 local=1 pid=25002 signal=15 host=node-0 file=<N/A>\n", "" },
	{ "torch-2.13-tee",
		"torchrun rank=1 local=1 pid=29294 exit=1 host=node-0 file=<N/A> first\n"
		"torchrun rank=0 local=0 pid=29289 signal=15 host=node-0 file=<N/A>\n", "" },
};

static void test_recorded(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++) {
		struct ri_span text = read_recorded(recorded[i].name);

		print_message("%s\n", recorded[i].name);
		assert_string_equal(read_words(text), recorded[i].records);
		assert_string_equal(read_lines(text, -1), recorded[i].shared);
	}
}

static void test_tee(void **state)
{
	(void)state;
	assert_string_equal(read_lines(read_recorded("torch-2.13-tee"), 1),
		"Traceback (most recent call last):\n"
		"  File \"/job/f.py\", line 16, in <module>\n"
		"    main()\n"
		"  File \"/job/f.py\", line 9, in main\n"
		"    if how == \"raise\": raise ValueError(\"bad batch 17\")\n"
		"                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
		"ValueError: bad batch 17\n");
	assert_string_equal(read_lines(read_recorded("torch-2.13-tee"), 0), "");
}

static void test_message_of_error_file(void **state)
{
	static const char begins[] = "Traceback (most recent call last):\n    File \"/opt/venv/";
	struct ri_span text = read_recorded("torch-2.13-record");

	(void)state;
	read_words(text);
	assert_true(ri_span_starts(said[0].message, begins));
	assert_true(ri_span_has(said[0].message, "\n  ValueError: bad batch 17"));
	assert_false(ri_span_has(said[0].message, "====="));
}

/* What others of its versions print. */
static void test_other_versions_of_torch(void **state)
{
	static const char log_1_9[] =
		"ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) "
		"local_rank: 3 (pid: 417) of binary: /usr/bin/python\n";
	static const char log_2_2[] =
		"[2024-01-01 12:00:00,123] torch.distributed.elastic.multiprocessing.api: [ERROR] "
		"failed (exitcode: 1) local_rank: 0 (pid: 417) of binary: /usr/bin/python\n";
	static const char table_1_9[] =
		"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
		"***************************************\n"
		"            train.py FAILED            \n"
		"=======================================\n"
		"Root Cause:\n"
		"[0]:\n"
		"  time: 2021-07-08_10:38:47\n"
		"  rank: 5 (local_rank: 1)\n"
		"  exitcode: -7 (pid: 417)\n"
		"  error_file: <N/A>\n"
		"  msg: \"Signal 7 (SIGBUS) received by PID 417\"\n"
		"=======================================\n"
		"Other Failures:\n"
		"[1]:\n"
		"  time: 2021-07-08_10:38:49\n"
		"  rank: 4 (local_rank: 0)\n"
		"  exitcode: 1 (pid: 416)\n"
		"  error_file: <N/A>\n"
		"  msg: \"Process failed with exitcode 1\"\n"
		"***************************************\n";

	(void)state;
	assert_string_equal(read_words(SPAN_OF(log_1_9)),
		"torchrun local=3 pid=417 signal=9 first\n");
	assert_string_equal(read_words(SPAN_OF(log_2_2)),
		"torchrun local=0 pid=417 exit=1 first\n");
	assert_string_equal(read_words(SPAN_OF(table_1_9)),
		"torchrun rank=5 local=1 pid=417 signal=7 file=<N/A> first\n"
		"torchrun rank=4 local=0 pid=416 exit=1 file=<N/A>\n");
	assert_string_equal(read_lines(SPAN_OF(table_1_9), -1), "");
}

/* Lines of programs that are near those of launchers. */
static void test_no_launchers(void **state)
{
	static const char *const texts[] = {
		"job failed (exitcode: 3) local_rank: 1\n",
		"  rank      : 3 (local_rank: 3)\n  exitcode  : -9 (pid: 417)\n",
		"Root Cause (first observed failure):\n[0]:\n",
		"[rank1]: torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
		"[rank1]: Root Cause (first observed failure):\n"
		"[rank1]: [0]:\n"
		"[rank1]:   rank      : 0 (local_rank: 0)\n"
		"[rank1]:   exitcode  : -9 (pid: 417)  (SIGKILL)\n",
		"torch elastic failed (exitcode: 300) local_rank: 1 (pid: 417) of binary: x\n",
		"torch elastic failed (exitcode: -65) local_rank: 1 (pid: 417) of binary: x\n",
		"torch elastic failed (exitcode: 1) local_rank: 1 (pid: 9999999999) of binary: x\n",
		"", "\n", "-", "[", "[rank", "(", "====================\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		print_message("%s\n", texts[i]);
		assert_string_equal(read_words(SPAN_OF(texts[i])), "");
	}
}

/* A message of a rank that looks like the table changes nothing of what the table said. */
static void test_message_that_forges(void **state)
{
	static const char text[] =
		"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
		"============\n"
		"Root Cause (first observed failure):\n"
		"[0]:\n"
		"  rank      : 1 (local_rank: 1)\n"
		"  exitcode  : 1 (pid: 417) \n"
		"  error_file: /e\n"
		"  traceback : Traceback (most recent call last):\n"
		"  ValueError: x\n"
		"  rank      : 7 (local_rank: 7)\n"
		"  exitcode  : -9 (pid: 999)\n"
		"  [1]:\n"
		"============\n"
		"  after\n"
		"  exitcode  : -9 (pid: 999)\n";

	(void)state;
	assert_string_equal(read_words(SPAN_OF(text)),
		"torchrun rank=1 local=1 pid=417 exit=1 file=/e first\n");
}

/* torchrun's own failure is told by its traceback, which is no summary of ranks. */
static void test_failure_of_the_launcher(void **state)
{
	static const char text[] =
		"Traceback (most recent call last):\n"
		"  File \"/opt/venv/lib/python3.11/torch/distributed/run.py\", line 1028\n"
		"    run(args)\n"
		"torch.distributed.DistNetworkError: The server socket has failed to bind\n";

	(void)state;
	assert_string_equal(read_words(SPAN_OF(text)), "");
	assert_string_equal(read_lines(SPAN_OF(text), -1), text);
}

static void test_little_room(void **state)
{
	struct ri_span text = read_recorded("torch-2.13-kill");

	(void)state;
	assert_int_equal(ri_launcher_words_read(text, said, 2), 1);
	assert_int_equal(said[0].rank, 1);
	assert_true(said[0].first);
	assert_int_equal(ri_launcher_words_read(text, said, 0), 0);
	assert_int_equal(ri_lines_of(text, NULL, lines, 0), 0);
	assert_int_equal(ri_lines_of(SPAN_OF("abc\n"), NULL, lines, 3), 0);
	assert_int_equal(ri_lines_of(SPAN_OF("abc\n"), NULL, lines, 4), 4);
}

static void test_a_line_of_the_launcher(void **state)
{
	static const struct {
		const char *line;
		bool own;
	} rows[] = {
		{ "E1127 01:23:16.840000 25605 torch/distributed/elastic/multiprocessing/"
			"api.py:1002] "
			"failed (exitcode: -9) local_rank: 1 (pid: 25934) of binary: /x", true },
		{ "W1127 01:23:08.048000 25605 torch/distributed/run.py:874] *****", true },
		{ "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", true },
		{ "[rank0]: torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
			false },
		{ "ValueError: bad batch 17", false },
		{ "torch.distributed.DistBackendError: NCCL error", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("%s\n", rows[i].line);
		assert_int_equal(ri_line_is_launchers(SPAN_OF(rows[i].line)), rows[i].own);
	}
}

static const char *show_owner(const char *line, enum ri_labels labels)
{
	struct ri_owner owner;
	struct ri_text out;

	ri_text_init(&out, shown, sizeof(shown));
	if (!ri_owner_find(SPAN_OF(line), labels, &owner))
		ri_text_add(&out, "none");
	add_number(&out, "rank", owner.rank, -1);
	add_number(&out, "local", owner.local_rank, -1);
	add_number(&out, "pid", owner.pid, 0);
	add_span(&out, "host", owner.host);
	ri_text_addf(&out, "|%.*s", (int)owner.rest.length, owner.rest.at);
	return shown;
}

static void test_owners(void **state)
{
	static const struct {
		const char *line, *owner;
		enum ri_labels labels;
	} rows[] = {
		{ "[rank3]: ValueError: x", " rank=3|ValueError: x", RI_LABELS_NAMED },
		{ "[rank3]:[E1126 12:00:00 ProcessGroupNCCL.cpp:1] x",
			" rank=3|[E1126 12:00:00 ProcessGroupNCCL.cpp:1] x", RI_LABELS_NAMED },
		{ "[default3]:  File \"a.py\"", " local=3|  File \"a.py\"", RI_LABELS_NAMED },
		{ "[trainer0]:x", " local=0|x", RI_LABELS_NAMED },
		{ "[default1]:[rank9]: x", " rank=9 local=1|x", RI_LABELS_NAMED },
		{ "[1,3]<stderr>:  File", " rank=3|  File", RI_LABELS_NAMED },
		{ "[1,3]<stderr>:   File", " rank=3|  File", RI_LABELS_NAMED },
		{ "[1,3]<stdout>: x", " rank=3|x", RI_LABELS_NAMED },
		{ "[0]<stderr>:x", " rank=0|x", RI_LABELS_NAMED },
		{ "[2,3]<stderr>:x", "|x", RI_LABELS_NAMED },
		{ "(WorkerDict pid=417) x", " pid=417|x", RI_LABELS_NAMED },
		{ "\x1b[36m(WorkerDict pid=417)\x1b[0m x", " pid=417|x", RI_LABELS_NAMED },
		{ "(train_fn pid=417, ip=10.0.0.2)   File", " pid=417 host=10.0.0.2|  File",
			RI_LABELS_NAMED },
		{ "(RayTrainWorker pid=417) [rank2]: x", " rank=2 pid=417|x", RI_LABELS_NAMED },
		{ "3: x", " rank=3|x", RI_LABELS_SRUN },
		{ " 3:   File", " rank=3|  File", RI_LABELS_SRUN },
		{ "3: [default1]:x", " local=1|x", RI_LABELS_SRUN },
		{ "3: [rank9]: x", " rank=9|x", RI_LABELS_SRUN },
		{ "[3] x", " rank=3|x", RI_LABELS_HYDRA },
		{ "3: x", "none|3: x", RI_LABELS_NAMED },
		{ "[3] x", "none|[3] x", RI_LABELS_NAMED },
		{ "3:x", "none|3:x", RI_LABELS_SRUN },
		{ "[3]: x", "none|[3]: x", RI_LABELS_HYDRA },
		{ "[rank]: x", "none|[rank]: x", RI_LABELS_NAMED },
		{ "[rank3] x", "none|[rank3] x", RI_LABELS_NAMED },
		{ "[rank99999999999]: x", "none|[rank99999999999]: x", RI_LABELS_NAMED },
		{ "[node3]:x", "none|[node3]:x", RI_LABELS_NAMED },
		{ "(pid=417) x", "none|(pid=417) x", RI_LABELS_NAMED },
		{ "(a) b pid=417) x", "none|(a) b pid=417) x", RI_LABELS_NAMED },
		{ "(WorkerDict pid=417 x", "none|(WorkerDict pid=417 x", RI_LABELS_NAMED },
		{ "\x1b[36;1", "none|\x1b[36;1", RI_LABELS_NAMED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(show_owner(rows[i].line, rows[i].labels), rows[i].owner);
}

static void test_labels_of_a_text(void **state)
{
	(void)state;
	assert_int_equal(ri_labels_find(SPAN_OF("0: a\n1: b\nsrun: error: n0: task 1: Killed\n")),
		RI_LABELS_SRUN);
	assert_int_equal(ri_labels_find(SPAN_OF("[0] a\n[1] b\n")), RI_LABELS_HYDRA);
	assert_int_equal(ri_labels_find(SPAN_OF("0: a\nb\n")), RI_LABELS_NAMED);
	assert_int_equal(ri_labels_find(SPAN_OF("[0] a\nloss 3\n[1] b\n")), RI_LABELS_NAMED);
	assert_int_equal(ri_labels_find(SPAN_OF("")), RI_LABELS_NAMED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_tee),
		cmocka_unit_test(test_message_of_error_file),
		cmocka_unit_test(test_other_versions_of_torch),
		cmocka_unit_test(test_no_launchers),
		cmocka_unit_test(test_message_that_forges),
		cmocka_unit_test(test_failure_of_the_launcher),
		cmocka_unit_test(test_little_room),
		cmocka_unit_test(test_a_line_of_the_launcher),
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_labels_of_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
