/* SPDX-License-Identifier: Apache-2.0 */
/* What node 0 says of ten thousand nodes stays short: ranges, the first ten, and counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "link/centre.h"

enum { NODES = 10000, WAIT_MS = 60000 };

static struct ri_centre centre;
static struct ri_centre_node nodes[NODES];
static struct ri_link_message last;	/* to node 1 */
static size_t sent;		/* to all, of which each fits into a frame */
static int64_t now;

static void keep(void *context, size_t session, const struct ri_link_message *message)
{
	static char json[RI_LINK_FRAME + 1];
	struct ri_text text = ri_text_of(json, sizeof(json));

	(void)context;
	sent++;
	if (session != 1 || message->kind == RI_LINK_HELLO)
		return;
	assert_int_equal(ri_link_message_render(message, &text), 0);
	last = *message;
}

static void drop(void *context, size_t session)
{
	(void)context;
	(void)session;
}

/* The longest name that a node can have. */
static const char *host(void *context, size_t node)
{
	static char name[RI_LINK_WORD];

	(void)context;
	snprintf(name, sizeof(name), "%063zu", node);
	return name;
}

static void come(size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		struct ri_link_hello hello = { .node = i, .nodes = NODES, .may_stop = true,
			.age_ms = 1, .restarts = 1, .place = RI_LINK_GUEST };

		memcpy(hello.life.bytes, &(size_t){ i + 1 }, sizeof(size_t));
		assert_int_equal(ri_centre_hello(&centre, i, &hello, now), i);
	}
}

static int begin(void **state)
{
	(void)state;
	memset(nodes, 0, sizeof(nodes));
	memset(&last, 0, sizeof(last));
	sent = 0;
	now = 1000000;
	centre = (struct ri_centre){ .send = keep, .drop = drop, .host = host, .nodes = nodes,
		.count = NODES, .keyed = true, .orders = true, .roll_ms = 10000,
		.self = { .life.bytes = "node 0" } };
	ri_centre_begin(&centre, now);
	come(0, 2);
	return 0;
}

static void pass(int64_t ms)
{
	now += ms;
	ri_centre_pass(&centre, now);
}

static void test_who_has_not_come(void **state)
{
	(void)state;
	come(5, 100);
	come(101, 8000);
	pass(10000);
	assert_string_equal(last.news.text, "waiting for 2004 of 10000 nodes for 10 s: nodes 2-4, "
		"100, 8000-9999; look whether they run, with --link and the same key\n");
	/* each second one: ten of them, and how many more */
	for (size_t i = 8000; i < NODES; i += 2)
		come(i, i + 1);
	come(2, 5);
	come(100, 101);
	pass(10000);
	assert_string_equal(last.news.text, "waiting for 1000 of 10000 nodes for 20 s: nodes 8001, "
		"8003, 8005, 8007, 8009, 8011, 8013, 8015, 8017, 8019 and 990 more\n");
}

/* The last ten have names again, and all of these fit. */
static void test_ten_names(void **state)
{
	(void)state;
	come(2, NODES - 10);
	pass(10000);
	assert_non_null(strstr(last.news.text, "waiting for 10 of 10000 nodes for 10 s: "
		"node 9990 ("));
	assert_non_null(strstr(last.news.text, "9999); look whether they run, with --link and the "
		"same key\n"));
}

static void test_who_is_silent(void **state)
{
	(void)state;
	come(2, NODES);
	for (size_t i = 4000; i < 7000; i++) {
		/* a switch that is gone takes them one after the other */
		now += i % 10 == 0;
		ri_centre_lose(&centre, i, i, RI_CENTRE_CLOSED, now);
	}
	sent = 0;
	for (int i = 0; i < 620; i++)
		pass(100);
	assert_string_equal(last.news.text, "nodes 4000-6999: silent for 60 s; look whether they "
		"still run\n");
	assert_int_equal(sent, 7000);
	/* one line in all */
	pass(1000000);
	assert_int_equal(sent, 7000);
}

static void test_who_had_not_ended_its_ranks(void **state)
{
	const struct ri_link_message vote = { .kind = RI_LINK_GO,
		.go = { .step = RI_LINK_START, .go = true } };

	(void)state;
	centre.gathers = true;
	centre.wait_ms = WAIT_MS;
	come(2, NODES);
	for (size_t i = 0; i < NODES; i++)
		if (i < 300 || i >= 9000)
			ri_centre_hear(&centre, i, i, &vote, now);
	now += WAIT_MS;
	ri_joint_pass(&centre, RI_LINK_START, now);
	assert_string_equal(last.go.text, "the ranks do not start again: nodes 300-8999 have not "
		"said to be ready within 60 s\n");
}

/* Of losses alone: the first nodes that may explain them, and how many more. */
static void test_who_may_explain_losses(void **state)
{
	struct ri_link_message end = { .kind = RI_LINK_END, .end = { .fatal = true,
		.verdict = { .class = RI_CLASS_LOSS, .rank = 8 } } };

	(void)state;
	strcpy(end.end.text, "rank 8 lost a peer\n");
	come(2, NODES);
	for (size_t i = 5000; i < 6000; i++)
		ri_centre_lose(&centre, i, i, RI_CENTRE_CLOSED, now);
	ri_centre_hear(&centre, 1, 1, &end, now);
	pass(RI_CENTRE_SETTLE_MS);
	assert_int_equal(last.kind, RI_LINK_VERDICT);
	assert_non_null(strstr(last.decision.text, "5007) closed its connection without a word, as "
		"when its container is killed\n"
		"  and 992 more nodes are silent, or ranks of them had ended with 0\n"
		"  the first to lose another was node 1 ("));
}

#define LARGE(test) cmocka_unit_test_setup(test, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LARGE(test_who_has_not_come),
		LARGE(test_ten_names),
		LARGE(test_who_is_silent),
		LARGE(test_who_had_not_ended_its_ranks),
		LARGE(test_who_may_explain_losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
