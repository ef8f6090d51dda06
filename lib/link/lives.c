/* SPDX-License-Identifier: Apache-2.0 */
#include "link/centre.h"

#include <stdio.h>
#include <string.h>

enum {
	/* a member that lost its connection calls again within a second, and tries once more */
	RETURN_MS = 2000,
	/* after as long without node 0 it calls every ten seconds (shim/link/lines.c) */
	LONG_LOST_MS = 300000, LATE_RETURN_MS = 11000,
	GONE_MS = 600000,	/* one that was lost so long ago has no place any more */
	TWINS_MOST = 16,	/* lines about guests */
};

static void answer(struct ri_centre *centre, size_t session, enum ri_link_place place, int64_t now)
{
	struct ri_link_message hello = { .kind = RI_LINK_HELLO, .hello = centre->self };

	hello.hello.place = place;
	hello.hello.age_ms = (uint64_t)(now - centre->begun);
	centre->send(centre->context, session, &hello);
}

/* Younger than the failure: it may be one of the next attempt. */
static bool is_younger(const struct ri_centre *centre, const struct ri_link_hello *hello,
	int64_t now)
{
	return centre->failed_at != 0 && hello->age_ms <= (uint64_t)(now - centre->failed_at);
}

/* It began behind the end of the life that has the place, which closed its connection. */
static bool is_successor(const struct ri_centre_node *member, int64_t born)
{
	return !member->here && member->closed && born >= member->lost_at;
}

/* It called at several addresses, and one of these sessions is here: that is the one it keeps. */
static bool is_same_call(const struct ri_centre_node *member, const struct ri_link_hello *hello)
{
	const struct ri_centre_guest *guest = &member->guest;

	return hello->call != 0 &&
		((member->here && member->call == hello->call &&
		ri_link_life_is(&member->life, &hello->life)) ||
		(guest->here && guest->call == hello->call &&
		ri_link_life_is(&guest->life, &hello->life)));
}

/* What to make of a life, where another one has the place of its node, or had it. */
static enum ri_link_place place_another(const struct ri_centre *centre,
	struct ri_centre_node *member, const struct ri_link_hello *hello, int64_t now)
{
	const struct ri_centre_guest *guest = &member->guest;
	int64_t born = now - (int64_t)hello->age_ms;

	/* it proves nothing: who came first stays */
	if (!centre->keyed && member->here)
		return RI_LINK_LATER;
	/* the others need not wait for what is gone: joint_step.c */
	if (centre->decided && hello->may_stop && is_successor(member, born))
		member->followed = true;
	if (centre->decided)
		return RI_LINK_LATER;
	/* a command that may end, as one that prepares the node: what follows it is the node */
	if (born >= member->born && (member->vacant || (member->ended && !member->may_stop)))
		return is_younger(centre, hello, now) ? RI_LINK_LATER : RI_LINK_TAKEN;
	/* one guest at a time, but one that may prove the end of the first life goes before */
	if (guest->here && !ri_link_life_is(&guest->life, &hello->life) &&
		(!is_successor(member, born) || is_successor(member, guest->born)))
		return RI_LINK_LATER;
	return RI_LINK_GUEST;
}

/* Of which node, and what becomes of it? */
static enum ri_link_place place(struct ri_centre *centre, size_t session,
	const struct ri_link_hello *hello, int64_t now)
{
	struct ri_centre_node *member;

	if (hello->nodes != centre->count)
		return RI_LINK_SIZE;
	if ((hello->node == 0) != (session == 0))
		return RI_LINK_OTHER;
	member = &centre->nodes[hello->node];
	centre->called += !member->called;
	member->called = true;
	if (!ri_link_life_is_none(&hello->centre) &&
		!ri_link_life_is(&hello->centre, &centre->self.life))
		return RI_LINK_OTHER;
	/* its ranks had met those of a node 0 before this one: of another attempt */
	if (ri_link_life_is_none(&hello->centre) && hello->met_ms > (uint64_t)(now - centre->begun))
		return RI_LINK_OTHER;
	if (is_same_call(member, hello))
		return RI_LINK_LATER;
	if (ri_link_life_is(&member->life, &hello->life))
		return member->taken ? RI_LINK_TAKEN : RI_LINK_GUEST;
	if (!ri_link_life_is_none(&member->life))
		return place_another(centre, member, hello, now);
	return is_younger(centre, hello, now) ? RI_LINK_GUEST : RI_LINK_TAKEN;
}

/* The guest goes, and calls again. */
static void send_back(struct ri_centre *centre, struct ri_centre_node *member, int64_t now)
{
	answer(centre, member->guest.session, RI_LINK_LATER, now);
	centre->drop(centre->context, member->guest.session);
	member->guest.here = false;
	centre->guests--;
}

/* It has the place of its node from now on. */
static void seat(struct ri_centre *centre, size_t session, const struct ri_link_hello *hello,
	bool taken, int64_t now)
{
	struct ri_centre_node *member = &centre->nodes[hello->node];

	if (member->here)	/* the same life on a new connection: the old one is dead */
		centre->drop(centre->context, member->session);
	if (!ri_link_life_is(&member->life, &hello->life)) {
		centre->left -= member->left;
		*member = (struct ri_centre_node){ .life = hello->life, .called = true,
			.guest = member->guest, .born = now - (int64_t)hello->age_ms };
	}
	if (member->guest.here && ri_link_life_is(&member->guest.life, &hello->life))
		send_back(centre, member, now);
	member->taken = taken;
	member->may_stop = hello->may_stop;
	member->restarts = hello->restarts;
	member->here = true;
	member->silent = member->vacant = member->followed = false;
	member->session = session;
	member->call = hello->call;
	ri_text_copy(member->host, sizeof(member->host), hello->host);
	if (centre->decided)
		ri_decision_send(centre, hello->node);
	ri_joint_greet(centre, session);
}

/* "two machines call themselves node 1: left and right", once for each that comes later. */
static void tell_of_guest(struct ri_centre *centre, const struct ri_link_hello *hello)
{
	const struct ri_centre_node *member = &centre->nodes[hello->node];
	struct ri_link_message news = { .kind = RI_LINK_NEWS };
	RI_TEXT(line, RI_MAX_LINE);
	RI_TEXT(own, RI_MAX_LINE);

	if (member->here && centre->twins++ < TWINS_MOST) {
		ri_text_addf(&line, "two machines call themselves node %llu: ",
			(unsigned long long)hello->node);
		ri_text_add_shown(&line, member->host, RI_LINK_WORD);
		ri_text_add(&line, " and ");
		ri_text_add_shown(&line, hello->host, RI_LINK_WORD);
		ri_centre_tell(centre, line.bytes);
	}
	ri_text_add(&own, "another container is ");
	ri_centre_add_node(&own, centre, hello->node);
	ri_text_add(&own, " of this job: this one is only told what happens, and what fails in it "
		"stops no other node");
	ri_link_text_set(news.news.text, RI_LINK_TEXT, own.bytes);
	centre->send(centre->context, member->guest.session, &news);
}

static void receive_guest(struct ri_centre *centre, size_t session,
	const struct ri_link_hello *hello, int64_t now)
{
	struct ri_centre_node *member = &centre->nodes[hello->node];
	struct ri_centre_guest *guest = &member->guest;
	bool is_known = ri_link_life_is(&guest->life, &hello->life);

	if (guest->here)
		send_back(centre, member, now);
	if (!is_known)
		*guest = (struct ri_centre_guest){ .life = hello->life, .called_at = now,
			.born = now - (int64_t)hello->age_ms, .may_stop = hello->may_stop,
			.moved = strcmp(hello->host, member->host) != 0 };
	guest->here = true;
	guest->session = session;
	guest->call = hello->call;
	centre->guests++;
	if (!is_known)
		tell_of_guest(centre, hello);
}

static void note_come(struct ri_centre *centre, int64_t now)
{
	char line[RI_MAX_LINE];

	if (centre->called != centre->count || centre->roll_at == 0)
		return;
	centre->roll_at = 0;
	snprintf(line, sizeof(line), "all %zu nodes have come, after %lld s",
		centre->count, (long long)(now - centre->begun) / 1000);
	if (centre->rolled)
		ri_centre_tell(centre, line);
}

int64_t ri_centre_hello(struct ri_centre *centre, size_t session, const struct ri_link_hello *hello,
	int64_t now)
{
	enum ri_link_place is = place(centre, session, hello, now);
	bool stays = is == RI_LINK_TAKEN || is == RI_LINK_GUEST;
	const struct ri_link_life *known;

	answer(centre, session, is, now);
	if (stays) {
		known = &centre->nodes[hello->node].life;
		if (is == RI_LINK_TAKEN || ri_link_life_is_none(known) ||
			ri_link_life_is(known, &hello->life))
			seat(centre, session, hello, is == RI_LINK_TAKEN, now);
		else
			receive_guest(centre, session, hello, now);
	} else {
		centre->drop(centre->context, session);
	}
	note_come(centre, now);
	return stays ? (int64_t)hello->node : -1;
}

void ri_centre_lose(struct ri_centre *centre, size_t node, size_t session, int64_t quiet_ms,
	int64_t now)
{
	struct ri_centre_node *member = &centre->nodes[node];

	if (member->guest.here && member->guest.session == session) {
		member->guest.here = false;
		centre->guests--;
	}
	if (!member->here || member->session != session)
		return;
	member->here = false;
	member->closed = quiet_ms == RI_CENTRE_CLOSED;
	member->lost_at = now;
	member->heard_at = member->closed ? now : now - quiet_ms;
	member->told = member->told && member->closed;
}

void ri_centre_close(struct ri_centre *centre, int64_t now)
{
	for (size_t i = 0; i < centre->count; i++) {
		if (centre->nodes[i].guest.here)
			send_back(centre, &centre->nodes[i], now);
		if (centre->nodes[i].here)
			answer(centre, centre->nodes[i].session, RI_LINK_LATER, now);
	}
}

/* When the life that has the place is gone for the guest that waits. */
static int64_t due_of(const struct ri_centre *centre, const struct ri_centre_node *member)
{
	const struct ri_centre_guest *guest = &member->guest;
	bool was_long = guest->called_at - member->lost_at > LONG_LOST_MS;

	/* another command, as of a copy or what prepares the node, proves no end of the first */
	if (!guest->here || member->here ||
		(member->may_stop && (member->ended || !guest->may_stop)))
		return INT64_MAX;
	if (ri_centre_is_disputed(centre, member))
		return RETURN_MS + (member->lost_at > guest->called_at ? member->lost_at
			: guest->called_at);
	if (!is_successor(member, guest->born))
		return member->lost_at + GONE_MS;
	/* a pod may come back by another name, but a copy of it has one, too */
	return guest->called_at + (guest->moved ? RI_CENTRE_SILENT_MS
		: was_long ? LATE_RETURN_MS : RETURN_MS);
}

int64_t ri_lives_due(const struct ri_centre *centre)
{
	int64_t due = INT64_MAX;

	if (centre->guests == 0 || centre->decided)
		return centre->guests == 0 ? due : 0;
	for (size_t i = 0; i < centre->count; i++)
		if (due_of(centre, &centre->nodes[i]) < due)
			due = due_of(centre, &centre->nodes[i]);
	return due;
}

/* Its ranks ran, it is gone without a word, and here is what was started after it: it failed. */
static void take_gone(struct ri_centre *centre, size_t node, int64_t now)
{
	const struct ri_link_end killed = { .fatal = true,
		.verdict = { .why = { RI_CAUSE_KILLED, RI_RETRY_SAME }, .class = RI_CLASS_OWN,
			.rank = -1, .node = (int64_t)node, .mark = RI_CENTRE_LOSSES } };
	struct ri_centre_node *member = &centre->nodes[node];
	RI_TEXT(line, RI_MAX_LINE);

	if (!is_successor(member, member->guest.born) || member->phase == RI_LINK_STARTING ||
		member->ended || !member->taken || !member->may_stop ||
		ri_centre_is_disputed(centre, member)) {
		member->vacant = true;
		send_back(centre, member, now);
		return;
	}
	ri_centre_add_node(&line, centre, node);
	ri_text_add(&line, " failed first: it was started again, and ended before without "
		"a word, as of SIGKILL for the whole container\n");
	ri_decision_make(centre, &killed, line.bytes, now);
}

void ri_lives_pass(struct ri_centre *centre, int64_t now)
{
	struct ri_link_message news = { .kind = RI_LINK_NEWS };

	if (centre->guests == 0)
		return;
	for (size_t i = 0; i < centre->count && !centre->decided; i++)
		if (now >= due_of(centre, &centre->nodes[i]))
			take_gone(centre, i, now);
	ri_link_text_set(news.news.text, RI_LINK_TEXT, centre->decision.text);
	for (size_t i = 0; i < centre->count && centre->decided; i++) {
		if (!centre->nodes[i].guest.here)
			continue;
		centre->send(centre->context, centre->nodes[i].guest.session, &news);
		send_back(centre, &centre->nodes[i], now);
	}
}
