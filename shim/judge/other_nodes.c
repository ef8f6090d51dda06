/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/other_nodes.h"

#include <string.h>

#include "base/signals.h"
#include "link/link.h"
#include "report/blame.h"
#include "report/carried.h"
#include "report/restarts.h"
#include "report/verdict_lines.h"
#include "system/log.h"

/* By what is that end known, if the ranks end so again? */
static void sign(struct ri_verdict *verdict, const struct ri_outcome *outcome)
{
	static struct ri_restart restart;
	char signature[RI_CARRIED_SIGNATURE];
	/* FNV-1a (isthe.com/chongo/tech/comp/fnv) */
	uint64_t mark = UINT64_C(14695981039346656037);
	struct ri_text out;

	restart = (struct ri_restart){ .known = false };
	ri_restart_describe(&restart, outcome);
	ri_text_init(&out, signature, sizeof(signature));
	ri_again_sign(&out, verdict->why.cause, &restart.first, restart.words);
	for (size_t i = 0; i < out.length; i++)
		mark = (mark ^ (unsigned char)signature[i]) * UINT64_C(1099511628211);
	verdict->mark = (mark & RI_VERDICT_MARK) | 2;	/* 0 and 1 mean something else */
}

/* What this end says of the job; what is blamed on a rank that hangs, or left, is less sure. */
static enum ri_class class_of(const struct ri_outcome *outcome)
{
	enum ri_class class;

	if (outcome->blame != RI_BLAME_FIRST)
		return RI_CLASS_LOSS;
	class = outcome->ranks[outcome->first].evidence.class;
	return class < RI_CLASS_LOSS ? RI_CLASS_UNKNOWN : class;
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
		(outcome->stop.signal != 0 && class_of(outcome) == RI_CLASS_LOSS)) {
		ri_link_make_stop(job, outcome->stop.signal, end);
		return;
	}
	first = &outcome->ranks[outcome->first];
	at = ri_moment_find(first).at;
	*end = (struct ri_link_end){
		.verdict = { .why = ri_why_find(outcome), .class = class_of(outcome),
			.rank = ri_brief_rank(outcome), .node = -1 },
		.fatal = job->part.may_stop, .lives = first->leaving,
		.at_us = (uint64_t)at.tv_sec * 1000000 + (uint64_t)at.tv_nsec / 1000,
	};
	sign(&end->verdict, outcome);
	ri_text_init(&text, lines, sizeof(lines));
	ri_verdict_render_job(outcome, outcome->reason, &text);
	ri_link_text_set(end->text, lines);
}

bool ri_link_judge(const struct ri_link_job *job, struct ri_outcome *outcome)
{
	const struct ri_link_decision *decision = ri_link_decision();

	outcome->link.verdict = &decision->verdict;
	outcome->link.text = decision->text;
	outcome->link.is_here = decision->verdict.node == (int64_t)job->part.node &&
		outcome->first >= 0;
	if (*job->ordered)
		return true;
	/*
	 * What ended here of itself, or well, before anything was stopped keeps its own status, and
	 * so does a loss where no node is named: some node has to say that the job failed.
	 */
	return decision->order && !outcome->link.is_here && !job->stop->asked &&
		outcome->first >= 0 && class_of(outcome) == RI_CLASS_LOSS &&
		decision->verdict.node >= 0;
}

void ri_link_say_why_not(const struct ri_link_job *job)
{
	const struct ri_link_decision *decision = ri_link_decision();
	const char *why = ri_link_why_not(RI_LINK_LEAVE);

	/* where all leave it is this node alone that cannot, and knows why */
	if (job->restarts == 0 || job->stop->asked || (decision != NULL && !decision->again) ||
		ri_link_key() != NULL)
		return;
	if (why != NULL)
		ri_log(RI_LEVEL_ALWAYS, "%.*s", (int)strcspn(why, "\n"), why);
	else
		ri_log(RI_LEVEL_ALWAYS, "the ranks do not start again: %s", decision == NULL
			? "the link has no verdict on the job"
			: "node 0 has not said that all nodes can");
}
