/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What launchers say of their ranks' ends, in recorded outputs (tests/fuzz/corpus/launcher_words),
 * and what only looks like it.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "words/words.h"
#include "said_of.h"

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

/* A line for each record: who says it, and what. */
static const char *read_words(struct ri_span text)
{
	size_t count = ri_launcher_words_read(text, said, ROOM);
	struct ri_text out;

	out = ri_text_of(shown, sizeof(shown));
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
	size_t used = ri_lines_of(text, rank < 0 ? NULL : &owner, lines, sizeof(lines) - 1,
		NULL);

	lines[used] = '\0';
	return lines;
}

#define RANK_1(name, end) \
	{ name, "torchrun rank=1 local=1 pid=" end " host=node-0 file=<N/A> first\n", NULL }
static const struct {
	const char *name, *records;
	const char *shared;	/* what is no rank's by its label; NULL: not compared */
} recorded[] = {
	RANK_1("torch-2.4-raise", "6587 exit=1"), RANK_1("torch-2.4-kill", "9451 signal=9"),
	RANK_1("torch-2.4-exit", "11362 exit=3"), RANK_1("torch-2.8-raise", "15275 exit=1"),
	RANK_1("torch-2.8-kill", "16959 signal=9"), RANK_1("torch-2.8-exit", "22489 exit=3"),
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
	{ "accelerate-1.15-one", "accelerate exit=1 first\n",
		"Traceback (most recent call last):\n"
		"  File \"/job/f.py\", line 4, in <module>\n"
		"    rank=int(os.environ[\"RANK\"])\n"
		"             ~~~~~~~~~~^^^^^^^^\n"
		"  File \"<frozen os>\", line 679, in __getitem__\n"
		"KeyError: 'RANK'\n" },
	{ "deepspeed-0.19-exit", "deepspeed local=1 exit=3 first\n", "" },
	{ "openmpi-4.1-abort", "mpirun rank=1 exit=7 first\n",
		"MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\n"
		"with errorcode 7.\n" },
	{ "openmpi-4.1-exit", "mpirun rank=1 exit=3 first\n",
		"hello 1 21019\nhello 0 21018\nhello 2 21020\n" },
	{ "openmpi-4.1-kill", "mpirun rank=1 signal=9 host=node-0 first\n",
		"hello 0 21648\nhello 1 21649\nhello 2 21651\n" },
	{ "openmpi-4.1-tag", "mpirun rank=1 signal=11 host=node-0 first\n", "" },
	{ "openmpi-5.0-abort", "mpirun rank=1 exit=7 first\n",
		"MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\n"
		"  Errorcode: 7\n" },
	{ "openmpi-5.0-exit", "mpirun rank=1 exit=3 first\n",
		"hello 0 14789\nhello 2 14792\nhello 1 14791\n" },
	{ "openmpi-5.0-kill", "mpirun rank=1 pid=14834 signal=9 host=node-0 first\n",
		"hello 1 14834\nhello 0 14833\nhello 2 14837\n" },
	{ "openmpi-5.0-rank", "mpirun rank=1 pid=14902 signal=11 host=node-0 first\n", "" },
	{ "openmpi-5.0-tag", "mpirun rank=1 pid=14867 signal=11 host=node-0 first\n", "" },
	/* rank 1, pid 26652, was killed; MPICH tells rank 0's pid */
	{ "mpich-4.0-kill", "mpiexec signal=9 host=node-0\n",
		"hello 1 26652\nhello 0 26651\nhello 2 26654\n\n" },
	{ "mpich-4.0-label", "mpiexec pid=26776 signal=11 host=node-0\n", "\n" },
	{ "intel-2021.19-kill", "mpiexec rank=1 pid=15554 signal=9 host=node-0\n",
		"hello 0 15553\nhello 1 15554\nhello 2 15555\n\n" },
	{ "slurm-22.05-exit", "srun rank=0 exit=3 host=n0\nsrun rank=1 exit=3 host=n0\n"
		"srun rank=2 exit=3 host=n1\n", "" },
	{ "slurm-22.05-kill", "srun rank=3 signal=9 host=n1\n", "hi 2\nhi 1\nhi 3\nhi 0\n" },
	{ "slurm-22.05-label", "srun rank=1 exit=5 host=n0\nsrun rank=8 exit=143 host=n2\n"
		"srun rank=0 signal=15 host=n0\nsrun rank=3 signal=15 host=n0\n"
		"srun rank=2 exit=143 host=n0\nsrun rank=9 signal=15 host=n2\n"
		"srun rank=10 signal=15 host=n2\nsrun rank=11 signal=15 host=n2\n"
		"srun rank=4 exit=143 host=n1\nsrun rank=5 signal=15 host=n1\n"
		"srun rank=6 signal=15 host=n1\nsrun rank=7 signal=15 host=n1\n", "" },
	{ "spawn-2.13-kill", "torch.multiprocessing.spawn local=1 signal=9 first\n", NULL },
	{ "spawn-2.13-exit", "torch.multiprocessing.spawn local=1 exit=3 first\n", NULL },
	{ "spawn-2.13-raise", "torch.multiprocessing.spawn local=1 first\n", NULL },
};

static void test_recorded(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++) {
		struct ri_span text = read_recorded(recorded[i].name);

		print_message("%s\n", recorded[i].name);
		assert_string_equal(read_words(text), recorded[i].records);
		if (recorded[i].shared != NULL)
			assert_string_equal(read_lines(text, -1), recorded[i].shared);
	}
}

static void test_labels(void **state)
{
	(void)state;
	assert_string_equal(read_lines(read_recorded("openmpi-4.1-tag"), 1), "hello 1 22591\n");
	assert_string_equal(read_lines(read_recorded("openmpi-5.0-tag"), 1), "hello 1 14867\n");
	assert_string_equal(read_lines(read_recorded("openmpi-5.0-rank"), 1), "hello 1 14902\n");
	assert_string_equal(read_lines(read_recorded("mpich-4.0-label"), 1), "hello 1 26776\n");
	assert_string_equal(read_lines(read_recorded("slurm-22.05-label"), 4),
		"hi 4\nTerminated\n");
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

/* The parent's exception has the reason in it. */
static void test_spawn_keeps_its_words(void **state)
{
	(void)state;
	read_lines(read_recorded("spawn-2.13-raise"), -1);
	assert_non_null(strstr(lines, "\n-- Process 1 terminated with the following error:\n"
		"Traceback (most recent call last):\n"));
	assert_non_null(strstr(lines, "\nValueError: bad batch 17\n"));
	assert_null(strstr(lines, "Terminating process"));
	read_lines(read_recorded("spawn-2.13-kill"), -1);
	assert_non_null(strstr(lines, ": process 1 terminated with signal SIGKILL\n"));
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
	read_words(SPAN_OF(table_1_9));
	assert_true(ri_span_starts(said[0].message, "\"Signal 7 (SIGBUS) received by PID 417\""));
}

/* Forms of documents and sources, whose programs are not on this machine. */
static void test_documented(void **state)
{
	static const struct {
		const char *text, *records;
	} rows[] = {
		{ "prterun noticed that process rank 17 with PID 417 on node\n"
			"a-long-name.example exited on signal 9 (Killed).\n",
			"mpirun rank=17 pid=417 signal=9 host=a-long-name.example first\n" },
		{ "prterun noticed that process rank 17 with PID 417 on node n1 exited\n"
			"on signal 11 (Segmentation fault).\n",
			"mpirun rank=17 pid=417 signal=11 host=n1 first\n" },
		{ "prterun has exited due to process rank 1 with PID 0 on node n1 calling\n"
			"\"abort\". This may have caused other processes in the application\n",
			"mpirun rank=1 first\n" },
		{ "slurmstepd: error: Detected 1 oom_kill event in StepId=3.0. Some of the step "
			"tasks have been OOM Killed.\nsrun: error: n1: task 3: Out Of Memory\n",
			"srun memory\nsrun rank=3 host=n1 memory\n" },
		{ "slurmstepd: error: Detected 1 oom-kill event(s) in step 3.0 cgroup.\n",
			"srun memory\n" },
		{ "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
			"=   PID 417 RUNNING AT n1\n=   EXIT CODE: 3\n",
			"mpiexec pid=417 exit=3 host=n1\n" },
		{ "  File \"/x/accelerate/commands/launch.py\", line 999, in simple_launcher\n"
			"subprocess.CalledProcessError: Command '['python', 'train.py']' died with "
			"<Signals.SIGKILL: 9>.\n",
			"accelerate signal=9 first\n" },
		{ "[2026-11-27 01:25:45,438] [ERROR] [launch.py:259:sigkill_handler] ['python', "
			"'-u', 'f.py'] exits with return code = -9\n",
			"deepspeed signal=9 first\n" },
		/* the greatest rank that a job has, and what is none */
		{ "srun: error: n1: task 1048575: Segmentation fault (core dumped)\n",
			"srun rank=1048575 signal=11 host=n1\n" },
		{ "srun: error: n1: task 1048576: Segmentation fault (core dumped)\n", "" },
		{ "prterun noticed that process rank 1048576 with PID 417 on node n1 exited\n"
			"on signal 11 (Segmentation fault).\n", "" },
		{ "srun: error: n1: task 3: Segmentation fault (core dumped)\n",
			"srun rank=3 signal=11 host=n1\n" },
		{ "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
			"=   PID 417 RUNNING AT n1\n=   EXIT CODE: 139\n=====\n"
			"YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault "
			"(core dumped) (signal 11)\n",
			"mpiexec pid=417 signal=11 host=n1\n" },
		{ "  File \"/x/torch/distributed/launch.py\", line 263, in main\n"
			"subprocess.CalledProcessError: Command '['/x/python', '-u', 'train.py', "
			"'--local_rank=3']' returned non-zero exit status 1.\n",
			"torch.distributed.launch local=3 exit=1 first\n" },
		{ "  File \"/x/torch/distributed/launch.py\", line 263, in main\n"
			"subprocess.CalledProcessError: Command '['/x/python', '-u', 'train.py', "
			"'--local_rank=3']' died with <Signals.SIGKILL: 9>.\n",
			"torch.distributed.launch local=3 signal=9 first\n" },
		{ "Exception: process 1 terminated with signal SIGSEGV\n",
			"torch.multiprocessing.spawn local=1 signal=11 first\n" },
		{ "ERROR:composer.cli.launcher:Rank 1 crashed with exit code -9.\n"
			"Global rank 1 (PID 417) exited with code -9\n",
			"composer rank=1 pid=417 signal=9 first\n" },
		{ "RuntimeError: Horovod detected that one or more processes exited with non-zero "
			"status, thus causing the job to be terminated. The first process to do so "
			"was:\nProcess name: 1\nExit code: 3\n",
			"horovodrun rank=1 exit=3 first\n" },
		{ "(raylet) A worker died or was killed while executing a task by an unexpected "
			"system error. Lease ID: a Worker ID: b Node ID: c Worker IP address: "
			"10.0.0.2 Worker port: 10003 Worker PID: 417 Worker exit type: SYSTEM_ERROR"
			" "
			"Worker exit detail: Worker exits unexpectedly. Worker exits with an exit "
			"code 3. x\n",
			"ray pid=417 exit=3 host=10.0.0.2\n" },
		{ "A worker died or was killed while executing a task by an unexpected system "
			"error. Worker IP address: 10.0.0.2 Worker port: 10003 Worker PID: 417 "
			"Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly "
			"exits with a connection error code 2. End of file. (1) The process is "
			"killed by SIGKILL by OOM killer due to high memory usage.\n",
			"ray pid=417 host=10.0.0.2\n" },
		{ "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing "
			"this task.\n\tclass_name: Worker\n"
			"\tactor_id: a\n\tpid: 417\n\tnamespace: b\n"
			"\tip: 10.0.0.2\nThe actor is dead because its worker process has died.\n",
			"ray pid=417 host=10.0.0.2\n" },
		{ "Memory on the node (IP: 10.0.0.2, ID: a) where the task (actor ID: b, name=f, "
			"pid=417, memory used=1.00GB) was running was 63.00GB / 64.00GB\n",
			"ray pid=417 memory\n" },
		/* srun -l in front of torchrun */
		{ "0: E1127 1 torch/distributed/elastic/multiprocessing/api.py:1002] failed "
			"(exitcode: -9) local_rank: 1 (pid: 417) of binary: x\n",
			"torchrun local=1 pid=417 signal=9 first owned\n" },
		{ "[2,0]<stderr>:srun: error: n1: task 3: Killed\n",
			"srun rank=3 signal=9 host=n1 owned\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(read_words(SPAN_OF(rows[i].text)), rows[i].records);
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
		/* of the program, not of a launcher that it is */
		"subprocess.CalledProcessError: Command '['ffmpeg']' died with <Signals.SIGKILL: "
		"9>.\n",
		"  File \"train.py\", line 3\n"
		"subprocess.CalledProcessError: Command '['ffmpeg']' returned non-zero exit status "
		"1.\n",
		"mpirun noticed that process rank 1 was slow\n",
		"Process name: [[1,1],1]\nExit code: 3\n",
		"  Process name: [prterun-n-1@2,1]\n",
		"signal 9 (Killed).\n",
		"=   EXIT CODE: 9\n",
		"YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n",
		"srun: error: n1: task 3: Snoozing\n",
		"srun: error: n1: task x: Killed\n",
		"srun: error: Unable to create step for job 3: Memory required by task\n",
		"process 1 terminated with signal SIGKILL\n",
		"rank 1 crashed with exit code 3.\n",
		"\tpid: 417\n",
		"the kernel sent an oom_kill event\n",
		"[rank0]: srun: error: n1: task 3: Killed\n",
		"(Worker pid=417) srun: error: n1: task 3: Killed\n",
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

static void test_names_of_signals(void **state)
{
	static const int numbers[] = {
		SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGUSR1,
		SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ, SIGSYS,
	};
	char text[80];

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		snprintf(text, sizeof(text), "srun: error: n: task 0: %s\n", strsignal(numbers[i]));
		assert_int_equal(ri_launcher_words_read(SPAN_OF(text), said, ROOM), 1);
		assert_int_equal(said[0].signal, numbers[i]);
	}
}

/* The launcher's own traceback is no reason; what stands around it is kept. */
static void test_traceback_of_the_launcher(void **state)
{
	static const char text[] =
		"Traceback (most recent call last):\n"
		"  File \"train.py\", line 3\n"
		"ValueError: x\n"
		"  of two lines\n"
		"Traceback (most recent call last):\n"
		"  File \"/x/horovod/runner/gloo_run.py\", line 3\n"
		"RuntimeError: Horovod detected that one or more processes exited with non-zero "
		"status, thus causing the job to be terminated. The first process to do so was:\n"
		"Process name: 1\n"
		"Exit code: 3\n";

	(void)state;
	assert_string_equal(read_lines(SPAN_OF(text), -1),
		"Traceback (most recent call last):\n"
		"  File \"train.py\", line 3\n"
		"ValueError: x\n"
		"  of two lines\n");
}

/* Numbers of tasks that nothing bounds but the room. */
static void test_many_tasks(void **state)
{
	static const char text[] =
		"srun: error: n[0-9]: tasks 3,5-2000000000: Exited with exit code 3\n";

	(void)state;
	assert_int_equal(ri_launcher_words_read(SPAN_OF(text), said, ROOM), ROOM);
	assert_int_equal(said[0].rank, 3);
	assert_int_equal(said[ROOM - 1].rank, 5 + ROOM - 2);
	assert_string_equal(read_words(SPAN_OF("srun: error: n: tasks 3,5-9999999999: Killed\n")),
		"srun rank=3 signal=9 host=n\n");
	assert_string_equal(read_words(SPAN_OF("srun: error: n: tasks 1048575-1048577: Killed\n")),
		"srun rank=1048575 signal=9 host=n\n");
	assert_string_equal(read_words(SPAN_OF("srun: error: n: tasks 3-: Killed\n")),
		"srun rank=3 signal=9 host=n\n");
}

/* A message that has no end takes no more than its own lines. */
static void test_words_behind_a_message(void **state)
{
	static const char *const texts[] = {
		"x noticed that process rank 1 with PID 417 on\n"
		"Traceback (most recent call last):\n  File \"a.py\", line 3\nValueError: x\n",
		"=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
		"Traceback (most recent call last):\n  File \"a.py\", line 3\nValueError: x\n",
		"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
		"Traceback (most recent call last):\n  File \"a.py\", line 3\nValueError: x\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_string_equal(read_lines(SPAN_OF(texts[i]), -1),
			strstr(texts[i], "Traceback"));
	read_lines(SPAN_OF("x noticed that process rank 1 with PID 417 on\n"
		"1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n"
		"after\n"), -1);
	assert_string_equal(lines, "after\n");
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
	assert_int_equal(ri_lines_of(text, NULL, lines, 0, NULL), 0);
	assert_int_equal(ri_lines_of(SPAN_OF("abc\n"), NULL, lines, 3, NULL), 0);
	assert_int_equal(ri_lines_of(SPAN_OF("abc\n"), NULL, lines, 4, NULL), 4);
}

/* It is neither a line without a label nor one of rank 0. */
static bool is_launchers(struct ri_span line)
{
	static const struct ri_owner rank = { .rank = 0, .local_rank = -1 };
	char room[512];

	return ri_lines_of(line, NULL, room, sizeof(room), NULL) == 0 &&
		ri_lines_of(line, &rank, room, sizeof(room), NULL) == 0;
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
		{ "[2024-01-01 12:00:00,123] torch.distributed.run: [WARNING] *****", true },
		{ "WARNING:torch.distributed.run:*****", true },
		{ "[2026-11-27 01:25:17,767] [INFO] [runner.py:618:main] cmd = python3", true },
		{ "[2026-11-27 01:25:17,767] [INFO] [train.py:618:main] cmd = python3", false },
		{ "Killing subprocess 417", true },
		{ "Killing subprocess of a loader", false },
		{ "----------Begin global rank 1 STDERR----------", true },
		{ "Waiting up to 30 seconds for all training processes to terminate. Press Ctrl-C",
			true },
		{ "slurmstepd-n0: error: *** STEP 5.0 ON n0 CANCELLED AT 2026-11-27T01:27:42 ***",
			true },
		{ "slurmstepd-n0: error: execve(): /nosuch: No such file or directory", false },
		{ "srun: Job step aborted: Waiting up to 32 seconds.", true },
		{ "srun: error: Unable to create step for job 3: Invalid partition", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("%s\n", rows[i].line);
		assert_int_equal(is_launchers(SPAN_OF(rows[i].line)), rows[i].own);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_spawn_keeps_its_words),
		cmocka_unit_test(test_message_of_error_file),
		cmocka_unit_test(test_other_versions_of_torch),
		cmocka_unit_test(test_documented),
		cmocka_unit_test(test_no_launchers),
		cmocka_unit_test(test_message_that_forges),
		cmocka_unit_test(test_names_of_signals),
		cmocka_unit_test(test_traceback_of_the_launcher),
		cmocka_unit_test(test_many_tasks),
		cmocka_unit_test(test_words_behind_a_message),
		cmocka_unit_test(test_failure_of_the_launcher),
		cmocka_unit_test(test_little_room),
		cmocka_unit_test(test_a_line_of_the_launcher),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
