/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job ended, in one word, and what to do with it next. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/culprit.h"
#include "report/verdict.h"
#include "words/words.h"
#include "words_samples.h"

static void each_word_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (int i = 0; i < RI_CAUSE_COUNT; i++) {
		const char *name = ri_cause_word_name((enum ri_cause_word)i);

		assert_int_equal(ri_cause_word_of(name), i);
		assert_true(strspn(name, "abcdefghijklmnopqrstuvwxyz_") == strlen(name));
		assert_non_null(ri_retry_words[ri_retry_of(NULL, (enum ri_cause_word)i)]);
	}
	assert_int_equal(RI_CAUSE_UNKNOWN, 0);
	assert_int_equal(ri_cause_word_of(NULL), RI_CAUSE_UNKNOWN);
	assert_int_equal(ri_cause_word_of("oom"), RI_CAUSE_UNKNOWN);
	assert_int_equal(ri_cause_word_of("ECC"), RI_CAUSE_UNKNOWN);
}

static void only_a_bad_node_means_another_one(void **state)
{
	int others = 0;

	(void)state;
	for (int i = 0; i < RI_CAUSE_COUNT; i++)
		others += ri_retry_of(NULL, (enum ri_cause_word)i) == RI_RETRY_OTHER_NODE;
	assert_int_equal(others, 4);
	assert_int_equal(ri_retry_of(NULL, RI_CAUSE_ECC), RI_RETRY_OTHER_NODE);
	assert_int_equal(ri_retry_of(NULL, RI_CAUSE_XID), RI_RETRY_OTHER_NODE);
	assert_int_equal(ri_retry_of(NULL, RI_CAUSE_NIC), RI_RETRY_OTHER_NODE);
	assert_int_equal(ri_retry_of(NULL, RI_CAUSE_UNFIT), RI_RETRY_OTHER_NODE);
}

static enum ri_cause_word of(struct ri_rank_outcome rank, enum ri_culprit culprit)
{
	const struct ri_outcome outcome = { .ranks = &rank, .count = 1, .culprit = culprit };

	return ri_why_find(&outcome).cause;
}

static enum ri_cause_word of_loss(enum ri_loss_kind kind, enum ri_culprit culprit)
{
	const struct ri_loss loss = { .kind = kind, .shape = "" };

	return of((struct ri_rank_outcome){ .end = RI_END_EXITED, .exit_code = 1,
		.evidence = { .class = RI_CLASS_LOSS, .loss = &loss } }, culprit);
}

/* It wrote nothing to stderr. */
static struct ri_rank_outcome silent(int status)
{
	return (struct ri_rank_outcome){ .end = RI_END_EXITED, .exit_code = status,
		.wrote.tail = { "", 0 } };
}

static void ends(void **state)
{
	(void)state;
	assert_int_equal(of((struct ri_rank_outcome){ .end = RI_END_EXEC_FAILED }, 0),
		RI_CAUSE_EXEC);
	assert_int_equal(of((struct ri_rank_outcome){ .end = RI_END_EXITED, .exit_code = 3 }, 0),
		RI_CAUSE_UNKNOWN);	/* its stderr was not read */
	assert_int_equal(of(silent(3), 0), RI_CAUSE_EXIT_STATUS);
	assert_int_equal(of(silent(128 + SIGSEGV), 0), RI_CAUSE_SIGNAL);
	assert_int_equal(of(silent(128 + SIGTERM), 0), RI_CAUSE_KILLED);
	assert_int_equal(of(silent(250), 0), RI_CAUSE_EXIT_STATUS);
	assert_int_equal(of((struct ri_rank_outcome){ .end = RI_END_SIGNALED, .signal = SIGPIPE },
			0), RI_CAUSE_UNKNOWN);
	assert_int_equal(of((struct ri_rank_outcome){ .end = RI_END_SIGNALED, .signal = SIGTERM },
			0), RI_CAUSE_KILLED);
	assert_int_equal(of((struct ri_rank_outcome){ .end = RI_END_SIGNALED, .signal = SIGSEGV },
			0), RI_CAUSE_SIGNAL);
	assert_int_equal(of((struct ri_rank_outcome){ .end = RI_END_SIGNALED, .signal = SIGKILL },
			0), RI_CAUSE_KILLED);
	assert_int_equal(of((struct ri_rank_outcome){ .end = RI_END_SIGNALED, .signal = SIGKILL,
			.oom = true }, 0), RI_CAUSE_OOM_HOST);
	assert_int_equal(of((struct ri_rank_outcome){ .end = RI_END_EXITED, .exit_code = 1,
			.evidence.ended_of_traceback = true }, 0), RI_CAUSE_EXCEPTION);
}

static void losses(void **state)
{
	static const struct ri_loss nobody = {
		.kind = RI_LOSS_CLOCK, .log = RI_LOSS_LOG_SOCKET, .shape = "",
	};

	(void)state;
	assert_int_equal(of_loss(RI_LOSS_PEER, RI_CULPRIT_ELSEWHERE), RI_CAUSE_UNKNOWN);
	assert_int_equal(of_loss(RI_LOSS_STORE, RI_CULPRIT_ELSEWHERE), RI_CAUSE_RENDEZVOUS);
	assert_int_equal(of_loss(RI_LOSS_CLOCK, RI_CULPRIT_HELD), RI_CAUSE_TIMEOUT);
	assert_int_equal(of_loss(RI_LOSS_MISMATCH, RI_CULPRIT_UNKNOWN), RI_CAUSE_MISMATCH);
	assert_int_equal(of_loss(RI_LOSS_PEER, RI_CULPRIT_LEFT), RI_CAUSE_EARLY_EXIT);
	/* the ranks did not meet: nobody had opened the store */
	assert_int_equal(of((struct ri_rank_outcome){ .end = RI_END_EXITED, .exit_code = 1,
		.evidence = { .class = RI_CLASS_LOSS, .loss = &nobody } }, RI_CULPRIT_UNKNOWN),
		RI_CAUSE_RENDEZVOUS);
}

static const struct {
	enum ri_cause_word cause;
	const char *shape, *source;
} rows[] = {
#define RI_CAUSED(cause_, shape_, source_) { RI_CAUSE_##cause_, shape_, source_ },
#include "words/words.def"
};

static enum ri_cause_word of_exception(const char *exception)
{
	static struct ri_reason reason;
	struct ri_rank_outcome rank = {
		.end = RI_END_EXITED, .exit_code = 1, .evidence.ended_of_traceback = true,
	};
	const struct ri_outcome outcome = { .ranks = &rank, .count = 1, .reason = &reason };

	reason.has_traceback = true;
	reason.traceback.last = (struct ri_span){ exception, strlen(exception) };
	return ri_why_find(&outcome).cause;
}

static void each_row_has_its_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *sample = words_sample(rows[i].shape);

		assert_true(strlen(rows[i].source) > 5);
		if (of_exception(sample) != rows[i].cause)
			fail_msg("%s: %s", rows[i].shape, sample);
	}
	assert_int_equal(of_exception("ValueError: a TimeoutError is none"), RI_CAUSE_EXCEPTION);
	assert_int_equal(of_exception(""), RI_CAUSE_EXCEPTION);
}

/* Read as a rank wrote it, with what stands around the exception. */
static enum ri_cause_word of_tail(const char *tail, int signal)
{
	static struct ri_reason reason;
	struct ri_rank_outcome rank = {
		.end = signal != 0 ? RI_END_SIGNALED : RI_END_EXITED, .exit_code = 1,
		.signal = signal, .wrote.tail = { tail, strlen(tail) },
	};
	const struct ri_outcome outcome = { .ranks = &rank, .count = 1, .reason = &reason };

	ri_class_find(&rank);
	ri_reason_find(&rank, &reason);
	return ri_why_find(&outcome).cause;
}

#define HEADER "Traceback (most recent call last):\n  File \"/job/x.py\", line 8, in f\n    f()\n"
#define DIRECT "\nThe above exception was the direct cause of the following exception:\n\n"
#define ENDED "RuntimeError: DataLoader worker (pid(s) 7) exited unexpectedly\n"

static void words_around_the_exception(void **state)
{
	(void)state;
	assert_int_equal(of_tail(HEADER "ValueError: bad batch 17\n", 0), RI_CAUSE_EXCEPTION);
	assert_int_equal(of_tail(HEADER "MemoryError\n" DIRECT HEADER "ValueError: x\n", 0),
		RI_CAUSE_OOM_HOST);
	assert_int_equal(of_tail("train.py: error: unrecognized arguments: --x\n", 0),
		RI_CAUSE_EXCEPTION);
	assert_int_equal(of_tail("terminate called after throwing an instance of 'c10::Error'\n"
		"  what():  CUDA error: uncorrectable ECC error encountered\n", SIGABRT),
		RI_CAUSE_ECC);
	assert_int_equal(of_tail("terminate called after throwing an instance of 'E'\n", SIGABRT),
		RI_CAUSE_SIGNAL);
	assert_int_equal(of_tail(HEADER ENDED, 0), RI_CAUSE_KILLED);
	assert_int_equal(of_tail("thread 'main' panicked at src/main.rs:3:5:\n" HEADER ENDED, 0),
		RI_CAUSE_EXCEPTION);
	/* what a worker's log has before each line is no part of the message */
	assert_int_equal(of_tail("(W pid=7) Traceback (most recent call last):\n"
		"(W pid=7)   File \"/job/x.py\", line 8, in f\n(W pid=7) RuntimeError: no shard:\n"
		"(W pid=7) FileNotFoundError: /data/17\n" HEADER ENDED, 0), RI_CAUSE_DATA_MISSING);
	/* what a rank wrote is not why somebody killed it */
	assert_int_equal(of_tail("NCCL WARN Call to ibv_poll_cq failed: No such device\n", SIGKILL),
		RI_CAUSE_KILLED);
}

#define WARN(text) "n0:7:9 [0] x.cc:93 NCCL WARN " text "\n"
#define MAKING "Error while creating shared memory segment "
#define NCCL HEADER "torch.distributed.DistBackendError: NCCL error in: a.cpp:1, unhandled " \
	"system error\nncclSystemError: System call failed.\n"

/* A segment that may not be made is no full /dev/shm, which may be one all the same. */
static void segments(void **state)
{
	(void)state;
	assert_int_equal(of_tail(WARN("Call to shm_open failed : Permission denied")
		WARN(MAKING "nccl-shm-recv-1-0-1 (size 9)") NCCL, 0), RI_CAUSE_EXCEPTION);
	assert_int_equal(of_tail(WARN(MAKING "/dev/shm/nccl-x (size 9), error: Operation not "
		"permitted (1)") NCCL, 0), RI_CAUSE_EXCEPTION);
	assert_int_equal(of_tail(WARN("Call to posix_fallocate failed : No space left on device")
		WARN(MAKING "nccl-shm-recv-1-0-1 (size 9)") NCCL, 0), RI_CAUSE_DISK_FULL);
	assert_int_equal(of_tail(WARN(MAKING "/dev/shm/nccl-x (size 9)") NCCL, 0),
		RI_CAUSE_SHM_FULL);
	assert_int_equal(of_tail(WARN(MAKING "/dev/shm/nccl-x (size 9), error: No space left on "
		"device (28)") NCCL, 0), RI_CAUSE_SHM_FULL);
	assert_int_equal(of_tail(HEADER "RuntimeError: unable to open shared memory object "
		"</torch_7> in read-write mode: Permission denied (13)\n", 0), RI_CAUSE_EXCEPTION);
}

/* A service that does not answer, and what only looks like one. */
static void services(void **state)
{
	static const struct {
		enum ri_cause_word cause;
		const char *tail;
	} cases[] = {
		{ RI_CAUSE_TIMEOUT, HEADER "ConnectionError: Couldn't reach 'allenai/c4' on the "
			"Hub (ConnectTimeout)\n" },
		{ RI_CAUSE_TIMEOUT, HEADER "ConnectionError: Couldn't reach https://h/404.json "
			"(error 503)\n" },
		{ RI_CAUSE_TIMEOUT, HEADER "ConnectionError: Couldn't reach https://h/x (error "
			"429)\n" },
		{ RI_CAUSE_TIMEOUT, HEADER "httpx2.ReadTimeout: The read operation timed out\n" },
		{ RI_CAUSE_TIMEOUT, HEADER "httpx2.HTTPStatusError: Client error '429 Too Many "
			"Requests' for url 'https://h'\n" DIRECT HEADER
			"huggingface_hub.errors.HfHubHTTPError: 429 Too Many Requests for url: "
			"h.\n" },
		{ RI_CAUSE_TIMEOUT, HEADER "RuntimeError: Data processing error: HTTP status "
			"client error (429 Too Many Requests) for url (https://h)\n" },
		/* the program's own */
		{ RI_CAUSE_EXCEPTION, HEADER "huggingface_hub.errors.OfflineModeIsEnabled: Cannot "
			"reach https://h: offline mode is enabled.\n" DIRECT HEADER "OSError: We "
			"couldn't connect to 'https://h' to load the files\n" },
		{ RI_CAUSE_EXCEPTION, HEADER "ConnectionError: Couldn't reach the Hugging Face Hub "
			"for dataset 'c4': Offline mode is enabled.\n" },
		{ RI_CAUSE_EXCEPTION, HEADER "ConnectionError: Couldn't reach https://h/x (error "
			"404)\n" },
		{ RI_CAUSE_EXCEPTION, HEADER "httpx.HTTPStatusError: Client error '404 Not Found' "
			"for url 'https://h/429'\n" },
		{ RI_CAUSE_EXCEPTION, HEADER "ValueError: Couldn't reach the loss that was asked "
			"for\n" },
		{ RI_CAUSE_EXCEPTION, HEADER "my.ConnectionError: Couldn't reach x\n" },
		{ RI_CAUSE_EXCEPTION, HEADER "KeyError: 'httpx.ReadTimeout'\n" },
		/* one that was caught, and what was logged of it */
		{ RI_CAUSE_EXCEPTION, "WARNING 429 Too Many Requests, again in 2 s\n" HEADER
			"ConnectionError: Couldn't reach 'c4' on the Hub (ConnectionError)\n"
			"step 3\n" HEADER "ValueError: bad batch 17\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (of_tail(cases[i].tail, 0) != cases[i].cause)
			fail_msg("%s", cases[i].tail);
	assert_int_equal(ri_retry_of(NULL, RI_CAUSE_TIMEOUT), RI_RETRY_SAME);
	/* and nothing of it explains a kill */
	assert_int_equal(of_tail(cases[0].tail, SIGSEGV), RI_CAUSE_SIGNAL);
}

#define DEAD HEADER "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. " \
	"See stack trace (above) for the root cause.\n"

/* The news that an engine is gone: what that said is why. */
static void dead_engines(void **state)
{
	(void)state;
	assert_int_equal(of_tail("terminate called after throwing an instance of "
		"'c10::DistBackendError'\n  what():  [Rank 1] Process group watchdog thread "
		"terminated with exception: CUDA error: an illegal memory access was "
		"encountered\n" DEAD, 0), RI_CAUSE_DEVICE_ASSERT);
	assert_int_equal(of_tail(HEADER "ValueError: bad\n" DEAD, 0), RI_CAUSE_EXCEPTION);
	assert_int_equal(of_tail("Fatal Python error: Segmentation fault\n" DEAD, 0),
		RI_CAUSE_EXCEPTION);
	assert_int_equal(of_tail(DEAD, 0), RI_CAUSE_KILLED);
	/* what a program quotes of it is its own */
	assert_int_equal(of_tail(HEADER "ValueError: no EngineDeadError: see the root cause\n", 0),
		RI_CAUSE_EXCEPTION);
}

/* The cause of a chain counts with all of its message. */
static void further_lines_of_a_cause(void **state)
{
	(void)state;
	assert_int_equal(of_tail(HEADER "my.StageError: stage 2 failed:\nCUDA error: an illegal "
		"memory access was encountered\n" DIRECT HEADER "RuntimeError: epoch 3 failed\n",
		0), RI_CAUSE_DEVICE_ASSERT);
	assert_int_equal(of_tail(HEADER "my.StageError: stage 2 failed:\nbad batch\n" DIRECT HEADER
		"RuntimeError: epoch 3 failed\n", 0), RI_CAUSE_EXCEPTION);
}

#define REPLAY(rank, what) HEADER "torchtitan.observability.sdc_replayer.SDCReplayMismatch: SDC " \
	"replay mismatch: step=41, local_step=1, replay=1, rank=" rank ", signature='" what "'\n"

/* Of four ranks that all raise this: who is named, and why. */
static struct ri_why of_replay(const char *tail, ssize_t *named)
{
	static struct ri_reason reason;
	struct ri_rank_outcome ranks[4];
	struct ri_outcome outcome = { .ranks = ranks, .count = 4, .reason = &reason };

	for (unsigned i = 0; i < 4; i++) {
		ranks[i] = (struct ri_rank_outcome){
			.rank = i + 4, .end = RI_END_EXITED, .exit_code = 1, .order = i + 1,
			.wrote.tail = { tail, strlen(tail) }, .ended.tv_sec = 100 + (time_t)i,
		};
		ri_class_find(&ranks[i]);
	}
	ri_culprit_find(&outcome);
	*named = ri_outcome_named(&outcome);
	ri_reason_find(&ranks[outcome.first], &reason);
	return ri_why_find(&outcome);
}

/* A GPU that does not compute twice the same: no healthy node is taken away. */
static void replays(void **state)
{
	ssize_t named;

	(void)state;
	assert_int_equal(of_replay(REPLAY("6", "loss"), &named).retry, RI_RETRY_OTHER_NODE);
	assert_int_equal(named, 2);
	/* on another node, by a gradient that all had a part in, or quoted: of nobody here */
	assert_int_equal(of_replay(REPLAY("2", "loss"), &named).retry, RI_RETRY_SAME);
	assert_int_equal(named, -1);
	assert_int_equal(of_replay(REPLAY("16", "loss"), &named).retry, RI_RETRY_SAME);
	assert_int_equal(named, -1);
	assert_int_equal(of_replay(REPLAY("6", "gradient:0:w"), &named).retry, RI_RETRY_SAME);
	assert_int_equal(named, -1);
	/* no log of a socket's is asked */
	assert_int_equal(of_replay("[W1122 01:02:03.4 socket.cpp:767] [c10d] The IPv6 network "
		"addresses of (n0, 29500) cannot be retrieved (gai error: -2 - Name or service "
		"not known).\n" REPLAY("2", "loss"), &named).retry, RI_RETRY_SAME);
	assert_int_equal(named, -1);
	assert_int_equal(of_replay(HEADER "ValueError: no torchtitan.SDCReplayMismatch: SDC replay "
		"mismatch: step=4, rank=6, signature='loss'\n", &named).retry, RI_RETRY_NEVER);
}

/* NVSHMEM ends a process whose kernels waited too long, with a status of its own. */
static void clocks(void **state)
{
	static const char tail[] = "/x/proxy.cpp:progress_timeout_polling:1271: received timeout "
		"signal from GPU thread(s) in nvshmem_barrier\n\n/x/proxy.cpp:1272: signal addr 7 "
		"signal val found 1 signal val expected 2\n\n";
	struct ri_rank_outcome rank = {
		.end = RI_END_EXITED, .exit_code = 255, .wrote.tail = { tail, sizeof(tail) - 1 },
	};

	(void)state;
	ri_class_find(&rank);
	assert_int_equal(rank.evidence.class, RI_CLASS_LOSS);
	assert_int_equal(rank.evidence.loss->kind, RI_LOSS_CLOCK);
	/* another status of the program's, or a signal, is not explained by what was logged */
	rank.wrote.tail.at = HEADER "RuntimeError: DeepEP error: timeout (dispatch CPU)\n";
	rank.wrote.tail.length = strlen(rank.wrote.tail.at);
	ri_class_find(&rank);
	assert_int_equal(rank.evidence.class, RI_CLASS_UNKNOWN);
	rank.exit_code = 1;
	ri_class_find(&rank);
	assert_int_equal(rank.evidence.class, RI_CLASS_LOSS);
	assert_non_null(ri_loss_of_exception((struct ri_span){ "RuntimeError: DeepEP error: CPU "
		"recv timeout", 44 }));
	rank.end = RI_END_SIGNALED;
	rank.signal = SIGSEGV;
	ri_class_find(&rank);
	assert_int_equal(rank.evidence.class, RI_CLASS_OWN);
}

/* Rank 1 is held against, rank 0 has lost it. */
static enum ri_cause_word of_two(enum ri_culprit culprit, struct ri_rank_outcome named)
{
	const struct ri_loss loss = { .kind = RI_LOSS_CLOCK, .shape = "" };
	struct ri_rank_outcome ranks[] = {
		{ .end = RI_END_EXITED, .exit_code = 1, .evidence = { .class = RI_CLASS_LOSS,
			.loss = &loss } }, named,
	};
	const struct ri_outcome outcome = {
		.ranks = ranks, .count = 2, .culprit = culprit, .named = 1,
	};

	return ri_why_find(&outcome).cause;
}

static void what_the_other_one_did(void **state)
{
	static const char stop[] = "INFO: Received signal 15, exiting\n";

	(void)state;
	assert_int_equal(of_two(RI_CULPRIT_HELD, (struct ri_rank_outcome){ .told_to_stop = true }),
		RI_CAUSE_TIMEOUT);
	assert_int_equal(of_two(RI_CULPRIT_HELD, (struct ri_rank_outcome){ .told_to_stop = true,
		.spoke = true }), RI_CAUSE_LATE);
	/* an exception that it had printed, and went on from, is no cause */
	assert_int_equal(of_two(RI_CULPRIT_HELD, (struct ri_rank_outcome){ .told_to_stop = true,
		.evidence.words.has_traceback = true }), RI_CAUSE_TIMEOUT);
	assert_int_equal(of_two(RI_CULPRIT_LEFT, (struct ri_rank_outcome){ .end = RI_END_EXITED }),
		RI_CAUSE_EARLY_EXIT);
	assert_int_equal(of_two(RI_CULPRIT_FIRST, (struct ri_rank_outcome){ .end = RI_END_EXITED }),
		RI_CAUSE_EARLY_EXIT);
	assert_int_equal(of_two(RI_CULPRIT_LEFT, (struct ri_rank_outcome){ .end = RI_END_EXITED,
		.wrote.tail = { stop, sizeof(stop) - 1 } }), RI_CAUSE_PREEMPTED);
	assert_int_equal(of_two(RI_CULPRIT_UNKNOWN, (struct ri_rank_outcome){ .spoke = true }),
		RI_CAUSE_TIMEOUT);
}

static void nothing_failed(void **state)
{
	struct ri_outcome outcome = { .first = -1 };

	(void)state;
	assert_int_equal(ri_why_find(&outcome).cause, RI_CAUSE_UNKNOWN);
	outcome.stop.signal = SIGTERM;
	assert_int_equal(ri_why_find(&outcome).cause, RI_CAUSE_PREEMPTED);
}

static void refusals(void **state)
{
	static const char *const names[] = {
		"unknown", "unfit", "dns", "refused", "exec", "exec", "unknown",
	};

	(void)state;
	for (int i = 0; i < 7; i++)
		assert_string_equal(ri_cause_word_name(ri_why_of_refusal(122 + i).cause),
			names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_word_has_a_name_of_its_own),
		cmocka_unit_test(only_a_bad_node_means_another_one),
		cmocka_unit_test(ends),
		cmocka_unit_test(losses),
		cmocka_unit_test(each_row_has_its_words),
		cmocka_unit_test(words_around_the_exception),
		cmocka_unit_test(segments),
		cmocka_unit_test(services),
		cmocka_unit_test(dead_engines),
		cmocka_unit_test(further_lines_of_a_cause),
		cmocka_unit_test(replays),
		cmocka_unit_test(clocks),
		cmocka_unit_test(what_the_other_one_did),
		cmocka_unit_test(nothing_failed),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
