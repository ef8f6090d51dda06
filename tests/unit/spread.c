/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures of several nodes in virtual time, which tests/failures/test_spread.py reads from its
 * records: whom does node 0 name if nodes answer its question, and whom if none does, so that it
 * waits for the half second? Reads jobs, and prints a line for each:
 *
 *     job NODES RANKS
 *     rank NODE TRACEBACK END STATUS LENGTH    once for each; ms, -1: never; a wait status
 *     BYTES                                    of its stderr
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/centre.h"
#include "report/culprit.h"

enum { NODES = 4, RANKS = 64, ANSWERS = 64, TEXT = 1 << 20, JUDGE_MS = 5, WAY_MS = 2,
	FRESH_MS = 2000, BEGIN_MS = 1000000, NEVER = INT32_MAX };

struct rank {
	size_t node;
	int64_t traceback, end;
	enum ri_class class;
	bool leaves;			/* it ends of its traceback, which a look proves */
	int64_t moment;			/* when it failed, as a verdict has it */
};

static struct rank ranks[RANKS];
static size_t rank_count;
static struct ri_centre centre;
static struct ri_centre_node nodes[NODES];
static int64_t now;
static int64_t over[NODES];		/* its other ranks are stopped; NEVER: they are not */
static enum ri_class said[NODES];	/* the best that it has told */
static struct { int64_t at; size_t node; } answers[ANSWERS];
static size_t answer_count;
static bool do_answer;

/* Is something that began by then untold? */
static bool is_open(size_t node, int64_t at)
{
	for (size_t i = 0; i < rank_count; i++) {
		const struct rank *rank = &ranks[i];

		if (rank->node != node || over[node] <= at)
			continue;
		if (rank->end <= at ? rank->end + JUDGE_MS > at
			: rank->traceback <= at &&
			(rank->leaves || rank->traceback + FRESH_MS > at))
			return true;
	}
	return false;
}

static void hear(void *context, size_t session, const struct ri_link_message *message)
{
	int64_t at = now + WAY_MS;

	(void)context;
	if (message->kind != RI_LINK_ASK || !message->ask.waits || !do_answer)
		return;
	while (is_open(session, at))
		at++;
	if (answer_count == ANSWERS)
		abort();
	answers[answer_count].at = at + WAY_MS;
	answers[answer_count++].node = session;
}

static void drop(void *context, size_t session)
{
	(void)context;
	(void)session;
	abort();
}

static const char *host(void *context, size_t node)
{
	(void)context;
	(void)node;
	return NULL;
}

static void begin(size_t count)
{
	struct ri_link_hello hello = { .nodes = count, .may_stop = true, .age_ms = 1000 };

	memset(nodes, 0, sizeof(nodes));
	answer_count = 0;
	now = -1000;
	centre = (struct ri_centre){ .send = hear, .drop = drop, .host = host, .nodes = nodes,
		.count = count, .keyed = true, .orders = true, .self = hello };
	ri_centre_begin(&centre, BEGIN_MS + now);
	for (size_t i = 0; i < count; i++) {
		hello.node = i;
		hello.life.bytes[0] = (unsigned char)(i + 1);
		if (ri_centre_hello(&centre, i, &hello, BEGIN_MS + now) != (int64_t)i)
			abort();
		over[i] = NEVER;
		said[i] = RI_CLASS_NONE;
	}
}

/* The best of those that have ended by now, if that is more than it has said before. */
static void tell(size_t node)
{
	struct ri_link_message message = { .kind = RI_LINK_END, .end = { .fatal = true } };
	const struct rank *best = NULL;

	for (size_t i = 0; i < rank_count; i++) {
		const struct rank *rank = &ranks[i];

		if (rank->node == node && rank->class > RI_CLASS_STOPPED &&
			rank->end + JUDGE_MS <= now && (best == NULL || rank->class > best->class ||
			(rank->class == best->class && rank->moment < best->moment)))
			best = rank;
	}
	if (best == NULL || best->class <= said[node] || over[node] <= now)
		return;
	said[node] = best->class;
	if (best->class > RI_CLASS_LOSS)
		over[node] = now;
	message.end.verdict = (struct ri_verdict){ .class = best->class,
		.rank = best - ranks, .node = -1 };
	message.end.at_us = (uint64_t)(BEGIN_MS + best->moment) * 1000;
	snprintf(message.end.text, sizeof(message.end.text), "rank %td\n", best - ranks);
	ri_centre_hear(&centre, node, node, &message, BEGIN_MS + now);
}

/* When something happens next. */
static int64_t next_at(void)
{
	int64_t next = ri_centre_due(&centre) == INT64_MAX ? NEVER
		: ri_centre_due(&centre) - BEGIN_MS;

	for (size_t i = 0; i < rank_count; i++)
		if (ranks[i].end + JUDGE_MS > now && ranks[i].end + JUDGE_MS < next)
			next = ranks[i].end + JUDGE_MS;
	for (size_t i = 0; i < answer_count; i++)
		if (answers[i].at > now && answers[i].at < next)
			next = answers[i].at;
	return next;
}

/* Until the verdict. Prints when it came, and the ranks that it names; -1: none. */
static void play(size_t count, bool with_answers)
{
	begin(count);
	do_answer = with_answers;
	while (!centre.decided && (now = next_at()) < NEVER) {
		for (size_t node = 0; node < count; node++)
			tell(node);
		for (size_t i = 0; i < answer_count; i++) {
			const struct ri_link_message answer = { .kind = RI_LINK_ANSWER };

			if (answers[i].at == now)
				ri_centre_hear(&centre, answers[i].node, answers[i].node, &answer,
					BEGIN_MS + now);
		}
		ri_centre_pass(&centre, BEGIN_MS + now);
	}
	printf("%lld", (long long)now);
	for (const char *at = centre.decision.text; (at = strstr(at, "rank ")) != NULL; at += 5)
		if (at[5] >= '0' && at[5] <= '9')
			printf(" %d", centre.decision.verdict.node < 0 ? -1 : atoi(at + 5));
	printf("%s", with_answers ? "," : "\n");
}

static void read_rank(struct rank *rank)
{
	static char text[TEXT];
	struct ri_rank_outcome is = { .pid = 1, .started.tv_sec = BEGIN_MS / 1000, .order = 1 };
	int status;
	size_t length;

	if (scanf(" rank %zu %ld %ld %d %zu%*1[\n]", &rank->node, &rank->traceback, &rank->end,
		&status, &length) != 5 || length > TEXT || fread(text, 1, length, stdin) != length)
		exit(2);
	rank->class = RI_CLASS_NONE;
	rank->leaves = false;
	if (rank->traceback < 0)
		rank->traceback = NEVER;
	if (rank->end < 0)
		rank->end = NEVER;
	rank->moment = rank->end;
	if (rank->end == NEVER || status == 0)
		return;
	ri_rank_take_status(&is, status);
	is.wrote.tail = (struct ri_span){ text, length };
	is.ended.tv_sec = (BEGIN_MS + rank->end) / 1000;
	is.ended.tv_nsec = (BEGIN_MS + rank->end) % 1000 * 1000000;
	if (rank->traceback != NEVER) {
		is.traceback_at.tv_sec = (BEGIN_MS + rank->traceback) / 1000;
		is.traceback_at.tv_nsec = (BEGIN_MS + rank->traceback) % 1000 * 1000000;
	}
	ri_class_find(&is);
	rank->class = is.evidence.class;
	rank->leaves = is.evidence.ended_of_traceback;
	if (rank->leaves)
		rank->moment = rank->traceback;
}

int main(void)
{
	size_t count;

	while (scanf(" job %zu %zu", &count, &rank_count) == 2) {
		if (count > NODES || rank_count > RANKS)
			return 2;
		for (size_t i = 0; i < rank_count; i++)
			read_rank(&ranks[i]);
		play(count, true);
		play(count, false);
	}
	return 0;
}
