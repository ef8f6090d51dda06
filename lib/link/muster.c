/* SPDX-License-Identifier: Apache-2.0 */
#include "link/muster.h"

enum { NAMED_MAX = 8 };		/* nodes in one line */

bool ri_muster_is_open(const struct ri_muster *muster)
{
	const struct ri_centre *centre = muster->centre;

	return !muster->over && (muster->step == RI_LINK_START ? centre->gathers
		: centre->decided && centre->decision.again);
}

/* The first word stands. From now on the ends of an attempt that has begun count. */
static void say(struct ri_muster *muster, bool go, const char *why)
{
	struct ri_centre *centre = muster->centre;
	RI_TEXT(line, RI_LINK_TEXT);

	if (!go)
		ri_text_addf(&line, "the ranks do not start again: %s", why);
	muster->over = true;
	muster->said = (struct ri_link_message){ .kind = RI_LINK_GO,
		.go = { .step = muster->step, .go = go } };
	ri_link_text_set(muster->said.go.text, line.bytes);
	centre->gathers = centre->gathers && !go;
	for (size_t i = 0; i < centre->count; i++)
		if (centre->nodes[i].here)
			centre->send(centre->context, centre->nodes[i].session, &muster->said);
}

void ri_muster_greet(const struct ri_muster *muster, size_t session)
{
	if (muster->over)
		muster->centre->send(muster->centre->context, session, &muster->said);
}

void ri_muster_hear(struct ri_muster *muster, size_t node, size_t session,
	const struct ri_link_go *vote)
{
	struct ri_centre *centre = muster->centre;
	struct ri_centre_node *member = &centre->nodes[node];

	if (!member->here || member->session != session || !member->taken)
		return;
	member->ready[muster->step] = vote->go && !member->barred;
	member->barred = member->barred || !vote->go;
	ri_muster_greet(muster, session);
	if (!vote->go && ri_muster_is_open(muster))
		say(muster, false, vote->text);
}

/* By when this node has to be there. A lost one may come back, and one that is late may come. */
static int64_t due_of(const struct ri_muster *muster, const struct ri_centre_node *node)
{
	if (muster->step == RI_LINK_START)
		return node->here && node->ready[RI_LINK_START] ? INT64_MAX
			: muster->centre->begun + muster->wait_ms;
	return node->here ? INT64_MAX : muster->wait_ms +
		(node->lost_at == 0 ? muster->centre->failed_at : node->lost_at);
}

int64_t ri_muster_due(const struct ri_muster *muster)
{
	int64_t due = INT64_MAX;

	if (!ri_muster_is_open(muster))
		return due;
	for (size_t i = 0; i < muster->centre->count; i++) {
		int64_t at = due_of(muster, &muster->centre->nodes[i]);

		due = at < due ? at : due;
	}
	return due;
}

/* "node 2 (worker-2) has not come within 60 s" */
static void give_up(struct ri_muster *muster, int64_t now)
{
	const struct ri_centre *centre = muster->centre;
	size_t late = 0;
	RI_TEXT(why, RI_MAX_LINE);

	for (size_t i = 0; i < centre->count; i++) {
		if (due_of(muster, &centre->nodes[i]) > now)
			continue;
		if (late++ >= NAMED_MAX)
			continue;
		ri_text_add(&why, late == 1 ? "" : ", ");
		ri_centre_add_node(&why, centre, i);
	}
	if (late > NAMED_MAX)
		ri_text_addf(&why, " and %zu more", late - NAMED_MAX);
	ri_text_addf(&why, " %s not come within %lld s", late == 1 ? "has" : "have",
		(long long)muster->wait_ms / 1000);
	say(muster, false, why.bytes);
}

/* What stands against it on this node by now, which may have come late; NULL: nothing. */
static const char *find_bar(const struct ri_muster *muster, const struct ri_centre_node *node)
{
	if (node->ended && node->class == RI_CLASS_STOPPED)
		return "was stopped from outside";
	if (muster->step == RI_LINK_START || !node->here)
		return NULL;
	/* nobody tells its ranks to end: they are no part of what failed */
	if (!node->taken)
		return "has come only after the failure";
	return node->restarts == 0 ? "may not restart them any more (--restarts)" : NULL;
}

void ri_muster_pass(struct ri_muster *muster, int64_t now)
{
	const struct ri_centre *centre = muster->centre;
	bool all = true;
	const char *bar;

	for (size_t i = 0; i < centre->count && ri_muster_is_open(muster); i++) {
		const struct ri_centre_node *node = &centre->nodes[i];
		RI_TEXT(why, RI_MAX_LINE);

		all = all && node->here && node->ready[muster->step];
		bar = find_bar(muster, node);
		if (bar == NULL)
			continue;
		ri_centre_add_node(&why, centre, i);
		ri_text_addf(&why, " %s", bar);
		say(muster, false, why.bytes);
	}
	if (!ri_muster_is_open(muster))
		return;
	if (all)
		say(muster, true, "");
	else if (now >= ri_muster_due(muster))
		give_up(muster, now);
}

/* What stands against it on a node: *why. One that has not come yet may come. */
static bool is_banned(const struct ri_centre *centre, struct ri_text *why)
{
	for (size_t i = 0; i < centre->count; i++) {
		const struct ri_centre_node *node = &centre->nodes[i];
		const char *bar = NULL;

		if (ri_link_life_is_none(&node->life))
			continue;
		if (node->ended && node->class == RI_CLASS_STOPPED)
			bar = "was stopped from outside";
		else if (!node->here || !node->taken)
			bar = "is not connected";
		else if (node->barred || !node->may_stop)
			bar = "cannot start them again";
		else if (node->restarts == 0)
			bar = "may not restart them any more (--restarts)";
		if (bar == NULL)
			continue;
		ri_centre_add_node(why, centre, i);
		ri_text_addf(why, " %s", bar);
		return true;
	}
	return false;
}

void ri_link_restart_decide(struct ri_centre *centre, struct ri_text *lines)
{
	const struct ri_verdict *verdict = &centre->decision.verdict;
	RI_TEXT(why, RI_MAX_LINE);

	if (centre->self.restarts == 0 || !centre->keyed || !centre->orders || !centre->fatal ||
		verdict->class == RI_CLASS_STOPPED)
		return;
	/* a verdict without a name is one of losses alone */
	if (centre->leaving)
		ri_text_add(&why, "a rank of the job had ended with 0");
	else if (verdict->node >= 0 && verdict->why.retry == RI_RETRY_NEVER)
		ri_text_add(&why, "they would fail in the same way");
	else if (verdict->mark != 0 && verdict->mark == centre->last_mark &&
		!centre->progressed(centre->context))
		ri_text_add(&why, "they failed in the same way before, and came no further");
	centre->decision.again = why.length == 0 && !is_banned(centre, &why);
	if (!centre->decision.again)
		ri_text_addf(lines, "  the ranks do not start again: %s\n", why.bytes);
}
