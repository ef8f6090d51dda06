/* SPDX-License-Identifier: Apache-2.0 */
/* Each row of words.def for a loss, and what only looks like one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/culprit.h"
#include "words/words.h"
#include "words_samples.h"

#define SPAN_OF(text) ((struct ri_span){ (text), strlen(text) })

static const struct {
	enum ri_loss_kind kind;
	const char *shape, *source;
} rows[] = {
#define RI_LOSS(kind_, shape_, source_) { RI_LOSS_##kind_, shape_, source_ },
#define RI_LOGGED(kind_, log_, shape_, source_) { RI_LOSS_##kind_, shape_, source_ },
#include "words/words.def"
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* The row that a message fits, one of RI_LOSS_OWN included, is that of its sample. */
static void each_row_has_its_message(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		const char *sample = words_sample(rows[i].shape);
		const struct ri_loss *found = ri_loss_of_exception(SPAN_OF(sample));

		assert_true(strlen(rows[i].source) > 5);
		if (rows[i].kind == RI_LOSS_OWN ? found != NULL
			: found == NULL || found->kind != rows[i].kind ||
				strcmp(found->shape, rows[i].shape) != 0)
			fail_msg("%s: it fits %s, not %s (a line that is no exception stands "
				"behind \"RuntimeError: \")", sample,
				found == NULL ? "no row" : found->shape, rows[i].shape);
	}
}

/* Without the words of the row that says so each of them would be a loss. */
static void what_is_no_loss_looks_like_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS && rows[i].kind == RI_LOSS_OWN; i++) {
		char text[512], shape[128];
		char *left = shape, *words, *at;

		snprintf(text, sizeof(text), "%s", words_sample(rows[i].shape));
		snprintf(shape, sizeof(shape), "%s", rows[i].shape);
		while ((words = strsep(&left, "*")) != NULL) {
			if (words[0] == '\0')
				continue;
			at = strstr(text, words);
			assert_non_null(at);
			memset(at, 'x', strlen(words));
		}
		if (ri_loss_of_exception(SPAN_OF(text)) == NULL)
			fail_msg("%s: %s", rows[i].shape, text);
	}
}

static void own_exceptions_may_quote_one(void **state)
{
	static const char *const own[] = {
		"ValueError: \"[gloo/transport/tcp/pair.cc:1] Connection closed by peer\"",
		"my.TrainError: Horovod has been shut down",
		"AssertionError: Watchdog caught collective operation timeout",
		"ConnectionResetError: [Errno 104] Connection reset by peer",
		"RuntimeError: the data service said: Connection reset by peer",
		"RuntimeError: DataLoader worker (pid(s) 12) exited unexpectedly",
		"torch.distributed.DistBackendError: NCCL error in: a.cpp:1, invalid usage",
		"ValueError: TP rank 0 is unknown",
		"ValueError: DeepEP error: timeout (dispatch CPU)",
		"RuntimeError: CUDA error: unspecified launch failure; see DeepEP error: timeout (",
		"RuntimeError: no timeout signal from GPU thread(s) in 3 s",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (ri_loss_of_exception(SPAN_OF(own[i])) != NULL)
			fail_msg("%s", own[i]);
}

#define HEAD "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
#define LOST "RuntimeError: [/gloo/transport/tcp/pair.cc:1] Connection closed by peer " \
	"[10.0.0.5]:4711\n"
#define HEADER_OF_CAUSE HEAD "torch.distributed.DistBackendError: NCCL error in: a.cpp:1, x\n"
#define HANDLED "\nDuring handling of the above exception, another exception occurred:\n\n"
#define DIRECT "\nThe above exception was the direct cause of the following exception:\n\n"

static const struct ri_loss *of_text(const char *text)
{
	struct ri_words words;

	ri_words_read(SPAN_OF(text), &words);
	assert_true(words.has_traceback);
	return words.loss;
}

static void the_first_of_a_chain_counts(void **state)
{
	(void)state;
	assert_non_null(of_text(HEAD LOST));
	assert_null(of_text(HEAD "ValueError: x\n"));
	/* what a library's log says behind it is no part of it */
	assert_null(of_text(HEAD "RuntimeError: RESOURCE_EXHAUSTED: Out of memory\n"
		"F0820 03:19:04.2  8200 client.h:77] the JAX distributed service detected fatal "
		"errors\n"));
	assert_null(of_text(HEAD "ValueError: x\n" HANDLED HEAD LOST));
	assert_non_null(of_text(HEAD LOST HANDLED HEAD "ValueError: x\n"));
	assert_non_null(of_text(HEAD LOST DIRECT HEAD "my.TrainError: failed\n"));
	/* what ends a loop is no failure */
	assert_non_null(of_text(HEAD "StopIteration\n" HANDLED HEAD LOST));
	assert_non_null(of_text(HEAD "_queue.Empty\n" HANDLED HEAD "queue.Empty\n" HANDLED HEAD
		LOST));
	/* and all of its message, as Ray's has the reason at its end */
	assert_non_null(of_text(HEADER_OF_CAUSE "ncclRemoteError: A call failed\n" DIRECT HEAD
		"my.TrainError: failed\n"));
	assert_null(of_text(HEADER_OF_CAUSE "bad\n" DIRECT HEAD "my.TrainError: failed\n"));
	/* with torch's prefix, and a message of several lines */
	assert_non_null(of_text("[rank0]: Traceback (most recent call last):\n"
		"[rank0]:   File \"a.py\", line 1, in f\n"
		"[rank0]: torch.distributed.DistBackendError: NCCL error in: a.cpp:1, x\n"
		"[rank0]: ncclRemoteError: A call failed\n"
		"[rank0]: Last error:\n"));
}

static const struct ri_loss *of_lines(const char *text)
{
	return ri_loss_of_lines(SPAN_OF(text));
}

static void the_last_lines_that_tell_something(void **state)
{
	static char text[65536];

	(void)state;
	assert_null(of_lines(""));
	assert_null(of_lines("\n\nstep 1\n"));
	assert_non_null(of_lines("step 1\n"
		"[rank0]:[E1122 01:02:03.4 ProcessGroupNCCL.cpp:1] [Rank 0] Watchdog caught "
		"collective operation timeout: x\n"));
	/* noise does not hide it, however much of it there is */
	snprintf(text, sizeof(text), "  what():  NCCL error: remote process exited or there was a "
		"network error\n");
	for (int i = 0; i < 100; i++)
		strcat(text, "frame #1: c10d::x() + 0x1 (0x7f in /a.so)\n\n");
	assert_non_null(of_lines(text));
	/* a program that goes on does */
	for (int i = 0; i < 16; i++)
		strcat(text, "step\n");
	assert_null(of_lines(text));
	/* and what is warned of only is none */
	assert_null(of_lines("[rank0]:[W1122 01:02:03.4 TCPStore.cpp:125] [c10d] "
		"recvValue failed on SocketImpl(fd=76)\n"));
}

static void the_address_of_the_peer(void **state)
{
	const struct ri_loss *loss = of_text(HEAD LOST);
	struct ri_span peer = { NULL, 0 };

	(void)state;
	assert_true(ri_loss_peer(SPAN_OF(HEAD LOST "step\n"), loss, &peer));
	assert_int_equal(peer.length, 8);
	assert_memory_equal(peer.at, "10.0.0.5", 8);
	assert_true(ri_loss_peer(SPAN_OF("RuntimeError: [/gloo/transport/tcp/pair.cc:1] Connection "
		"closed by peer [fd00::5]:1"), loss, &peer));
	assert_memory_equal(peer.at, "fd00::5", 7);
	assert_false(ri_loss_peer(SPAN_OF("[10.0.0.5]:4711"), loss, &peer));
	assert_false(ri_loss_peer(SPAN_OF("[/gloo/transport/tcp/pair.cc:1] Connection closed by "
		"peer [a]:4711 [1.2.3.4] [1.2.3.4]:x [1.2.3.4]:"), loss, &peer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_has_its_message),
		cmocka_unit_test(what_is_no_loss_looks_like_one),
		cmocka_unit_test(own_exceptions_may_quote_one),
		cmocka_unit_test(the_first_of_a_chain_counts),
		cmocka_unit_test(the_last_lines_that_tell_something),
		cmocka_unit_test(the_address_of_the_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
