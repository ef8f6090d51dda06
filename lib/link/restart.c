/* SPDX-License-Identifier: Apache-2.0 */
#include "link/restart.h"

/* What stands against it on this node; NULL: nothing. One that has not come yet may come. */
static const char *find_bar(const struct ri_centre_node *node)
{
	if (ri_link_life_is_none(&node->life))
		return NULL;
	if (node->ended && node->class == RI_LINK_STOPPED)
		return "was stopped from outside";
	if (!node->here || !node->taken)
		return "is not connected";
	if (node->barred || !node->may_stop)
		return "cannot start them again";
	return node->restarts == 0 ? "may not restart them any more (--restarts)" : NULL;
}

static bool is_barred(const struct ri_centre *centre, struct ri_text *why)
{
	for (size_t i = 0; i < centre->count; i++) {
		const char *bar = find_bar(&centre->nodes[i]);

		if (bar == NULL)
			continue;
		ri_centre_add_node(why, centre, i);
		ri_text_addf(why, " %s", bar);
		return true;
	}
	return false;
}

/* The end that decided. A verdict without a name is one of losses alone. */
static bool is_in_vain(struct ri_centre *centre, struct ri_text *why)
{
	const struct ri_link_end *end = &centre->ends[0].end;
	bool named = centre->verdict.named && centre->end_count > 0;

	centre->verdict.mark = named ? end->mark : RI_RESTART_LOSSES;
	if (named && end->why.retry == RI_RETRY_NEVER)
		ri_text_add(why, "they would fail in the same way");
	else if (centre->verdict.mark != 0 && centre->verdict.mark == centre->last_mark &&
		!centre->progressed(centre->context))
		ri_text_add(why, "they failed in the same way before, and came no further");
	return why->length > 0;
}

void ri_link_restart_decide(struct ri_centre *centre, struct ri_text *lines)
{
	char why[RI_MAX_LINE];
	struct ri_text out;

	if (centre->self.restarts == 0 || !centre->keyed || !centre->orders || !centre->fatal ||
		centre->verdict.class == RI_LINK_STOPPED)
		return;
	ri_text_init(&out, why, sizeof(why));
	if (centre->leaving)
		ri_text_add(&out, "a rank of the job had ended with 0");
	centre->verdict.again = out.length == 0 && !is_in_vain(centre, &out) &&
		!is_barred(centre, &out);
	if (!centre->verdict.again)
		ri_text_addf(lines, "  the ranks do not start again: %s\n", why);
}
