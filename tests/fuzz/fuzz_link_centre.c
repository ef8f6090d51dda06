/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A centre that hears anything, in any order, two bytes for each thing: a hello, a phase, an end,
 * a lost connection, a vote, a look, time. It never crashes; an order goes only to a life that it
 * took, behind a failure; there is one verdict; a step is taken if all can take it; and a
 * look is asked for in a round, which ends.
 */
#include "fuzz.h"
#include "link/centre.h"

enum { NODES = 4, SESSIONS = 64 };

static struct ri_centre centre;
static struct ri_centre_node nodes[NODES];
static int64_t of_session[SESSIONS];
static bool failed;		/* some node said so */
static char verdict[RI_LINK_TEXT];
static bool further;		/* the ranks have come further than those before them */

static void take(void *context, size_t session, const struct ri_link_message *message)
{
	(void)context;
	CHECK(session < SESSIONS);
	for (size_t i = 0; i < NODES && message->kind == RI_LINK_GO && message->go.go; i++)
		CHECK(nodes[i].here && nodes[i].taken && nodes[i].ready[message->go.step] &&
			!nodes[i].barred);
	CHECK(message->kind != RI_LINK_LOOK || centre.looks);
	if (message->kind != RI_LINK_VERDICT)
		return;
	CHECK(!message->decision.again || centre.self.restarts > 0);
	CHECK(verdict[0] == '\0' || strcmp(verdict, message->decision.text) == 0);
	ri_text_copy(verdict, sizeof(verdict), message->decision.text);
	CHECK(!message->decision.order || failed);
}

static void drop(void *context, size_t session)
{
	(void)context;
	CHECK(session < SESSIONS);
	of_session[session] = -1;
}

static const char *name(void *context, size_t node)
{
	(void)context;
	CHECK(node < NODES);
	return "host";
}

static struct ri_link_hello a_hello(unsigned what, unsigned more)
{
	struct ri_link_hello hello = { .node = what % NODES, .nodes = NODES, .host = "gpu",
		.age_ms = more * 1000, .may_stop = (more & 4) != 0, .call = more & 3,
		.met_ms = (more & 0x20) != 0 ? more * 1500 : 0,
		.restarts = (more & 0x10) != 0 };

	hello.life.bytes[0] = (unsigned char)(1 + (what >> 2) % 3);
	hello.life.bytes[1] = (unsigned char)hello.node;
	hello.centre.bytes[0] = (more & 0x40) != 0 ? 9 : 0;
	return hello;
}

/* Not a failure: what ends well, and a stop. */
static void hear_end(size_t node, size_t session, unsigned more, int64_t now)
{
	static struct ri_link_message end;

	end = (struct ri_link_message){ .kind = RI_LINK_END, .end = {
		.verdict.class = (enum ri_class)(more % (RI_CLASS_OWN + 1)),
		.fatal = (more & 8) != 0, .lives = (more & 16) != 0, .open = (more & 32) != 0,
		.at_us = (uint64_t)(more >> 5) * 1000, .error_us = (more & 4) * 400,
		.verdict.mark = more >> 6, .verdict.rank = -1,
		.text = "rank\n" } };
	failed = failed || end.end.verdict.class > RI_CLASS_STOPPED;
	CHECK(ri_centre_hear(&centre, node, session, &end, now));
}

static void keep_groups(void *context, size_t node, const char *groups)
{
	CHECK(context == &centre && node < NODES && groups[0] != '\0' && centre.looks);
}

static void judge_round(void *context, struct ri_link_found *found)
{
	CHECK(context == &centre && found->rank == -1 && found->text[0] == '\0');
}

static void hear_look(size_t node, size_t session, unsigned more, int64_t now)
{
	static struct ri_link_message message;
	unsigned owed = nodes[node].owed;
	bool counts = nodes[node].here && nodes[node].taken && nodes[node].session == session;

	message = (struct ri_link_message){ .kind = RI_LINK_LOOK, .look = { (more & 1) != 0 } };
	if ((more & 2) != 0) {
		message = (struct ri_link_message){ .kind = RI_LINK_GROUPS };
		ri_text_copy(message.groups.text, 8, (more & 4) != 0 ? "groups\n" : "");
	}
	CHECK(ri_centre_hear(&centre, node, session, &message, now) ==
		((more & 2) == 0 || (counts && owed > 0)));
}

static void hear(unsigned what, unsigned more, int64_t now)
{
	size_t session = what / 4 % SESSIONS;
	struct ri_link_message phase = { .kind = RI_LINK_PHASE,
		.phase = (enum ri_link_phase)(more % 3) };
	struct ri_link_hello hello = a_hello(more, what);
	int64_t node = of_session[session];

	if (what % 4 == 0 && session > 0 && node < 0) {
		/* a second life after ranks ran is a failure, too */
		failed = failed || centre.nodes[hello.node].phase != RI_LINK_STARTING;
		of_session[session] = ri_centre_hello(&centre, session, &hello, now);
	} else if (what % 4 == 1 && node >= 0 && (more & 0x80) != 0) {
		hear_look((size_t)node, session, more, now);
	} else if (what % 4 == 1 && node >= 0) {
		CHECK(ri_centre_hear(&centre, (size_t)node, session, &phase, now));
	} else if (what % 4 == 2 && node >= 0) {
		hear_end((size_t)node, session, more, now);
	} else if (what % 4 == 3 && node >= 0) {
		ri_centre_lose(&centre, (size_t)node, session,
			more % 4 == 3 ? (int)more * 100 : RI_CENTRE_CLOSED, now);
		of_session[session] = session == 0 ? 0 : -1;
	} else if (what % 4 == 0 && node >= 0 && (more & 0x40) != 0) {
		const struct ri_link_message answer = { .kind = RI_LINK_ANSWER };

		CHECK(ri_centre_hear(&centre, (size_t)node, session, &answer, now));
	} else if (what % 4 == 0 && node >= 0) {
		const struct ri_link_message vote = { .kind = RI_LINK_GO, .go = {
			.step = (enum ri_link_step)(more % 2), .go = (more & 2) != 0 } };

		CHECK(ri_centre_hear(&centre, (size_t)node, session, &vote, now));
	}
}

static bool come_further(void *context)
{
	(void)context;
	return further;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned first = size > 0 ? data[0] : 0;
	struct ri_link_hello self = a_hello(0, (first & 0x40) != 0 ? 0x14 : 4);
	int64_t now = 1000000000;

	memset(nodes, 0, sizeof(nodes));
	for (size_t i = 0; i < SESSIONS; i++)
		of_session[i] = -1;
	failed = false;
	verdict[0] = '\0';
	centre = (struct ri_centre){ .send = take, .drop = drop, .host = name, .nodes = nodes,
		.count = NODES, .orders = true, .self = self, .roll_ms = 10000,
		.add = keep_groups, .judge = judge_round, .context = &centre, .keyed = true,
		.gathers = (first & 0x80) != 0, .last_mark = (first & 0x80) != 0,
		.progressed = come_further, .wait_ms = 5000 };
	further = (first & 0x20) != 0;
	ri_centre_begin(&centre, now);
	of_session[0] = ri_centre_hello(&centre, 0, &self, now);
	CHECK(of_session[0] == 0);
	for (size_t i = 0; i + 1 < size; i += 2) {
		now += data[i + 1] * 16;
		hear(data[i], data[i + 1], now);
		ri_centre_pass(&centre, now);
		CHECK(ri_centre_due(&centre) > now);
	}
	CHECK(ri_centre_misses(&centre) || centre.called == NODES);
	ri_centre_close(&centre, now);
	return 0;
}
