/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/other_nodes.h"

#include <string.h>

#include "base/signals.h"
#include "link/link.h"
#include "report/again.h"
#include "report/brief.h"
#include "report/class.h"
#include "report/restarts.h"
#include "report/verdict.h"
#include "system/log.h"

/* By what is that end known, if the ranks end so again? */
static void sign(struct ri_link_end *end, const struct ri_outcome *outcome)
{
	static struct ri_restart restart;
	char signature[RI_CARRIED_SIGNATURE];
	struct ri_text out;

	restart = (struct ri_restart){ .known = false };
	ri_restart_describe(&restart, outcome);
	ri_text_init(&out, signature, sizeof(signature));
	ri_again_sign(&out, end->why.cause, &restart.first, restart.words);
	/* FNV-1a (isthe.com/chongo/tech/comp/fnv); 0 and 1 mean something else */
	end->mark = UINT64_C(14695981039346656037);
	for (size_t i = 0; i < out.length; i++)
		end->mark = (end->mark ^ (unsigned char)signature[i]) * UINT64_C(1099511628211);
	end->mark = (end->mark & RI_LINK_MARK) | 2;
}

/* What this end says of the job; what is blamed on a rank that hangs, or left, is less sure. */
static enum ri_link_class class_of(const struct ri_outcome *outcome)
{
	if (outcome->blame != RI_BLAME_FIRST)
		return RI_LINK_LOSS;
	switch (outcome->ranks[outcome->first].evidence.class) {
	case RI_CLASS_OWN:
		return RI_LINK_OWN;
	case RI_CLASS_LOSS:
		return RI_LINK_LOSS;
	case RI_CLASS_UNKNOWN:
	case RI_CLASS_STOPPED:
	case RI_CLASS_NONE:
		break;
	}
	return RI_LINK_UNKNOWN;
}

void ri_link_judge_end(const struct ri_link_job *job, const struct ri_outcome *outcome,
	struct ri_link_message *out)
{
	static char lines[RI_VERDICT_SIZE];
	const struct ri_rank_outcome *first;
	struct ri_link_end *end = &out->end;
	struct timespec at;
	struct ri_text text;

	if (outcome->first < 0 && outcome->stop.signal == 0)
		return;
	out->kind = RI_LINK_END;
	/* from outside; not where that came for a failure, or after it */
	if (outcome->first < 0 ||
		(outcome->stop.signal != 0 && class_of(outcome) == RI_LINK_LOSS)) {
		ri_link_make_stop(job, outcome->stop.signal, end);
		return;
	}
	first = &outcome->ranks[outcome->first];
	at = ri_moment_find(first).at;
	*end = (struct ri_link_end){
		.class = class_of(outcome), .fatal = job->part.may_stop,
		.why = ri_why_find(outcome), .rank = ri_brief_rank(outcome),
		.lives = first->leaving,
		.at_us = (uint64_t)at.tv_sec * 1000000 + (uint64_t)at.tv_nsec / 1000,
	};
	sign(end, outcome);
	ri_text_init(&text, lines, sizeof(lines));
	ri_verdict_render_job(outcome, outcome->reason, &text);
	ri_link_text_set(end->text, lines);
}

void ri_link_put_verdict(struct ri_link_outcome *out)
{
	static const enum ri_class classes[] = {
		[RI_LINK_LOSS] = RI_CLASS_LOSS, [RI_LINK_UNKNOWN] = RI_CLASS_UNKNOWN,
		[RI_LINK_OWN] = RI_CLASS_OWN, [RI_LINK_STOPPED] = RI_CLASS_STOPPED,
	};
	const struct ri_link_verdict *verdict = ri_link_verdict();
	static struct ri_brief brief;

	out->verdict = verdict->text;
	out->verdict_node = verdict->named ? (int64_t)verdict->node : -1;
	brief = (struct ri_brief){
		.why = verdict->why, .class = classes[verdict->class], .rank = verdict->rank,
		.node = out->verdict_node, .host = verdict->host,
	};
	out->brief = &brief;
}

bool ri_link_judge(const struct ri_link_job *job, struct ri_outcome *outcome)
{
	const struct ri_link_verdict *verdict = ri_link_verdict();

	ri_link_put_verdict(&outcome->link);
	outcome->link.verdict_is_here = verdict->named && verdict->node == job->part.node &&
		outcome->first >= 0;
	if (*job->ordered)
		return true;
	/*
	 * What ended here of itself, or well, before anything was stopped keeps its own status, and
	 * so does a loss where no node is named: some node has to say that the job failed.
	 */
	return verdict->order && !outcome->link.verdict_is_here && !job->stop->asked &&
		outcome->first >= 0 && class_of(outcome) == RI_LINK_LOSS && verdict->named;
}

void ri_link_say_why_not(const struct ri_link_job *job)
{
	const struct ri_link_verdict *verdict = ri_link_verdict();
	const char *why = ri_link_why_not(RI_LINK_LEAVE);

	/* where all leave it is this node alone that cannot, and knows why */
	if (job->restarts == 0 || job->stop->asked || (verdict != NULL && !verdict->again) ||
		ri_link_key() != NULL)
		return;
	if (why != NULL)
		ri_log(RI_LEVEL_ALWAYS, "%.*s", (int)strcspn(why, "\n"), why);
	else
		ri_log(RI_LEVEL_ALWAYS, "the ranks do not start again: %s", verdict == NULL
			? "the link has no verdict on the job"
			: "node 0 has not said that all nodes can");
}

void ri_link_leave(struct ri_carried *next)
{
	const struct ri_link_verdict *verdict = ri_link_verdict();

	next->link.on = true;
	memcpy(next->link.key, ri_link_key(), sizeof(next->link.key));
	next->link.mark = verdict->mark;
	next->link.node = verdict->named ? (int64_t)verdict->node : -1;
	ri_text_copy(next->link.verdict, sizeof(next->link.verdict), verdict->text);
	ri_text_copy(next->failure, sizeof(next->failure), verdict->text);
	next->failure[strcspn(next->failure, "\n")] = '\0';
}
