/* SPDX-License-Identifier: Apache-2.0 */
#include "link/centre.h"

enum {
	ROLL_MOST_MS = 3600000,
	LOOK_AGAIN_MS = 10000,	/* from the beginning of a look to that of the next */
};

static void begin_look(struct ri_centre *centre, const struct ri_link_look *look, int64_t now)
{
	const struct ri_link_message message = { .kind = RI_LINK_LOOK, .look = *look };

	centre->looks = true;
	centre->look_until = now + (look->soon ? RI_LINK_SOON_MS : RI_LINK_LOOK_MS);
	centre->look_again_at = now + LOOK_AGAIN_MS;
	for (size_t i = 0; i < centre->count; i++) {
		struct ri_centre_node *node = &centre->nodes[i];

		node->awaited = node->here && node->taken;
		if (!node->awaited)
			continue;
		node->owed++;
		centre->send(centre->context, node->session, &message);
	}
}

static void take_look(struct ri_centre *centre, size_t session, bool counts,
	const struct ri_link_look *look, int64_t now)
{
	const struct ri_link_message nothing = { .kind = RI_LINK_FOUND, .found = { .rank = -1 } };

	/* the node that asks awaits an answer, also where there will be no round */
	if (!counts || (!centre->looks && now < centre->look_again_at))
		centre->send(centre->context, session, &nothing);
	else if (!centre->looks)
		begin_look(centre, look, now);
	/* the round that goes on answers this node, too; for a stop the rest of it is cut short */
	else if (look->soon && now + RI_LINK_SOON_MS < centre->look_until)
		centre->look_until = now + RI_LINK_SOON_MS;
}

static bool take_groups(struct ri_centre *centre, size_t node, const struct ri_link_groups *groups)
{
	struct ri_centre_node *member = &centre->nodes[node];

	if (member->owed == 0)
		return false;
	/* an answer to a round that is over is allowed, but not used */
	member->owed--;
	if (centre->looks && member->awaited && groups->text[0] != '\0')
		centre->add(centre->context, node, groups->text);
	member->awaited = false;
	return true;
}

bool ri_centre_hear(struct ri_centre *centre, size_t node, size_t session,
	const struct ri_link_message *message, int64_t now)
{
	const struct ri_link_message heard = { .kind = RI_LINK_HEARD };
	const struct ri_centre_node *member = &centre->nodes[node];
	bool counts = member->here && member->session == session && member->taken;

	switch (message->kind) {
	case RI_LINK_GO:
		if (counts)
			ri_joint_hear(centre, node, &message->go);
		return true;
	case RI_LINK_LOOK:
		take_look(centre, session, counts, &message->look, now);
		return true;
	case RI_LINK_GROUPS:
		return counts && take_groups(centre, node, &message->groups);
	case RI_LINK_PHASE:
		if (counts)
			ri_decision_take_phase(centre, node, message->phase, now);
		return true;
	case RI_LINK_ANSWER:
		if (counts)
			ri_decision_take_answer(centre, node, now);
		return true;
	case RI_LINK_END:
		if (counts)
			ri_decision_take_end(centre, node, &message->end, now);
		centre->send(centre->context, session, &heard);
		return true;
	default:
		return false;
	}
}

/*
 * "waiting for 2 of 4 nodes for 20 s: node 2 (worker-2), node 3 (worker-3)"; the first time with
 * what to look for.
 */
static void call_roll(struct ri_centre *centre, int64_t now)
{
	int64_t waited = now - centre->begun;
	RI_TEXT(line, RI_MAX_LINE);

	ri_text_addf(&line, "waiting for %zu of %zu nodes for %lld s: ",
		centre->count - centre->called, centre->count, (long long)waited / 1000);
	for (size_t i = 0; i < centre->count; i++)
		centre->nodes[i].listed = !centre->nodes[i].called;
	ri_centre_add_listed(&line, centre);
	if (centre->version != 0)
		ri_text_addf(&line, "; a node that called speaks another version of the link "
			"(RKL%c): give all nodes the same rankinit", centre->version);
	else if (centre->foreign)
		ri_text_add(&line, "; a node that called has another key, or is of another job");
	else if (!centre->rolled)
		ri_text_add(&line, "; look whether they run, with --link and the same key");
	centre->rolled = true;
	centre->roll_at = now + (waited < ROLL_MOST_MS ? waited : ROLL_MOST_MS);
	ri_centre_tell(centre, line.bytes);
}

/* Was it lost without an end, has not come back, and that was no news yet? */
static bool is_newly_lost(const struct ri_centre_node *member)
{
	return !member->here && !member->ended && !member->silent &&
		!ri_link_life_is_none(&member->life);
}

/* When its silence is told: at a full second, so that one line has all of that second. */
static int64_t silent_at(const struct ri_centre_node *member)
{
	return (member->heard_at + RI_CENTRE_SILENT_MS + 999) / 1000 * 1000;
}

static void tell_silent(struct ri_centre *centre, int64_t now)
{
	RI_TEXT(line, RI_MAX_LINE);
	size_t count;

	for (size_t i = 0; i < centre->count; i++) {
		struct ri_centre_node *member = &centre->nodes[i];

		member->listed = is_newly_lost(member) && now >= silent_at(member);
		member->silent = member->silent || member->listed;
	}
	count = ri_centre_add_listed(&line, centre);
	if (count == 0 || centre->decided || centre->ends_told++ >= RI_CENTRE_ENDS)
		return;
	ri_text_addf(&line, ": silent for %d s; look whether %s", RI_CENTRE_SILENT_MS / 1000,
		count == 1 ? "it still runs" : "they still run");
	ri_centre_tell(centre, line.bytes);
}

bool ri_centre_misses(const struct ri_centre *centre)
{
	for (size_t i = 0; i < centre->count; i++)
		if (!centre->nodes[i].called ||
			(is_newly_lost(&centre->nodes[i]) && !centre->nodes[i].told))
			return true;
	return false;
}

void ri_centre_begin(struct ri_centre *centre, int64_t now)
{
	centre->begun = now;
	centre->roll_at = centre->roll_ms > 0 ? now + centre->roll_ms : 0;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t ri_centre_due(const struct ri_centre *centre)
{
	int64_t due = earlier(ri_decision_due(centre), ri_lives_due(centre));

	for (int step = RI_LINK_START; step <= RI_LINK_LEAVE; step++)
		due = earlier(due, ri_joint_due(centre, (enum ri_link_step)step));
	if (centre->looks)
		due = earlier(due, centre->look_until);
	if (centre->roll_at != 0 && !centre->decided)
		due = earlier(due, centre->roll_at);
	for (size_t i = 0; i < centre->count; i++)
		if (is_newly_lost(&centre->nodes[i]))
			due = earlier(due, silent_at(&centre->nodes[i]));
	return due;
}

/* If all that are connected have answered, or its time is over: judge it, and tell all nodes. */
static void end_look(struct ri_centre *centre, int64_t now)
{
	static struct ri_link_message found;
	bool complete = true;

	if (!centre->looks)
		return;
	for (size_t i = 0; i < centre->count; i++)
		complete = complete && !(centre->nodes[i].awaited && centre->nodes[i].here);
	if (now < centre->look_until && !complete)
		return;
	centre->looks = false;
	found = (struct ri_link_message){ .kind = RI_LINK_FOUND, .found = { .rank = -1 } };
	centre->judge(centre->context, &found.found);
	ri_centre_send_all(centre, &found);
}

void ri_centre_pass(struct ri_centre *centre, int64_t now)
{
	ri_decision_pass(centre, now);
	if (centre->roll_at != 0 && !centre->decided && now >= centre->roll_at)
		call_roll(centre, now);
	tell_silent(centre, now);
	ri_lives_pass(centre, now);
	for (int step = RI_LINK_START; step <= RI_LINK_LEAVE; step++)
		ri_joint_pass(centre, (enum ri_link_step)step, now);
	end_look(centre, now);
}
