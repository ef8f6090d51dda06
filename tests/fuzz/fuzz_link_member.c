/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A member that hears anything of a centre, in any order, two bytes for each thing; the first
 * byte of all says whether it has a key, and whether its ranks may be stopped. It never crashes,
 * passes on one verdict, without a key none, at most 32 lines and 32 looks, answers each look once,
 * takes each step once and where it said that it can, and calls nobody any more once it was sent
 * away.
 */
#include "fuzz.h"
#include "link/member.h"

enum { FOREIGN_MOST = 32, LOOKS_MOST = 32, OWN_MOST = 2 };

static struct ri_member member;
static unsigned verdicts, lines, looks, asked, answers, steps[2];
static bool can[2];		/* PID 1 said so last */

static void send_nothing(void *context, const struct ri_link_message *message)
{
	(void)context;
	CHECK(message->kind == RI_LINK_HELLO || message->kind == RI_LINK_PHASE ||
		message->kind == RI_LINK_END || message->kind == RI_LINK_LOOK ||
		message->kind == RI_LINK_GROUPS || message->kind == RI_LINK_GO ||
		message->kind == RI_LINK_ANSWER || message->kind == RI_LINK_TIME);
	CHECK(message->kind != RI_LINK_ANSWER || (member.keyed && !member.waits && !member.holds));
	answers += message->kind == RI_LINK_GROUPS;
	CHECK(answers <= looks && (member.keyed || answers <= LOOKS_MOST));
	CHECK(message->kind != RI_LINK_END ||
		message->end.verdict.class == member.end.verdict.class);
}

static void tell(void *context, const struct ri_link_message *message)
{
	const struct ri_link_decision *verdict = &message->decision;
	const struct ri_link_go *go = &message->go;

	(void)context;
	CHECK(message->kind == RI_LINK_HEARD || message->kind == RI_LINK_LOOK || member.keyed);
	if (message->kind == RI_LINK_HEARD)
		CHECK(member.end_heard);
	else if (message->kind == RI_LINK_ASK)
		CHECK(!member.judged && message->ask.number == member.asks);
	else if (message->kind == RI_LINK_LOOK)
		CHECK(member.keyed || ++asked <= LOOKS_MOST);
	else if (message->kind == RI_LINK_FOUND)
		CHECK(message->found.text[0] != '\0');
	else if (message->kind == RI_LINK_GO)
		CHECK(steps[go->step]++ == 0 && (!go->go || can[go->step]));
	else
		CHECK(message->kind == RI_LINK_VERDICT && verdicts++ == 0 &&
			(!verdict->order || member.self.may_stop) &&
			(!verdict->again || member.self.restarts > 0));
}

static void say(void *context, const char *text)
{
	(void)context;
	CHECK(text[0] != '\0');
	for (; *text != '\0'; lines++) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
}

/* News of many lines, which anybody may send. */
static void make_text(char *text, unsigned count)
{
	struct ri_text out;

	out = ri_text_of(text, RI_LINK_TEXT);
	for (unsigned i = 0; i <= count; i++)
		ri_text_addf(&out, "line %u\n", i);
}

/* Returns how many lines it may say of it, beside the foreign ones. */
static unsigned hear(unsigned what, unsigned more, int64_t now)
{
	static struct ri_link_message message;
	static const enum ri_link_kind kinds[] = { RI_LINK_HELLO, RI_LINK_HEARD, RI_LINK_NEWS,
		RI_LINK_VERDICT, RI_LINK_PHASE, RI_LINK_END, RI_LINK_ASK, RI_LINK_LOOK,
		RI_LINK_FOUND, RI_LINK_GROUPS, RI_LINK_GO };

	memset(&message, 0, sizeof(message));
	message.kind = what >= 0xfc ? RI_LINK_TIME
		: kinds[what % (sizeof(kinds) / sizeof(kinds[0]))];
	if (message.kind == RI_LINK_HELLO) {
		message.hello.place = (enum ri_link_place)(more % (RI_LINK_SIZE + 1));
		message.hello.life.bytes[0] = (unsigned char)(1 + more % 3);
	} else if (message.kind == RI_LINK_NEWS) {
		make_text(message.news.text, more);
	} else if (message.kind == RI_LINK_VERDICT) {
		message.decision = (struct ri_link_decision){ .verdict.node = more,
			.order = (more & 1) != 0, .again = (more & 2) != 0 };
		make_text(message.decision.text, more % 4);
	} else if (message.kind == RI_LINK_GO) {
		message.go = (struct ri_link_go){ .step = (enum ri_link_step)(more & 1),
			.go = (more & 2) != 0 };
	} else if (message.kind == RI_LINK_ASK) {
		message.ask.waits = (more & 1) != 0;
	} else if (message.kind == RI_LINK_FOUND && more % 4 != 0) {
		message.found.rank = more;
		make_text(message.found.text, more % 4);
	}
	if (message.kind == RI_LINK_TIME || message.kind == RI_LINK_HELLO)
		ri_clocks_see(&member.node_0, (int64_t)more << 20, more, now * 1000);
	looks += message.kind == RI_LINK_LOOK;
	CHECK(ri_member_hear(&member, &message, now) || message.kind != RI_LINK_HELLO);
	return OWN_MOST;
}

/* Returns how many lines it may say of itself. */
static unsigned play(unsigned what, unsigned more, int64_t now)
{
	static const struct ri_link_groups said = { "groups\n" };
	struct ri_link_go vote = { .step = (enum ri_link_step)(more & 1), .go = (more & 2) != 0 };
	struct ri_link_end end = { .verdict.class = (enum ri_class)(more % (RI_CLASS_OWN + 1)),
		.fatal = true, .text = "rank\n", .at_us = (uint64_t)now * 1000 };

	switch (what >> 5) {
	case 0:
		(more % 2 == 0 ? ri_member_lose : ri_member_shut_out)(&member,
			"Connection refused");
		return 1;
	case 1:
		ri_member_reach(&member, (enum ri_link_phase)(more % 3));
		return 0;
	case 2:
		can[vote.step] = what % 8 == 7 ? vote.go : can[vote.step];
		if (what % 16 == 14)
			ri_member_answer(&member, member.asks - more % 2);
		else if (what % 2 == 0)
			ri_member_end(&member, &end);
		else if (what % 8 == 7)
			ri_member_vote(&member, &vote);
		else if (what % 4 == 1)
			ri_member_look(&member, &(struct ri_link_look){ more % 2 == 0 }, now);
		else
			ri_member_tell_groups(&member, &said, now);
		return 0;
	case 3:
		if (ri_member_calls(&member))
			ri_member_connect(&member, now);
		return 0;
	default:
		return hear(what, more, now);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int64_t now = 1000000000;
	unsigned own = 0;
	bool gone = false;

	if (size == 0)
		return 0;
	verdicts = lines = looks = asked = answers = steps[0] = steps[1] = 0;
	can[0] = can[1] = false;
	member = (struct ri_member){ .send = send_nothing, .tell = tell, .say = say,
		.keyed = (data[0] & 1) != 0, .centre_name = "node-0",
		.ports = "port 9471",
		.self = { .node = 1, .nodes = 4, .may_stop = (data[0] & 2) != 0,
			.restarts = (data[0] & 8) != 0 },
		.roll_ms = (data[0] & 4) != 0 ? 10000 : 0,
		.wall.seen_us = 1, .node_0.drift = true };
	ri_member_begin(&member, now);
	for (size_t i = 1; i + 1 < size; i += 2) {
		now += data[i + 1] * 64;
		own += play(data[i], data[i + 1], now);
		own += ri_member_due(&member) <= now;
		ri_member_pass(&member, now);
		CHECK(ri_member_due(&member) > now);
		CHECK(!gone || !ri_member_calls(&member));
		gone = member.over;
	}
	ri_member_give_up(&member);
	CHECK(member.keyed || lines <= FOREIGN_MOST + own + 1);
	return 0;
}
