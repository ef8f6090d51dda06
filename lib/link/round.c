/* SPDX-License-Identifier: Apache-2.0 */
#include "link/round.h"

static void send(const struct ri_round *round, size_t session,
	const struct ri_link_message *message)
{
	round->centre->send(round->centre->context, session, message);
}

/* Whoever asks awaits an answer, also where there will be no round. */
static void refuse(const struct ri_round *round, size_t session)
{
	const struct ri_link_message found = { .kind = RI_LINK_FOUND, .found = { .rank = -1 } };

	send(round, session, &found);
}

static void begin(struct ri_round *round, const struct ri_link_look *look, int64_t now)
{
	const struct ri_link_message message = { .kind = RI_LINK_LOOK, .look = *look };

	round->open = true;
	round->until = now + (look->soon ? RI_LINK_SOON_MS : RI_LINK_LOOK_MS);
	round->again_at = now + RI_ROUND_AGAIN_MS;
	for (size_t i = 0; i < round->centre->count; i++) {
		struct ri_centre_node *node = &round->centre->nodes[i];

		node->awaited = node->here && node->taken;
		if (!node->awaited)
			continue;
		node->owed++;
		send(round, node->session, &message);
	}
}

/* One that goes on is for all who ask; a stop does not wait for the rest of a long one. */
static void take_look(struct ri_round *round, size_t session, const struct ri_link_look *look,
	int64_t now)
{
	if (!round->open && now < round->again_at)
		refuse(round, session);
	else if (!round->open)
		begin(round, look, now);
	else if (look->soon && now + RI_LINK_SOON_MS < round->until)
		round->until = now + RI_LINK_SOON_MS;
}

/* What comes late is no lie, but of no use. */
static bool take_groups(struct ri_round *round, size_t node, const struct ri_link_groups *groups)
{
	struct ri_centre_node *member = &round->centre->nodes[node];

	if (member->owed == 0)
		return false;
	member->owed--;
	if (round->open && member->awaited && groups->text[0] != '\0')
		round->add(round->context, node, groups->text);
	member->awaited = false;
	return true;
}

bool ri_round_hear(struct ri_round *round, size_t node, size_t session,
	const struct ri_link_message *message, int64_t now)
{
	const struct ri_centre_node *member = &round->centre->nodes[node];
	bool counts = member->here && member->session == session && member->taken;

	if (message->kind == RI_LINK_GROUPS)
		return counts && take_groups(round, node, &message->groups);
	if (message->kind != RI_LINK_LOOK)
		return false;
	if (counts)
		take_look(round, session, &message->look, now);
	else
		refuse(round, session);
	return true;
}

static bool is_complete(const struct ri_round *round)
{
	for (size_t i = 0; i < round->centre->count; i++)
		if (round->centre->nodes[i].awaited && round->centre->nodes[i].here)
			return false;
	return true;
}

int64_t ri_round_due(const struct ri_round *round)
{
	return round->open ? round->until : INT64_MAX;
}

void ri_round_pass(struct ri_round *round, int64_t now)
{
	static struct ri_link_message found;

	if (!round->open || (now < round->until && !is_complete(round)))
		return;
	round->open = false;
	found = (struct ri_link_message){ .kind = RI_LINK_FOUND, .found = { .rank = -1 } };
	round->judge(round->context, &found.found);
	for (size_t i = 0; i < round->centre->count; i++)
		if (round->centre->nodes[i].here)
			send(round, round->centre->nodes[i].session, &found);
}
