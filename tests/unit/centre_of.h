/* SPDX-License-Identifier: Apache-2.0 */
/* A centre of four nodes, what it sends and drops, and words to drive it with. */
#ifndef TESTS_UNIT_CENTRE_OF_H
#define TESTS_UNIT_CENTRE_OF_H

#include <stdio.h>
#include <string.h>

#include "link/centre.h"

enum { NODES = 4, SENT = 64 };

static struct ri_centre centre;
static struct ri_centre_node nodes[NODES];
static struct { size_t session; struct ri_link_message message; } sent[SENT];
static size_t sent_count, dropped[SENT], dropped_count;
static int64_t now;

static inline void keep(void *context, size_t session, const struct ri_link_message *message)
{
	(void)context;
	assert_true(sent_count < SENT);
	sent[sent_count].session = session;
	sent[sent_count++].message = *message;
}

static inline void note_drop(void *context, size_t session)
{
	(void)context;
	assert_true(dropped_count < SENT);
	dropped[dropped_count++] = session;
}

static inline const char *host(void *context, size_t node)
{
	(void)context;
	return node == 3 ? "worker-3" : NULL;
}

/* Node n lives with the byte n + 1 and has session n; its second life has session n + 10. */
static inline struct ri_link_hello a_hello(size_t node, bool second)
{
	struct ri_link_hello hello = { .node = node, .nodes = NODES, .may_stop = true,
		.age_ms = 1, .place = RI_LINK_GUEST };

	hello.life.bytes[0] = (unsigned char)(node + (second ? 101 : 1));
	snprintf(hello.host, sizeof(hello.host), "gpu-%zu%s", node, second ? "b" : "");
	return hello;
}

static inline size_t session_of(size_t node, bool second)
{
	return node + (second ? 10 : 0);
}

static inline int64_t call(size_t node, bool second)
{
	struct ri_link_hello hello = a_hello(node, second);

	return ri_centre_hello(&centre, session_of(node, second), &hello, now);
}

static inline int begin(void **state)
{
	(void)state;
	memset(nodes, 0, sizeof(nodes));
	sent_count = dropped_count = 0;
	now = 1000000;
	centre = (struct ri_centre){ .send = keep, .drop = note_drop, .host = host, .nodes = nodes,
		.count = NODES,
		.keyed = true, .orders = true, .self = a_hello(0, false), .roll_ms = 10000 };
	ri_centre_begin(&centre, now);
	assert_int_equal(call(0, false), 0);
	return 0;
}

/* The last message to that session of that kind; NULL: there was none. */
static inline const struct ri_link_message *last(size_t session, enum ri_link_kind kind)
{
	for (size_t i = sent_count; i-- > 0;)
		if (sent[i].session == session && sent[i].message.kind == kind)
			return &sent[i].message;
	return NULL;
}

static inline size_t count(enum ri_link_kind kind)
{
	size_t found = 0;

	for (size_t i = 0; i < sent_count; i++)
		found += sent[i].message.kind == kind;
	return found;
}

static inline enum ri_link_place place_of(size_t session)
{
	const struct ri_link_message *hello = last(session, RI_LINK_HELLO);

	assert_non_null(hello);
	return hello->hello.place;
}

static inline void all_come(void)
{
	for (size_t i = 1; i < NODES; i++)
		assert_int_equal(call(i, false), i);
}

static inline void reach(size_t node, enum ri_link_phase phase)
{
	struct ri_link_message message = { .kind = RI_LINK_PHASE, .phase = phase };

	assert_true(ri_centre_hear(&centre, node, session_of(node, false), &message, now));
}

static inline void end_from(size_t node, size_t session, enum ri_class class, bool fatal)
{
	struct ri_link_message message = { .kind = RI_LINK_END,
		.end = { .verdict.class = class, .fatal = fatal,
			.verdict.why = { RI_CAUSE_XID, RI_RETRY_OTHER_NODE },
			.verdict.rank = (int64_t)node + 100 } };

	snprintf(message.end.text, sizeof(message.end.text), "rank of node %zu\n  why\n", node);
	assert_true(ri_centre_hear(&centre, node, session, &message, now));
	/* behind the verdict, if this end brought one */
	assert_int_equal(sent[sent_count - 1].session, session);
	assert_int_equal(sent[sent_count - 1].message.kind, RI_LINK_HEARD);
}

static inline void end(size_t node, enum ri_class class)
{
	end_from(node, session_of(node, false), class, true);
}

static inline void pass(int64_t ms)
{
	now += ms;
	ri_centre_pass(&centre, now);
}

static inline void assert_verdict(size_t session, size_t node, bool order)
{
	const struct ri_link_message *verdict = last(session, RI_LINK_VERDICT);
	char text[64];

	snprintf(text, sizeof(text), "rank of node %zu\n  why\n", node);
	assert_non_null(verdict);
	assert_true(verdict->decision.verdict.node >= 0);
	assert_int_equal(verdict->decision.verdict.node, node);
	assert_int_equal(verdict->decision.order, order);
	assert_string_equal(verdict->decision.text, text);
}

#endif
