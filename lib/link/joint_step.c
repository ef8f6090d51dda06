/* SPDX-License-Identifier: Apache-2.0 */
#include "link/centre.h"

#include "report/restarts.h"

bool ri_joint_is_open(const struct ri_centre *centre, enum ri_link_step step)
{
	return !centre->steps[step].over && (step == RI_LINK_START ? centre->gathers
		: centre->decided && centre->decision.again);
}

/* The first word stands. From now on the ends of an attempt that has begun count. */
static void say(struct ri_centre *centre, enum ri_link_step step, bool go, const char *why)
{
	struct ri_joint_step *joint = &centre->steps[step];
	RI_TEXT(line, RI_LINK_TEXT);

	if (!go)
		ri_text_addf(&line, "the ranks do not start again: %s", why);
	joint->over = true;
	joint->said = (struct ri_link_message){ .kind = RI_LINK_GO,
		.go = { .step = step, .go = go } };
	ri_link_text_set(joint->said.go.text, RI_LINK_TEXT, line.bytes);
	centre->gathers = centre->gathers && !go;
	joint->since = 0;
	ri_centre_send_all(centre, &joint->said);
}

void ri_joint_refuse(struct ri_centre *centre, const char *why)
{
	if (ri_joint_is_open(centre, RI_LINK_START))
		say(centre, RI_LINK_START, false, why);
}

static void repeat(const struct ri_centre *centre, enum ri_link_step step, size_t session)
{
	if (centre->steps[step].over)
		centre->send(centre->context, session, &centre->steps[step].said);
}

void ri_joint_greet(const struct ri_centre *centre, size_t session)
{
	repeat(centre, RI_LINK_START, session);
	repeat(centre, RI_LINK_LEAVE, session);
}

void ri_joint_hear(struct ri_centre *centre, size_t node, const struct ri_link_go *vote)
{
	struct ri_centre_node *member = &centre->nodes[node];

	member->ready[vote->step] = vote->go && !member->barred;
	member->barred = member->barred || !vote->go;
	repeat(centre, vote->step, member->session);
	if (!vote->go && ri_joint_is_open(centre, vote->step))
		say(centre, vote->step, false, vote->text);
}

/* Do the others wait for it? Behind the word to start they do until its ranks run. */
static bool is_awaited(const struct ri_centre *centre, enum ri_link_step step,
	const struct ri_centre_node *node)
{
	return centre->steps[step].over ? node->phase == RI_LINK_STARTING && !node->ended
		: !node->here || !node->ready[step];
}

/*
 * By when this node has to be there. A lost one may come back, and one that is late may come; the
 * ranks of one that is here get the time that an order gives them.
 */
static int64_t due_of(const struct ri_centre *centre, enum ri_link_step step,
	const struct ri_centre_node *node)
{
	if (!is_awaited(centre, step, node))
		return INT64_MAX;
	if (step == RI_LINK_START)
		return centre->begun + centre->wait_ms;
	if (node->here)
		return centre->failed_at + centre->end_ms + centre->wait_ms;
	return (node->lost_at == 0 ? centre->failed_at : node->lost_at) + centre->wait_ms;
}

/* The first of these; INT64_MAX: all are there. */
static int64_t find_due(const struct ri_centre *centre, enum ri_link_step step)
{
	int64_t due = INT64_MAX, at;

	for (size_t i = 0; i < centre->count; i++) {
		at = due_of(centre, step, &centre->nodes[i]);
		due = at < due ? at : due;
	}
	return due;
}

int64_t ri_joint_due(const struct ri_centre *centre, enum ri_link_step step)
{
	const struct ri_joint_step *joint = &centre->steps[step];
	int64_t beat_at = joint->since == 0 ? INT64_MAX : joint->beat_at, due;

	if (!ri_joint_is_open(centre, step))
		return beat_at;
	due = find_due(centre, step);
	if (due == INT64_MAX)
		due = centre->pause_until;
	return beat_at < due ? beat_at : due;
}

/* Append the nodes that are waited for, and had to be there by then. Returns how many. */
static size_t add_awaited(struct ri_text *out, struct ri_centre *centre, enum ri_link_step step,
	int64_t by)
{
	for (size_t i = 0; i < centre->count; i++) {
		struct ri_centre_node *node = &centre->nodes[i];

		/* of one that has not called the roll call speaks */
		node->listed = is_awaited(centre, step, node) &&
			due_of(centre, step, node) <= by && (by != INT64_MAX || node->called);
	}
	return ri_centre_add_listed(out, centre);
}

/* "node 2 (worker-2) has not come within 60 s" */
static void give_up(struct ri_centre *centre, enum ri_link_step step, int64_t now)
{
	int64_t waited = centre->wait_ms;
	bool here = false;
	RI_TEXT(why, RI_MAX_LINE);
	size_t late = add_awaited(&why, centre, step, now);

	for (size_t i = 0; i < centre->count; i++)
		here = here || (centre->nodes[i].here &&
			due_of(centre, step, &centre->nodes[i]) <= now);
	if (here && step == RI_LINK_LEAVE)
		waited += centre->end_ms;
	ri_text_addf(&why, " %s not %s within %lld s", late == 1 ? "has" : "have", !here ? "come"
		: step == RI_LINK_LEAVE ? "ended the ranks" : "said to be ready",
		(long long)waited / 1000);
	say(centre, step, false, why.bytes);
}

/* It still waits; at times whom for: a node that is frozen keeps its connection. */
static void beat(struct ri_centre *centre, enum ri_link_step step, int64_t now)
{
	struct ri_joint_step *joint = &centre->steps[step];
	int64_t waited = now - joint->since;
	RI_TEXT(names, RI_MAX_LINE);
	RI_TEXT(line, RI_LINK_TEXT);
	size_t late = add_awaited(&names, centre, step, INT64_MAX);

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
			? "said that they run" : step == RI_LINK_LEAVE
			? "said that the last ones have ended" : "said to be ready", names.bytes,
			late == 1 ? "its log" : "their logs");
	}
	ri_centre_tell(centre, line.bytes);
}

/*
 * What stands against the step on this node; NULL: nothing. At the verdict it has to be there;
 * behind that it may have come late, and a lost one may come back.
 */
static const char *find_bar(const struct ri_centre *centre, enum ri_link_step step,
	const struct ri_centre_node *node, bool at_verdict)
{
	if (node->ended && node->class == RI_CLASS_STOPPED)
		return "was stopped from outside";
	if (step == RI_LINK_START)
		return NULL;
	if (node->ended && node->class == RI_CLASS_NONE)
		return "has ended, all of its ranks with 0";
	if (!node->here && at_verdict)
		return "is not connected";
	if (!node->here)
		return node->followed ? "has gone, and its container was started again" : NULL;
	/* its ranks are not told to end: they are no part of what failed */
	if (!node->taken)
		return "has come only after the failure";
	if (at_verdict && ri_centre_is_unheard(centre, node))
		return "does not answer";
	if (at_verdict && (node->barred || !node->may_stop))
		return "cannot start them again";
	return node->restarts == 0 ? "may not restart them any more (--restarts)" : NULL;
}

/* Append the first node that something stands against, and what. One may come that has not yet. */
static bool add_bar(struct ri_text *why, const struct ri_centre *centre, enum ri_link_step step,
	bool at_verdict)
{
	for (size_t i = 0; i < centre->count; i++) {
		const struct ri_centre_node *node = &centre->nodes[i];
		const char *bar = ri_link_life_is_none(&node->life) ? NULL
			: find_bar(centre, step, node, at_verdict);

		if (bar == NULL)
			continue;
		ri_centre_add_node(why, centre, i);
		ri_text_addf(why, " %s", bar);
		return true;
	}
	return false;
}

/* Does a node wait for others? Also for the ranks of those that were told to start them. */
static bool is_waiting(const struct ri_centre *centre, enum ri_link_step step)
{
	const struct ri_joint_step *joint = &centre->steps[step];

	if (step == RI_LINK_START)
		return joint->over ? joint->said.go.go : ri_joint_is_open(centre, step);
	for (size_t i = 0; i < centre->count && ri_joint_is_open(centre, step); i++)
		if (centre->nodes[i].ready[RI_LINK_LEAVE])
			return true;
	return false;
}

/* Whether all can take it, or a node cannot, or its time is over. */
static void decide(struct ri_centre *centre, enum ri_link_step step, int64_t now)
{
	int64_t due = find_due(centre, step);
	RI_TEXT(why, RI_MAX_LINE);

	if (add_bar(&why, centre, step, false)) {
		say(centre, step, false, why.bytes);
	} else if (due == INT64_MAX && now >= centre->pause_until) {
		say(centre, step, true, "");
		centre->ran_at = now;
	} else if (now >= due) {
		give_up(centre, step, now);
	}
}

void ri_joint_pass(struct ri_centre *centre, enum ri_link_step step, int64_t now)
{
	struct ri_joint_step *joint = &centre->steps[step];
	bool was_open = ri_joint_is_open(centre, step);

	if (was_open)
		decide(centre, step, now);
	if (was_open && joint->since == 0 && is_waiting(centre, step)) {
		joint->since = now;
		joint->beat_at = now + RI_LINK_BEAT_MS;
		joint->line_ms = RI_LINK_BEAT_MS;
	} else if (joint->since != 0 && now >= joint->beat_at) {
		beat(centre, step, now);
	}
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

void ri_joint_decide(struct ri_centre *centre, struct ri_text *lines)
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
	centre->decision.again = why.length == 0 && !add_bar(&why, centre, RI_LINK_LEAVE, true);
	if (centre->decision.again)
		pause_before(centre, lines);
	else
		ri_text_addf(lines, "  the ranks do not start again: %s\n", why.bytes);
}
