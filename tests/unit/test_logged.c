/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that a library has for two things: its log tells which of them it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "words/words.h"

#define SPAN_OF(text) ((struct ri_span){ (text), strlen(text) })
#define RAISED "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
#define SYSTEM RAISED "RuntimeError: NCCL error: unhandled system error\n"
#define REMOTE RAISED \
	"RuntimeError: NCCL error: remote process exited or there was a network error\n"
#define CLOCK RAISED "torch.distributed.DistNetworkError: The client socket has timed out after " \
	"60000ms while trying to connect to (gpu-0, 29500).\n"
#define WARN "n1:7:9 [0] x.cc:5 NCCL WARN "
#define INFO "n1:7:9 [0] NCCL INFO "
#define GONE "Call to ibv_modify_qp failed with error No such device errno 19\n"
#define CLOSED "Net : Connection closed by remote peer\n"
#define FATAL "NET/IB : mlx5_0:1 Got async event : local catastrophic error\n"
#define NAME(family, why) "[rank1]:[W1119 16:22:40.1 socket.cpp:752] [c10d] The " family \
	"network addresses of (gpu-0, 29500) cannot be retrieved (gai error: " why ").\n"
#define UNKNOWN NAME("IPv6 ", "-2 - Name or service not known")

/* The kind of the loss; RI_LOSS_OWN: none, by the line of the log. */
static enum ri_loss_kind kind(const char *text, const char *line)
{
	struct ri_traceback traceback;
	const struct ri_loss *loss;
	struct ri_last_words words;
	struct ri_span own;
	bool has = ri_traceback_find(SPAN_OF(text), &traceback);

	loss = ri_words_loss(SPAN_OF(text), has ? &traceback : NULL, &own);
	ri_last_words_find(SPAN_OF(text), has ? &traceback : NULL, RI_TELLING_WORD, 0, &words);
	assert_true(words.lead == (line != NULL));
	assert_true((own.length > 0) == (line != NULL));
	if (line == NULL)
		return loss == NULL ? RI_LOSS_OWN : loss->kind;
	assert_null(loss);
	assert_true(ri_span_has(own, line));
	assert_true(words.count > 0 && words.lines[0].at == own.at);
	return RI_LOSS_OWN;
}

static void a_device_of_the_node_s_own(void **state)
{
	(void)state;
	assert_int_equal(kind(WARN GONE SYSTEM, "No such device"), RI_LOSS_OWN);
	assert_int_equal(kind(SYSTEM WARN GONE, "No such device"), RI_LOSS_OWN);
	assert_int_equal(kind("[rank0]: " WARN FATAL REMOTE, "catastrophic"), RI_LOSS_OWN);
	assert_int_equal(kind(WARN "Call to ibv_reg_mr failed with error Cannot allocate memory\n"
		"terminate called after throwing an instance of 'c10::DistBackendError'\n"
		"  what():  [Rank 0] NCCL error: unhandled system error\n", "ibv_reg_mr"),
		RI_LOSS_OWN);
	/* the first in time: the others may have left because of it */
	assert_int_equal(kind(WARN GONE WARN CLOSED SYSTEM, "No such device"), RI_LOSS_OWN);
}

/* The same words, where they do not decide. */
static void a_peer_that_is_gone(void **state)
{
	static char text[4096];

	(void)state;
	assert_int_equal(kind(SYSTEM, NULL), RI_LOSS_PEER);
	assert_int_equal(kind(WARN CLOSED SYSTEM, NULL), RI_LOSS_PEER);
	assert_int_equal(kind(WARN CLOSED WARN GONE SYSTEM, NULL), RI_LOSS_PEER);
	assert_int_equal(kind(INFO GONE SYSTEM, NULL), RI_LOSS_PEER);
	assert_int_equal(kind(WARN "Call to ibv_modify_qp failed with error Connection timed out "
		"errno 110\n" SYSTEM, NULL), RI_LOSS_PEER);
	assert_int_equal(kind(WARN "NET/IB : mlx5_0:1 Got async event : port active\n" REMOTE,
		NULL), RI_LOSS_PEER);
	/* an exception that says itself what it was needs no log */
	assert_int_equal(kind(WARN GONE RAISED "RuntimeError: [gloo/transport/tcp/pair.cc:1] "
		"Connection closed by peer\n", NULL), RI_LOSS_PEER);
	/* long ago */
	strcpy(text, WARN GONE);
	for (int i = 0; i < 50; i++)
		strcat(text, "step\n");
	strcat(text, SYSTEM);
	assert_int_equal(kind(text, NULL), RI_LOSS_PEER);
}

static void a_name_that_does_not_resolve(void **state)
{
	struct ri_words words;

	(void)state;
	assert_int_equal(kind(UNKNOWN UNKNOWN CLOCK, "(gpu-0, 29500)"), RI_LOSS_OWN);
	assert_int_equal(kind(NAME("", "-3 - Temporary failure in name resolution") CLOCK,
		"(gpu-0, 29500)"), RI_LOSS_OWN);
	/* it has an address of the other family, and nothing listens there */
	assert_int_equal(kind(NAME("IPv6 ", "-9 - Address family for hostname not supported")
		CLOCK, NULL), RI_LOSS_CLOCK);
	assert_int_equal(kind(CLOCK, NULL), RI_LOSS_CLOCK);
	/* it resolved later: the store was there, and went */
	assert_int_equal(kind(UNKNOWN RAISED "torch.distributed.DistNetworkError: recvValue "
		"failed on SocketImpl(fd=76)\n", NULL), RI_LOSS_STORE);
	/* the first of a chain counts here, too */
	ri_words_read(SPAN_OF(UNKNOWN CLOCK "\nThe above exception was the direct cause of the "
		"following exception:\n\n" RAISED "torch.distributed.elastic.rendezvous.api."
		"RendezvousConnectionError: The connection to the C10d store has failed.\n"),
		&words);
	assert_null(words.loss);
	assert_null(words.last_loss);
}

#define DIED RAISED "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing " \
	"this task.\n\tclass_name: Worker\n\tactor_id: 31c2\n\tpid: 417\n\tnamespace: x\n" \
	"The actor is dead because its worker process has died.\n"
#define FATAL_OF(pid) "(Worker pid=" pid ") Fatal Python error: Aborted\n"

/* An actor below this process is none of its peers, if it said itself what it died of. */
static void an_actor_that_tells_why(void **state)
{
	static char text[8192];

	(void)state;
	assert_int_equal(kind(FATAL_OF("417") DIED, "Fatal Python error"), RI_LOSS_OWN);
	assert_int_equal(kind("(Worker pid=417) x.cc:5: f: Assertion `n' failed.\n" FATAL_OF("417")
		DIED, "Assertion `n' failed."), RI_LOSS_OWN);
	/* however much its stack and others say */
	strcpy(text, FATAL_OF("417"));
	for (int i = 0; i < 100; i++)
		strcat(text, "(Worker pid=418) step\n");
	strcat(text, DIED);
	assert_int_equal(kind(text, "Fatal Python error"), RI_LOSS_OWN);
	/* another one's, no one's, or nothing that ends a process */
	assert_int_equal(kind(FATAL_OF("418") DIED, NULL), RI_LOSS_PEER);
	assert_int_equal(kind("Fatal Python error: Aborted\n" DIED, NULL), RI_LOSS_PEER);
	assert_int_equal(kind("(Worker pid=417) ERROR: slow\n" DIED, NULL), RI_LOSS_PEER);
	assert_int_equal(kind(DIED, NULL), RI_LOSS_PEER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_of_the_node_s_own),
		cmocka_unit_test(a_peer_that_is_gone),
		cmocka_unit_test(a_name_that_does_not_resolve),
		cmocka_unit_test(an_actor_that_tells_why),
	};

	return cmocka_run_group_tests_name("logged", tests, NULL, NULL);
}
