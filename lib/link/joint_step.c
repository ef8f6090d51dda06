/* SPDX-License-Identifier: Apache-2.0 */
#include "link/centre.h"

#include "report/restarts.h"

bool ri_joint_is_open(const struct ri_joint_step *joint)
{
	const struct ri_centre *centre = joint->centre;

	return !joint->over && (joint->step == RI_LINK_START ? centre->gathers
		: centre->decided && centre->decision.again);
}

/* The first word stands. From now on the ends of an attempt that has begun count. */
static void say(struct ri_joint_step *joint, bool go, const char *why)
{
	struct ri_centre *centre = joint->centre;
	RI_TEXT(line, RI_LINK_TEXT);

	if (!go)
		ri_text_addf(&line, "the ranks do not start again: %s", why);
	joint->over = true;
	joint->said = (struct ri_link_message){ .kind = RI_LINK_GO,
		.go = { .step = joint->step, .go = go } };
	ri_link_text_set(joint->said.go.text, line.bytes);
	centre->gathers = centre->gathers && !go;
	joint->since = 0;
	for (size_t i = 0; i < centre->count; i++)
		if (centre->nodes[i].here)
			centre->send(centre->context, centre->nodes[i].session, &joint->said);
}

void ri_joint_refuse(struct ri_joint_step *joint, const char *why)
{
	if (ri_joint_is_open(joint))
		say(joint, false, why);
}

void ri_joint_greet(const struct ri_joint_step *joint, size_t session)
{
	if (joint->over)
		joint->centre->send(joint->centre->context, session, &joint->said);
}

void ri_joint_hear(struct ri_joint_step *joint, size_t node, size_t session,
	const struct ri_link_go *vote)
{
	struct ri_centre *centre = joint->centre;
	struct ri_centre_node *member = &centre->nodes[node];

	if (!member->here || member->session != session || !member->taken)
		return;
	member->ready[joint->step] = vote->go && !member->barred;
	member->barred = member->barred || !vote->go;
	ri_joint_greet(joint, session);
	if (!vote->go && ri_joint_is_open(joint))
		say(joint, false, vote->text);
}

/* Do the others wait for it? Behind the word to start they do until its ranks run. */
static bool is_awaited(const struct ri_joint_step *joint, const struct ri_centre_node *node)
{
	return joint->over ? node->phase == RI_LINK_STARTING && !node->ended
		: !node->here || !node->ready[joint->step];
}

/*
 * By when this node has to be there. A lost one may come back, and one that is late may come; the
 * ranks of one that is here get the time that an order gives them.
 */
static int64_t due_of(const struct ri_joint_step *joint, const struct ri_centre_node *node)
{
	const struct ri_centre *centre = joint->centre;

	if (!is_awaited(joint, node))
		return INT64_MAX;
	if (joint->step == RI_LINK_START)
		return centre->begun + joint->wait_ms;
	if (node->here)
		return centre->failed_at + joint->end_ms + joint->wait_ms;
	return (node->lost_at == 0 ? centre->failed_at : node->lost_at) + joint->wait_ms;
}

/* The first of these; INT64_MAX: all are there. */
static int64_t find_due(const struct ri_joint_step *joint)
{
	int64_t due = INT64_MAX, at;

	for (size_t i = 0; i < joint->centre->count; i++) {
		at = due_of(joint, &joint->centre->nodes[i]);
		due = at < due ? at : due;
	}
	return due;
}

int64_t ri_joint_due(const struct ri_joint_step *joint)
{
	int64_t beat_at = joint->since == 0 ? INT64_MAX : joint->beat_at, due;

	if (!ri_joint_is_open(joint))
		return beat_at;
	due = find_due(joint);
	if (due == INT64_MAX)
		due = joint->centre->pause_until;
	return beat_at < due ? beat_at : due;
}

/* Append the nodes that are waited for, and had to be there by then. Returns how many. */
static size_t add_awaited(struct ri_text *out, const struct ri_joint_step *joint, int64_t by)
{
	struct ri_centre *centre = joint->centre;

	for (size_t i = 0; i < centre->count; i++) {
		struct ri_centre_node *node = &centre->nodes[i];

		/* of one that has not called the roll call speaks */
		node->listed = is_awaited(joint, node) && due_of(joint, node) <= by &&
			(by != INT64_MAX || node->called);
	}
	return ri_centre_add_listed(out, centre);
}

/* "node 2 (worker-2) has not come within 60 s" */
static void give_up(struct ri_joint_step *joint, int64_t now)
{
	const struct ri_centre *centre = joint->centre;
	int64_t waited = joint->wait_ms;
	bool here = false;
	RI_TEXT(why, RI_MAX_LINE);
	size_t late = add_awaited(&why, joint, now);

	for (size_t i = 0; i < centre->count; i++)
		here = here || (centre->nodes[i].here && due_of(joint, &centre->nodes[i]) <= now);
	if (here && joint->step == RI_LINK_LEAVE)
		waited += joint->end_ms;
	ri_text_addf(&why, " %s not %s within %lld s", late == 1 ? "has" : "have", !here ? "come"
		: joint->step == RI_LINK_LEAVE ? "ended the ranks" : "said to be ready",
		(long long)waited / 1000);
	say(joint, false, why.bytes);
}

/* It still waits; at times whom for: a node that is frozen keeps its connection. */
static void beat(struct ri_joint_step *joint, int64_t now)
{
	struct ri_centre *centre = joint->centre;
	int64_t waited = now - joint->since;
	RI_TEXT(names, RI_MAX_LINE);
	RI_TEXT(line, RI_LINK_TEXT);
	size_t late = add_awaited(&names, joint, INT64_MAX);

	joint->beat_at = now + RI_LINK_BEAT_MS;
	if (joint->over && (late == 0 || centre->decided)) {
		joint->since = 0;
		return;
	}
	if (late > 0 && waited >= joint->line_ms) {
		joint->line_ms *= 2;
		ri_text_addf(&line, "%s for %lld s: %zu of %zu nodes %s not %s: %s; look at %s",
			joint->over ? "all nodes could start their ranks, and have waited"
			: "all nodes wait to start the ranks again,", (long long)waited / 1000,
			late, centre->count, late == 1 ? "has" : "have", joint->over
			? "said that they run" : joint->step == RI_LINK_LEAVE
			? "said that the last ones have ended" : "said to be ready", names.bytes,
			late == 1 ? "its log" : "their logs");
	}
	ri_centre_tell(centre, line.bytes);
}

/* What stands against it on this node by now, which may have come late; NULL: nothing. */
static const char *find_bar(const struct ri_joint_step *joint, const struct ri_centre_node *node)
{
	if (node->ended && node->class == RI_CLASS_STOPPED)
		return "was stopped from outside";
	if (joint->step == RI_LINK_START)
		return NULL;
	if (node->ended && node->class == RI_CLASS_NONE)
		return "has ended, all of its ranks with 0";
	if (!node->here)
		return node->followed ? "has gone, and its container was started again" : NULL;
	/* its ranks are not told to end: they are no part of what failed */
	if (!node->taken)
		return "has come only after the failure";
	return node->restarts == 0 ? "may not restart them any more (--restarts)" : NULL;
}

/* A node that cannot ends the wait at once. */
static void look_for_bars(struct ri_joint_step *joint)
{
	const struct ri_centre *centre = joint->centre;

	for (size_t i = 0; i < centre->count && ri_joint_is_open(joint); i++) {
		const char *bar = find_bar(joint, &centre->nodes[i]);
		RI_TEXT(why, RI_MAX_LINE);

		if (bar == NULL)
			continue;
		ri_centre_add_node(&why, centre, i);
		ri_text_addf(&why, " %s", bar);
		say(joint, false, why.bytes);
	}
}

/* Does a node wait for others? Also for the ranks of those that were told to start them. */
static bool is_waiting(const struct ri_joint_step *joint)
{
	if (joint->step == RI_LINK_START)
		return joint->over ? joint->said.go.go : ri_joint_is_open(joint);
	for (size_t i = 0; i < joint->centre->count && ri_joint_is_open(joint); i++)
		if (joint->centre->nodes[i].ready[RI_LINK_LEAVE])
			return true;
	return false;
}

void ri_joint_pass(struct ri_joint_step *joint, int64_t now)
{
	bool was_open = ri_joint_is_open(joint);
	int64_t due;

	look_for_bars(joint);
	if (ri_joint_is_open(joint)) {
		due = find_due(joint);
		if (due == INT64_MAX && now >= joint->centre->pause_until) {
			say(joint, true, "");
			joint->centre->ran_at = now;
		} else if (now >= due) {
			give_up(joint, now);
		}
	}
	if (was_open && joint->since == 0 && is_waiting(joint)) {
		joint->since = now;
		joint->beat_at = now + RI_LINK_BEAT_MS;
		joint->line_ms = RI_LINK_BEAT_MS;
	} else if (joint->since != 0 && now >= joint->beat_at) {
		beat(joint, now);
	}
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
		else if (!node->here)
			bar = "is not connected";
		else if (!node->taken)
			bar = "has come only after the failure";
		else if (ri_centre_is_unheard(centre, node))
			bar = "does not answer";
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

/* What fails as soon as it is started starts again more slowly each time. */
static void pause_before(struct ri_centre *centre, struct ri_text *lines)
{
	int64_t ran_at = centre->ran_at == 0 ? centre->begun : centre->ran_at, pause;
	uint64_t quick = ri_again_quick(centre->quick, centre->failed_at - ran_at);

	pause = ri_again_pause_ms(quick, centre->decision.verdict.why.cause);
	if (pause == 0)
		return;
	centre->pause_until = centre->failed_at + pause;
	ri_text_addf(lines, "  the ranks start again in %lld s at the earliest: the last ",
		(long long)pause / 1000);
	if (quick > 1)
		ri_text_addf(lines, "%llu attempts each ended", (unsigned long long)quick);
	else
		ri_text_add(lines, "attempt ended");
	ri_text_add(lines, " within a minute\n");
}

void ri_link_restart_decide(struct ri_centre *centre, struct ri_text *lines)
{
	const struct ri_verdict *verdict = &centre->decision.verdict;
	RI_TEXT(why, RI_MAX_LINE);

	if (centre->self.restarts == 0 || !centre->keyed || !centre->orders || !centre->fatal ||
		verdict->class == RI_CLASS_STOPPED)
		return;
	/* a verdict without a name is one of losses alone */
	if (centre->left > 0)
		ri_text_add(&why, "a rank of the job had ended with 0");
	else if (verdict->node >= 0 && verdict->why.retry == RI_RETRY_NEVER)
		ri_text_add(&why, "they would fail in the same way");
	else if (verdict->mark != 0 && verdict->mark == centre->last_mark &&
		!centre->progressed(centre->context))
		ri_text_add(&why, "they failed in the same way before, and came no further");
	centre->decision.again = why.length == 0 && !is_banned(centre, &why);
	if (centre->decision.again)
		pause_before(centre, lines);
	else
		ri_text_addf(lines, "  the ranks do not start again: %s\n", why.bytes);
}
