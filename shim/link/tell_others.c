/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include "base/signals.h"
#include "base/text.h"
#include "link/link.h"
#include "report/culprit.h"
#include "say/report_file.h"
#include "system/apart.h"
#include "system/clock.h"
#include "system/log.h"

enum { FINISH_MS = 5000 };	/* as long as the helper takes at most */

/* How the node ends, or stops, just now: what it says in lines. */
static void make_end(const struct ri_link_job *job, enum ri_class class, struct ri_why why,
	const char *lines, struct ri_link_end *out)
{
	struct timespec at;

	ri_clock_read(CLOCK_REALTIME, &at);
	*out = (struct ri_link_end){ .fatal = job->part.may_stop,
		.verdict = { .why = why, .class = class, .rank = -1, .node = -1 },
		.at_us = (uint64_t)at.tv_sec * 1000000 + (uint64_t)at.tv_nsec / 1000 };
	ri_link_text_set(out->text, RI_LINK_TEXT, lines);
}

void ri_link_say(const struct ri_link_job *job, enum ri_class class, struct ri_why why,
	const char *lines)
{
	static struct ri_link_end end;

	make_end(job, class, why, lines, &end);
	ri_link_end(&end);
}

void ri_link_make_stop(const struct ri_link_job *job, int number, struct ri_link_end *out)
{
	RI_TEXT(line, RI_MAX_LINE);

	ri_link_add_node(&line, job->part.node, job->host);
	ri_text_addf(&line, " was stopped from outside by %s\n", RI_SIGNAL_SHOWN(number));
	make_end(job, RI_CLASS_STOPPED, ri_why_stopped, line.bytes, out);
}

void ri_link_say_stop(const struct ri_link_job *job, int number)
{
	static struct ri_link_end end;

	ri_link_make_stop(job, number, &end);
	ri_link_end(&end);
}

void ri_link_print_verdict(const struct ri_link_job *job)
{
	const struct ri_link_decision *decision = ri_link_decision();
	static bool printed;
	const char *why;

	if (printed) {
		ri_log(RI_LEVEL_ALWAYS, "the ranks of this node are stopped now, for the failure "
			"above");
		return;
	}
	printed = true;
	ri_report_job(decision->text);
	/*
	 * Where it is no order the ranks of this node run on: say why. A stop is no failure, and
	 * mostly comes to all nodes.
	 */
	if (decision->order || decision->verdict.class == RI_CLASS_STOPPED ||
		job->children->living == 0 || job->stop->signal != 0 ||
		decision->verdict.node == (int64_t)job->part.node)
		return;
	if (job->options->link == RI_LINK_MODE_TELL)
		why = "with --link=tell rankinit stops none";
	else if (!job->part.may_stop)
		why = "rankinit stops those that it starts with --nproc-per-node, those of a "
			"torchrun without restarts, and the only task of a step on its node";
	else if (!job->part.unique)
		why = "another job on the same host may have the name of this one";
	else
		why = "rankinit stops only for a failure that ends the job, only nodes that came "
			"before it, and when all were heard since";
	ri_log(RI_LEVEL_ALWAYS, "  the ranks of this node run on: %s", why);
}

static const char stopped[] = "was stopped from outside";

/* One node that cannot is enough. */
static void refuse_step(const struct ri_link_job *job, enum ri_link_step step, const char *why)
{
	RI_TEXT(line, RI_MAX_LINE);

	if (job->restarts == 0 && job->before == NULL)
		return;
	ri_link_add_node(&line, job->part.node, job->host);
	ri_text_addf(&line, " %s", why);
	ri_link_vote(step, line.bytes);
}

void ri_link_stop(const struct ri_link_job *job, int number)
{
	if (!ri_link_is_on())
		return;
	ri_link_say_stop(job, number);
	refuse_step(job, RI_LINK_START, stopped);
	ri_link_finish(FINISH_MS);
}

/*
 * This node has waited in vain for the word that all start. The others may have heard it, and would
 * wait for these ranks without end: its own word is what ends them.
 */
static void tell_unheard(const struct ri_link_job *job)
{
	RI_TEXT(line, RI_MAX_LINE);

	refuse_step(job, RI_LINK_START, "has not heard that all nodes can");
	ri_link_add_node(&line, job->part.node, job->host);
	ri_text_add(&line, " has not started its ranks: it has not heard that all nodes can\n");
	ri_link_say(job, RI_CLASS_OWN, ri_why_unknown, line.bytes);
}

void ri_link_refuse(const struct ri_link_job *job, const struct ri_error *err, const char *reasons)
{
	RI_TEXT(line, RI_MAX_LINE);

	if (!ri_link_is_on())
		return;
	if (ri_apart_stop() != 0) {
		ri_link_say_stop(job, ri_apart_stop());
		refuse_step(job, RI_LINK_START, stopped);
	} else if (err->code != RI_CODE_LINK_STOPPED) {
		ri_link_add_node(&line, job->part.node, job->host);
		if (err->code == RI_CODE_CHECK_UNFIT)
			ri_text_addf(&line, " is not fit%s", reasons);
		else
			ri_text_addf(&line, " could not start: %s: %s", err->subject, err->text);
		ri_text_addf(&line, " [%s]\n", ri_code_name(err->code));
		if (job->before != NULL)
			ri_link_vote(RI_LINK_START, line.bytes);
		ri_link_say(job, RI_CLASS_OWN, ri_why_of_refusal(ri_code_status(err->code)),
			line.bytes);
	} else {
		if (job->before != NULL && ri_link_decision() == NULL &&
			ri_link_why_not(RI_LINK_START) == NULL)
			tell_unheard(job);
		refuse_step(job, RI_LINK_LEAVE, "had not started its ranks");
	}
	ri_link_finish(FINISH_MS);
}

/* The sender of the stop waits for --grace, as far as we know. */
static int64_t time_to_finish(const struct ri_link_job *job)
{
	uint64_t grace_ms = job->options->grace_ms;
	int64_t left = (int64_t)grace_ms;

	if (job->stop->signal != 0)
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
	bool able = gone && !*job->interrupted && job->stop->signal == 0 &&
		ri_mask_pending_stop() == 0;

	if (job->restarts == 0 || (status == 0 && !*job->ordered))
		return;
	if (able) {
		ri_link_vote(RI_LINK_LEAVE, NULL);
		if (ri_link_await(RI_LINK_LEAVE, FINISH_MS) || ri_mask_pending_stop() == 0)
			return;
	}
	if (ri_mask_pending_stop() != 0)
		ri_link_say_stop(job, ri_mask_pending_stop());
	refuse_step(job, RI_LINK_LEAVE, gone ? stopped : "has a process that its ranks left");
	if (able)
		ri_link_await(RI_LINK_LEAVE, time_to_finish(job) / 2);
}

bool ri_link_conclude(const struct ri_link_job *job, int status, bool gone)
{
	bool judged = ri_link_decision() != NULL;

	if (!ri_link_is_on())
		return judged;
	wait_to_leave(job, status, gone);
	ri_link_finish(time_to_finish(job));
	ri_link_print_found();
	if (!judged && ri_link_decision() != NULL)
		ri_report_job(ri_link_decision()->text);
	return ri_link_decision() != NULL;
}
