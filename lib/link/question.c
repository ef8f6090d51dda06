/* SPDX-License-Identifier: Apache-2.0 */
#include "link/question.h"

/* What it tells from now on is later than what has failed by now, or changes nothing. */
static bool is_clear(const struct ri_centre_node *node)
{
	bool is_guest = !node->taken && !ri_link_life_is_none(&node->life);

	return node->answered || is_guest || (node->ended && !node->lives && !node->open &&
		node->class != RI_CLASS_LOSS);
}

void ri_question_ask(struct ri_centre *centre, enum ri_class class, int64_t now)
{
	struct ri_link_message message = { .kind = RI_LINK_ASK };

	centre->questions = centre->questions || (class == RI_CLASS_OWN && centre->keyed);
	message.ask.waits = centre->questions;
	centre->ask_at = now + RI_CENTRE_ASK_MS;
	for (size_t i = 0; i < centre->count; i++)
		if (centre->nodes[i].here && !is_clear(&centre->nodes[i]))
			centre->send(centre->context, centre->nodes[i].session, &message);
}

/* A node that was clear once is not looked at again: thousands answer, one after the other. */
bool ri_question_is_over(struct ri_centre *centre)
{
	while (centre->questions && centre->clear < centre->count &&
		is_clear(&centre->nodes[centre->clear]))
		centre->clear++;
	return centre->questions && centre->clear == centre->count;
}
