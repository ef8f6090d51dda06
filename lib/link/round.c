/* SPDX-License-Identifier: Apache-2.0 */
#include "link/centre.h"

static void send(const struct ri_round *round, size_t session,
	const struct ri_link_message *message)
{
	round->centre->send(round->centre->context, session, message);
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

bool ri_round_hear(struct ri_round *round, size_t node, size_t session,
	const struct ri_link_message *message, int64_t now)
{
	const struct ri_link_message nothing = { .kind = RI_LINK_FOUND, .found = { .rank = -1 } };
	struct ri_centre_node *member = &round->centre->nodes[node];
	bool counts = member->here && member->session == session && member->taken;

	if (message->kind == RI_LINK_GROUPS) {
		if (!counts || member->owed == 0)
			return false;
		/* what comes late is no lie, but of no use */
		member->owed--;
		if (round->open && member->awaited && message->groups.text[0] != '\0')
			round->add(round->context, node, message->groups.text);
		member->awaited = false;
		return true;
	}
	if (message->kind != RI_LINK_LOOK)
		return false;
	/* the node that asks awaits an answer, also where there will be no round */
	if (!counts || (!round->open && now < round->again_at))
		send(round, session, &nothing);
	else if (!round->open)
		begin(round, &message->look, now);
	/* one that goes on is for all who ask; a stop does not wait for the rest of a long one */
	else if (message->look.soon && now + RI_LINK_SOON_MS < round->until)
		round->until = now + RI_LINK_SOON_MS;
	return true;
}

int64_t ri_round_due(const struct ri_round *round)
{
	return round->open ? round->until : INT64_MAX;
}

void ri_round_pass(struct ri_round *round, int64_t now)
{
	static struct ri_link_message found;
	bool complete = true;

	if (!round->open)
		return;
	for (size_t i = 0; i < round->centre->count; i++)
		complete = complete &&
			!(round->centre->nodes[i].awaited && round->centre->nodes[i].here);
	if (now < round->until && !complete)
		return;
	round->open = false;
	found = (struct ri_link_message){ .kind = RI_LINK_FOUND, .found = { .rank = -1 } };
	round->judge(round->context, &found.found);
	for (size_t i = 0; i < round->centre->count; i++)
		if (round->centre->nodes[i].here)
			send(round, round->centre->nodes[i].session, &found);
}
