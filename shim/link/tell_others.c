/* SPDX-License-Identifier: Apache-2.0 */
#include "link/job.h"

#include <string.h>

#include "base/signals.h"
#include "base/span.h"
#include "link/link.h"
#include "report/again.h"
#include "report/brief.h"
#include "report/class.h"
#include "report/restarts.h"
#include "report/verdict.h"
#include "say/report_file.h"
#include "system/apart.h"
#include "system/clock.h"
#include "system/log.h"

enum { FINISH_MS = 5000 };	/* as long as the helper takes at most */

/* "node 1 (gpu-0514)" */
static void add_node(struct ri_text *out, const struct ri_link_job *job)
{
	ri_text_addf(out, "node %llu", (unsigned long long)job->part.node);
	if (job->host != NULL) {
		ri_text_add(out, " (");
		ri_text_add_shown(out, job->host, RI_LINK_WORD);
		ri_text_add(out, ")");
	}
}

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

/* outcome: of the ranks that it is about; NULL: it is about the node, just now. */
static void say_end(const struct ri_link_job *job, enum ri_link_class class,
	struct ri_why why, const struct ri_outcome *outcome, const char *lines)
{
	const struct ri_rank_outcome *first =
		outcome == NULL ? NULL : &outcome->ranks[outcome->first];
	static struct ri_link_end end;
	struct timespec at;

	ri_clock_read(CLOCK_REALTIME, &at);
	if (first != NULL)
		at = ri_moment_find(first).at;
	end = (struct ri_link_end){ .class = class, .fatal = job->part.may_stop,
		.why = why, .rank = outcome == NULL ? -1 : ri_brief_rank(outcome),
		.lives = first != NULL && first->leaving,
		.at_us = (uint64_t)at.tv_sec * 1000000 + (uint64_t)at.tv_nsec / 1000 };
	if (outcome != NULL)
		sign(&end, outcome);
	ri_link_text_set(end.text, lines);
	ri_link_end(&end);
}

static void say_stop(const struct ri_link_job *job, int number)
{
	char line[RI_MAX_LINE], name[RI_SIGNAL_NAME];
	struct ri_text out;

	ri_text_init(&out, line, sizeof(line));
	add_node(&out, job);
	ri_text_addf(&out, " was stopped from outside by %s\n", ri_signal_name(number, name));
	say_end(job, RI_LINK_STOPPED, ri_why_stopped, NULL, line);
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

void ri_link_tell(const struct ri_link_job *job)
{
	static char lines[RI_VERDICT_SIZE];
	struct ri_outcome outcome;
	struct ri_text out;

	if (!ri_link_is_on())
		return;
	outcome = job->so_far(job->run);
	/* from outside; not where that came for a failure, or after it */
	if (outcome.stop.signal != 0 &&
		(outcome.first < 0 || class_of(&outcome) == RI_LINK_LOSS)) {
		say_stop(job, outcome.stop.signal);
	} else if (outcome.first >= 0) {
		ri_text_init(&out, lines, sizeof(lines));
		ri_verdict_render_job(&outcome, outcome.reason, &out);
		say_end(job, class_of(&outcome), ri_why_find(&outcome), &outcome, lines);
	} else if (job->children->living == 0) {
		say_end(job, RI_LINK_DONE, ri_why_unknown, NULL, "");
	}
}

/*
 * The verdict is no order, and the ranks of this node run on: say why. A stop is no failure, and
 * mostly comes to all nodes.
 */
static void say_why_we_go_on(const struct ri_link_job *job, const struct ri_link_verdict *verdict)
{
	const char *why;

	if (verdict->order || verdict->class == RI_LINK_STOPPED ||
		job->children->living == 0 || job->stop->asked ||
		(verdict->named && verdict->node == job->part.node))
		return;
	if (job->options->link == RI_LINK_MODE_TELL)
		why = "with --link=tell rankinit stops none";
	else if (!job->part.may_stop)
		why = "rankinit stops those that it starts with --nproc-per-node, those of a "
			"torchrun without restarts, and the only task of a step on its node";
	else if (!job->part.apart)
		why = "another job on the same host may have the name of this one";
	else
		why = "rankinit stops only for a failure that ends the job, and only nodes that "
			"came before it";
	ri_log(RI_LEVEL_ALWAYS, "  the ranks of this node run on: %s", why);
}

void ri_link_print_verdict(const struct ri_link_job *job)
{
	ri_report_job(ri_link_verdict()->text);
	say_why_we_go_on(job, ri_link_verdict());
}

void ri_link_print_found(void)
{
	const struct ri_link_found *found = ri_link_take_found();
	struct ri_span rest, line;

	if (found == NULL || !ri_log_shows(RI_LEVEL_WARNING))
		return;
	rest = (struct ri_span){ found->text, strlen(found->text) };
	while (ri_span_line(&rest, &line))
		ri_log(RI_LEVEL_ALWAYS, "autopsy: %.*s", (int)line.length, line.at);
}

static const char stopped[] = "was stopped from outside";

/* One node that cannot is enough. */
static void refuse_step(const struct ri_link_job *job, enum ri_link_step step, const char *why)
{
	char line[RI_MAX_LINE];
	struct ri_text out;

	if (job->restarts == 0 && job->before == NULL)
		return;
	ri_text_init(&out, line, sizeof(line));
	add_node(&out, job);
	ri_text_addf(&out, " %s", why);
	ri_link_vote(step, line);
}

void ri_link_stop(const struct ri_link_job *job, int number)
{
	if (!ri_link_is_on())
		return;
	say_stop(job, number);
	refuse_step(job, RI_LINK_START, stopped);
	ri_link_finish(FINISH_MS);
}

void ri_link_refuse(const struct ri_link_job *job, const struct ri_error *err, const char *reasons)
{
	char line[RI_MAX_LINE];
	struct ri_text out;

	if (!ri_link_is_on())
		return;
	if (ri_apart_stop() != 0) {
		say_stop(job, ri_apart_stop());
		refuse_step(job, RI_LINK_START, stopped);
	} else if (err->code != RI_CODE_LINK_STOPPED) {
		ri_text_init(&out, line, sizeof(line));
		add_node(&out, job);
		if (err->code == RI_CODE_CHECK_UNFIT)
			ri_text_addf(&out, " is not fit%s", reasons);
		else
			ri_text_addf(&out, " could not start: %s: %s", err->subject, err->text);
		ri_text_addf(&out, " [%s]\n", ri_code_name(err->code));
		if (job->before != NULL)
			ri_link_vote(RI_LINK_START, line);
		say_end(job, RI_LINK_OWN, ri_why_of_refusal(ri_code_status(err->code)), NULL, line);
	} else {
		refuse_step(job, RI_LINK_LEAVE, "had not started its ranks");
	}
	ri_link_finish(FINISH_MS);
}

/* The sender of the stop waits for --grace, as far as we know. */
static int64_t time_to_finish(const struct ri_link_job *job)
{
	uint64_t grace_ms = job->options->grace_ms;
	int64_t left = (int64_t)grace_ms;

	if (job->stop->asked)
		left += job->stop->at_ms - ri_now_ms();
	else if (ri_mask_pending_stop() == 0)
		return FINISH_MS;
	if (grace_ms == 0 || left > FINISH_MS)
		return FINISH_MS;
	return left < 0 ? 0 : left;
}

/*
 * Its ranks are gone, so all nodes may leave this attempt, where the verdict says so. A stop is
 * looked for before this node says that it can, and stays in the queue: where it comes later the
 * word that all leave may cross the one that this node cannot, and the next attempt finds it.
 */
static void wait_to_leave(const struct ri_link_job *job, int status, bool gone)
{
	bool able = gone && !*job->interrupted && !job->stop->asked && ri_mask_pending_stop() == 0;

	if (job->restarts == 0 || (status == 0 && !*job->ordered))
		return;
	if (able) {
		ri_link_vote(RI_LINK_LEAVE, NULL);
		if (ri_link_await(RI_LINK_LEAVE, FINISH_MS) || ri_mask_pending_stop() == 0)
			return;
	}
	if (ri_mask_pending_stop() != 0)
		say_stop(job, ri_mask_pending_stop());
	refuse_step(job, RI_LINK_LEAVE, gone ? stopped : "has a process that its ranks left");
	if (able)
		ri_link_await(RI_LINK_LEAVE, time_to_finish(job) / 2);
}

bool ri_link_conclude(const struct ri_link_job *job, int status, bool gone)
{
	bool judged = ri_link_verdict() != NULL;

	if (!ri_link_is_on())
		return judged;
	if (!*job->ordered && status == 0 && job->stop->asked)
		say_stop(job, job->stop->number);
	else if (!*job->ordered)
		ri_link_tell(job);
	wait_to_leave(job, status, gone);
	ri_link_finish(time_to_finish(job));
	ri_link_print_found();
	if (!judged && ri_link_verdict() != NULL)
		ri_report_job(ri_link_verdict()->text);
	return ri_link_verdict() != NULL;
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

int ri_link_judge(const struct ri_link_job *job, struct ri_outcome *outcome, int status)
{
	const struct ri_link_verdict *verdict = ri_link_verdict();

	ri_link_put_verdict(&outcome->link);
	outcome->link.verdict_is_here = verdict->named && verdict->node == job->part.node &&
		outcome->first >= 0;
	if (*job->ordered)
		return ri_code_status(RI_CODE_LINK_STOPPED);
	/* what ended here of itself, or well, before anything was stopped keeps its own status, */
	if (!verdict->order || outcome->link.verdict_is_here || job->stop->asked ||
		outcome->first < 0 || class_of(outcome) != RI_LINK_LOSS)
		return status;
	/* and so does a loss where no node is named: some node has to say that the job failed */
	return verdict->named ? ri_code_status(RI_CODE_LINK_STOPPED) : status;
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
