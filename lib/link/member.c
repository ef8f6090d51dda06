/* SPDX-License-Identifier: Apache-2.0 */
#include "link/member.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	UNPROVED_MOST = 32,	/* lines of a centre that proves nothing, and its looks */
	ROLL_MOST_MS = 3600000,
	FIND_MS = 500,		/* for the way of what was found */
	FRESH_MS = 2000,	/* groups that are older are no answer */
	SILENT_MS = RI_LINK_BEAT_MS + 1000,	/* a node 0 that waits says more by then */
	FRESH_US = 2000000,	/* nor is a comparison of clocks, to tell an end by it */
	TIME_MS = 300000,	/* between two of them */
};

static void __attribute__((format(printf, 2, 3))) say(const struct ri_member *member,
	const char *format, ...)
{
	char line[RI_MAX_LINE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	member->say(member->context, line);
}

void ri_member_begin(struct ri_member *member, int64_t now)
{
	member->begun = now;
	member->roll_at = member->roll_ms > 0 ? now + member->roll_ms : 0;
}

bool ri_member_calls(const struct ri_member *member)
{
	return !member->over && !member->joined;
}

void ri_member_connect(struct ri_member *member, int64_t now)
{
	struct ri_link_message hello = { .kind = RI_LINK_HELLO, .hello = member->self };

	hello.hello.age_ms = (uint64_t)(now - member->begun);
	hello.hello.met_ms = member->ranks_met_at == 0 ? 0 : (uint64_t)(now - member->ranks_met_at);
	hello.hello.place = RI_LINK_GUEST;
	member->send(member->context, &hello);
}

static void send_phase(struct ri_member *member)
{
	struct ri_link_message phase = { .kind = RI_LINK_PHASE, .phase = member->phase };

	member->send(member->context, &phase);
}

static void send_end(struct ri_member *member)
{
	struct ri_link_message end = { .kind = RI_LINK_END, .end = member->end };

	ri_clocks_convert(&member->node_0, &end.end);
	member->send(member->context, &end);
}

static void ask_time(struct ri_member *member)
{
	const struct ri_link_message time = { .kind = RI_LINK_TIME };

	member->asks_time = true;
	member->send(member->context, &time);
}

/*
 * An end that may be named first is told when the clocks were compared just now: this machine may
 * have stood still since the last time.
 */
static void tell_end(struct ri_member *member)
{
	const struct ri_clocks *clocks = &member->node_0;
	int64_t compared_us = clocks->seen_us + clocks->ahead_us;

	if (clocks->drift && clocks->seen_us != 0 && !member->asks_time &&
		member->end.verdict.class > RI_CLASS_LOSS &&
		(int64_t)member->end.at_us > compared_us + FRESH_US)
		ask_time(member);
	/* of ranks that did not start no time counts, and node 0 may be heard no more */
	member->holds = member->asks_time && member->phase != RI_LINK_STARTING;
	if (!member->holds)
		send_end(member);
}

/* Of a step of which the centre has said nothing yet. */
static void send_vote(struct ri_member *member, const struct ri_member_step *step)
{
	const struct ri_link_message go = { .kind = RI_LINK_GO, .go = step->vote };

	if (step->votes && !step->answered)
		member->send(member->context, &go);
}

/* Its ranks cannot start without the others. */
static bool drop_step(struct ri_member *member, enum ri_link_step step, const char *why)
{
	static struct ri_link_message none;
	RI_TEXT(line, RI_MAX_LINE);

	if (!ri_member_waits_for_all(member, step))
		return false;
	ri_text_addf(&line, "the ranks do not start again: %s", why);
	none = (struct ri_link_message){ .kind = RI_LINK_GO, .go.step = step };
	ri_link_text_set(none.go.text, RI_LINK_TEXT, line.bytes);
	member->steps[step].answered = true;
	member->tell(member->context, &none);
	return true;
}

static void leave(struct ri_member *member, const char *why)
{
	member->over = true;
	member->roll_at = 0;
	if (!drop_step(member, RI_LINK_START, why) && !drop_step(member, RI_LINK_LEAVE, why))
		say(member, "%s; the job goes on without the link of this node", why);
}

static void join(struct ri_member *member, const struct ri_link_hello *hello, int64_t now)
{
	/* a command that may end, as one that prepares node 0, binds no member */
	if (hello->place == RI_LINK_TAKEN && hello->may_stop)
		member->self.centre = hello->life;
	member->joined = true;
	member->was_joined = true;
	member->closed = false;
	member->roll_at = 0;
	member->trouble[0] = '\0';
	member->shut_out = false;
	if (member->rolled)
		say(member, "node 0 answers, after %lld s",
			(long long)(now - member->begun) / 1000);
	member->rolled = false;
	if (member->phase != RI_LINK_STARTING)
		send_phase(member);
	if (member->has_end && !member->end_heard)
		send_end(member);
	member->ask_at = member->node_0.seen_us == 0 ? 0 : now + TIME_MS;
	for (size_t i = 0; i < RI_ARRAY_SIZE(member->steps); i++)
		send_vote(member, &member->steps[i]);
}

/* The caller has compared the clocks. */
static void take_time(struct ri_member *member, int64_t now)
{
	bool held = member->holds;

	member->asks_time = member->holds = false;
	member->ask_at = now + TIME_MS;
	if (!held)
		return;
	send_end(member);
	ri_member_answer(member, member->held_answer);
}

static void take_hello(struct ri_member *member, const struct ri_link_hello *hello, int64_t now)
{
	switch (hello->place) {
	case RI_LINK_TAKEN:
	case RI_LINK_GUEST:
		join(member, hello, now);
		break;
	case RI_LINK_LATER:
		member->closed = true;
		break;
	case RI_LINK_OTHER:
		leave(member, "node 0 was started again");
		break;
	case RI_LINK_SIZE:
		leave(member, "node 0 counts the nodes of the job otherwise");
		break;
	}
}

/*
 * What proves nothing may look like anything of ours: one message is one line, each has the mark,
 * and there are not many.
 */
static void say_foreign(struct ri_member *member, const char *lines)
{
	RI_TEXT(text, RI_LINK_TEXT + RI_MAX_LINE);

	if (lines[0] == '\0' || (!member->keyed && member->said == UNPROVED_MOST))
		return;
	if (member->keyed) {
		member->say(member->context, lines);
		return;
	}
	member->said++;
	ri_text_add(&text, "without a key, so that anybody may have said it: ");
	for (const char *line = lines, *end; *line != '\0'; line = end) {
		line += strspn(line, " ");
		end = line + strcspn(line, "\n");
		ri_text_addf(&text, "%s%.*s", line == lines ? "" : "; ", (int)(end - line), line);
		end += *end == '\n';
	}
	member->say(member->context, text.bytes);
}

static void take_verdict(struct ri_member *member, const struct ri_link_message *message,
	int64_t now)
{
	struct ri_link_message told = *message;

	told.decision.order = told.decision.order && member->keyed && member->self.may_stop;
	/* the first one stands, but the order may come behind it */
	if (member->judged && (!told.decision.order || member->ordered))
		return;
	member->judged_at = member->judged ? member->judged_at : now;
	member->judged = true;
	member->ordered = told.decision.order;
	told.decision.again = told.decision.again && member->keyed && member->self.restarts > 0;
	member->again = told.decision.again;
	if (member->keyed)
		member->tell(member->context, &told);
	else
		say_foreign(member, told.decision.text);
}

static void await(struct ri_member *member, const struct ri_link_look *look, int64_t now)
{
	member->find_at = now + (look->soon ? RI_LINK_SOON_MS : RI_LINK_LOOK_MS) + FIND_MS;
}

void ri_member_look(struct ri_member *member, const struct ri_link_look *look, int64_t now)
{
	const struct ri_link_message message = { .kind = RI_LINK_LOOK, .look = *look };

	if (!member->joined)
		return;
	await(member, look, now);
	member->send(member->context, &message);
}

static void send_groups(struct ri_member *member, const struct ri_link_groups *groups)
{
	static struct ri_link_message message;

	member->owes = false;
	message.kind = RI_LINK_GROUPS;
	message.groups = *groups;
	member->send(member->context, &message);
}

void ri_member_tell_groups(struct ri_member *member, const struct ri_link_groups *groups,
	int64_t now)
{
	if (groups->text[0] != '\0') {
		member->kept = *groups;
		member->kept_at = now;
	}
	if (member->joined && member->owes)
		send_groups(member, groups);
}

/* What proves nothing may cost the ranks little: a look takes some milliseconds of a processor. */
static void take_look(struct ri_member *member, const struct ri_link_message *message, int64_t now)
{
	bool is_fresh = member->kept_at != 0 && now - member->kept_at <= FRESH_MS;

	if (!member->keyed && member->looked == UNPROVED_MOST)
		return;
	member->looked++;
	member->owes = true;
	await(member, &message->look, now);
	if (is_fresh)
		send_groups(member, &member->kept);
	else
		member->tell(member->context, message);
}

/*
 * Only a centre that has the secret starts ranks, and only where this node has said that it can. If
 * the node has taken that back, the two words may have crossed: the others start, and PID 1 has to
 * know.
 */
static void take_go(struct ri_member *member, const struct ri_link_message *message)
{
	enum ri_link_step step = message->go.step;

	if (!member->keyed || member->steps[step].answered ||
		(message->go.go && !ri_member_waits_for_all(member, step)))
		return;
	member->steps[step].answered = true;
	member->tell(member->context, message);
}

/* Each question has a number of its own: an answer to one before, of another centre, is none. */
static void take_ask(struct ri_member *member, const struct ri_link_message *message)
{
	static struct ri_link_message told;

	if (!member->keyed || member->judged)	/* strangers wake no PID 1 */
		return;
	told = *message;
	told.ask.number = ++member->asks;
	member->waits = told.ask.waits;
	member->tell(member->context, &told);
}

void ri_member_answer(struct ri_member *member, uint64_t number)
{
	const struct ri_link_message answer = { .kind = RI_LINK_ANSWER };

	if (!member->joined || !member->waits || number != member->asks)
		return;
	/* it says that there is no more than the end, which the centre is to hear first */
	member->held_answer = number;
	if (member->holds)
		return;
	member->waits = false;
	member->send(member->context, &answer);
}

void ri_member_vote(struct ri_member *member, const struct ri_link_go *vote)
{
	struct ri_member_step *step = &member->steps[vote->step];

	step->vote = *vote;
	step->votes = true;
	step->able = step->able || vote->go;
	if (member->joined)
		send_vote(member, step);
	if (member->over)
		drop_step(member, vote->step, "node 0 has sent this node away");
}

bool ri_member_waits_for_all(const struct ri_member *member, enum ri_link_step step)
{
	const struct ri_member_step *is = &member->steps[step];

	return is->able && !is->answered;
}

bool ri_member_awaits(const struct ri_member *member, int64_t now)
{
	return member->joined && now < member->find_at;
}

bool ri_member_hear(struct ri_member *member, const struct ri_link_message *message, int64_t now)
{
	if (message->kind != RI_LINK_HELLO && !member->joined)
		return false;
	member->heard_at = now;
	switch (message->kind) {
	case RI_LINK_HELLO:
		take_hello(member, &message->hello, now);
		break;
	case RI_LINK_HEARD:
		member->end_heard = true;
		member->tell(member->context, message);
		break;
	case RI_LINK_ASK:
		take_ask(member, message);
		break;
	case RI_LINK_NEWS:
		say_foreign(member, message->news.text);
		break;
	case RI_LINK_VERDICT:
		take_verdict(member, message, now);
		break;
	case RI_LINK_LOOK:
		take_look(member, message, now);
		break;
	case RI_LINK_FOUND:
		member->find_at = 0;
		if (member->keyed && message->found.text[0] != '\0')
			member->tell(member->context, message);
		else
			say_foreign(member, message->found.text);
		break;
	case RI_LINK_GO:
		take_go(member, message);
		break;
	case RI_LINK_TIME:
		take_time(member, now);
		break;
	default:
		return false;
	}
	return true;
}

void ri_member_lose(struct ri_member *member, const char *why)
{
	bool unexpected = member->joined && !member->closed && !member->over;

	member->joined = member->waits = member->asks_time = member->holds = false;
	member->end_heard = member->end_heard && member->judged;
	member->shut_out = member->closed && !member->was_joined;
	ri_text_copy(member->trouble, sizeof(member->trouble), member->shut_out
		? "it still ends an older attempt" : why);
	member->closed = false;
	if (!unexpected || member->judged || member->told_lost)
		return;
	member->told_lost = true;
	member->say(member->context, "the connection to node 0 is lost; the job goes on");
}

void ri_member_shut_out(struct ri_member *member, const char *why)
{
	ri_member_lose(member, why);
	member->shut_out = true;
}

void ri_member_reach(struct ri_member *member, enum ri_link_phase phase)
{
	if (phase <= member->phase)
		return;
	member->phase = phase;
	if (member->joined)
		send_phase(member);
}

void ri_member_end(struct ri_member *member, const struct ri_link_end *end)
{
	if (member->has_end &&
		!ri_link_class_outweighs(end->verdict.class, member->end.verdict.class))
		return;
	member->end = *end;
	ri_clocks_convert(&member->wall, &member->end);
	member->has_end = true;
	member->end_heard = false;
	if (member->joined)
		tell_end(member);
}

void ri_member_give_up(const struct ri_member *member)
{
	enum ri_class class = member->end.verdict.class;

	if (!member->has_end || member->end_heard || member->judged || member->over ||
		class <= RI_CLASS_STOPPED ||
		member->steps[RI_LINK_START].answered)
		return;
	say(member, "node 0 (%s), %s, %s%s%s; what follows is what this node has seen itself",
		member->centre_name, member->ports,
		member->shut_out ? "does not let this node in" : "cannot be reached",
		member->trouble[0] == '\0' ? "" : ": ", member->trouble);
}

int64_t ri_member_waits_until(const struct ri_member *member, int64_t end_ms, int64_t wait_ms)
{
	int64_t own = member->judged_at + end_ms + wait_ms;
	int64_t heard = member->heard_at + RI_LINK_BEAT_MS + wait_ms;

	return own > heard ? own : heard;
}

int64_t ri_member_due(const struct ri_member *member)
{
	int64_t due = INT64_MAX;

	if (member->roll_at != 0)
		due = member->roll_at;
	else if (member->waits_since != 0)
		due = member->silent_at;
	return member->joined && !member->asks_time && member->ask_at != 0 &&
		member->ask_at < due ? member->ask_at : due;
}

/* What waits for a word of node 0 says so: it may be frozen, and its connection is there still. */
static void look_for_silence(struct ri_member *member, int64_t now)
{
	bool waits = ri_member_waits_for_all(member, RI_LINK_START) ||
		(member->again && ri_member_waits_for_all(member, RI_LINK_LEAVE));
	int64_t since;

	if (!waits || member->self.node == 0) {
		member->waits_since = 0;
		return;
	}
	if (member->waits_since == 0)
		member->waits_since = now;
	since = member->heard_at > member->waits_since ? member->heard_at : member->waits_since;
	if (member->silent_at < since + SILENT_MS)
		member->silent_at = since + SILENT_MS;
	if (now < member->silent_at)
		return;
	member->silent_at = now + (now - since);
	say(member, "this node waits to start its ranks again, and has not heard node 0 (%s) for "
		"%lld s; look at its log", member->centre_name, (long long)(now - since) / 1000);
}

void ri_member_pass(struct ri_member *member, int64_t now)
{
	int64_t waited = now - member->begun;

	if (member->roll_at == 0)
		look_for_silence(member, now);
	if (member->joined && !member->asks_time && member->ask_at != 0 && now >= member->ask_at)
		ask_time(member);
	if (member->roll_at == 0 || now < member->roll_at)
		return;
	member->rolled = true;
	member->roll_at = now + (waited < ROLL_MOST_MS ? waited : ROLL_MOST_MS);
	say(member, "node 0 (%s), %s, has not %s for %lld s%s%s", member->centre_name,
		member->ports, member->shut_out ? "let this node in" : "been reached",
		(long long)waited / 1000, member->trouble[0] == '\0' ? "" : ": ",
		member->trouble);
}
