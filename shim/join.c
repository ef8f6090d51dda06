/* SPDX-License-Identifier: Apache-2.0 */
/* This node as one of its job's: --link, and what the others are told. */
#include "run.h"

#include "base/signals.h"
#include "check/print.h"
#include "link/link.h"
#include "report/class.h"
#include "report/verdict.h"
#include "say/report_file.h"
#include "system/apart.h"
#include "system/clock.h"
#include "watch/first_failure.h"

enum {
	FINISH_MS = 5000,	/* as long as the helper takes at most */
};

/* Before the link begins: without it no name is asked for. */
int ri_run_join(struct ri_run *run)
{
	const struct ri_options *options = &run->found.options;

	run->started.job = (struct ri_link_job){
		.options = options, .topology = &run->found.topology,
		.context = &run->found.source.context,
		.host = options->link == RI_LINK_MODE_NO ? NULL : ri_run_host(run),
		.children = &run->started.children, .stop = &run->started.supervised.stop,
	};
	return ri_link_join(&run->started.job, &run->err);
}

/* "node 1 (gpu-0514)" */
static void add_node(struct ri_text *out, struct ri_run *run)
{
	const char *name = run->started.job.host;

	ri_text_addf(out, "node %llu", (unsigned long long)run->started.job.part.node);
	if (name != NULL) {
		ri_text_add(out, " (");
		ri_text_add_shown(out, name, RI_LINK_WORD);
		ri_text_add(out, ")");
	}
}

/* first: the rank that it is about; NULL: it is about the node, just now. */
static void say_end(struct ri_run *run, enum ri_link_class class,
	const struct ri_rank_outcome *first, const char *lines)
{
	static struct ri_link_end end;
	struct timespec at;

	ri_clock_read(CLOCK_REALTIME, &at);
	if (first != NULL)
		at = ri_moment_find(first).at;
	end = (struct ri_link_end){ .class = class, .fatal = run->started.job.part.may_stop,
		.lives = first != NULL && first->leaving,
		.at_us = (uint64_t)at.tv_sec * 1000000 + (uint64_t)at.tv_nsec / 1000 };
	ri_link_text_set(end.text, lines);
	ri_link_end(&end);
}

static void say_stop(struct ri_run *run, int number)
{
	char line[RI_MAX_LINE], name[RI_SIGNAL_NAME];
	struct ri_text out;

	ri_text_init(&out, line, sizeof(line));
	add_node(&out, run);
	ri_text_addf(&out, " was stopped from outside by %s\n", ri_signal_name(number, name));
	say_end(run, RI_LINK_STOPPED, NULL, line);
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

/* From outside; not where that came for a failure, or after it. */
static bool is_stopped(const struct ri_outcome *outcome)
{
	return outcome->stop.signal != 0 &&
		(outcome->first < 0 || class_of(outcome) == RI_LINK_LOSS);
}

static void say_failure(struct ri_run *run)
{
	static char lines[RI_VERDICT_SIZE];
	struct ri_outcome outcome = ri_ends_so_far(run);
	const struct ri_rank_outcome *first;
	struct ri_text out;

	if (is_stopped(&outcome)) {
		say_stop(run, outcome.stop.signal);
		return;
	}
	if (outcome.first < 0) {
		if (run->started.children.living == 0)
			say_end(run, RI_LINK_DONE, NULL, "");
		return;
	}
	first = &outcome.ranks[outcome.first];
	ri_text_init(&out, lines, sizeof(lines));
	ri_verdict_render_job(&outcome, outcome.reason, &out);
	say_end(run, class_of(&outcome), first, lines);
}

/*
 * The verdict is no order, and the ranks of this node run on: say why. A stop is no failure, and
 * mostly comes to all nodes.
 */
static void say_why_we_go_on(struct ri_run *run, const struct ri_link_verdict *verdict)
{
	const char *why;

	if (verdict->order || verdict->class == RI_LINK_STOPPED ||
		run->started.children.living == 0 || run->started.supervised.stop.asked ||
		(verdict->named && verdict->node == run->started.job.part.node))
		return;
	if (run->found.options.link == RI_LINK_MODE_TELL)
		why = "with --link=tell rankinit stops none";
	else if (!run->started.job.part.may_stop)
		why = "rankinit stops those that it starts with --nproc-per-node, those of a "
			"torchrun without restarts, and the only task of a step on its node";
	else if (!run->started.job.part.apart)
		why = "another job on the same host may have the name of this one";
	else
		why = "rankinit stops only for a failure that ends the job, and only nodes that "
			"came before it";
	ri_log(RI_LEVEL_ALWAYS, "  the ranks of this node run on: %s", why);
}

void ri_run_tidings(void *context, enum ri_tiding tiding)
{
	struct ri_run *run = context;

	switch (tiding) {
	case RI_TIDING_FAILED:
		if (!run->started.supervised.ordered)
			say_failure(run);
		break;
	case RI_TIDING_STOPPED:
	case RI_TIDING_ASKED:
		say_failure(run);
		break;
	case RI_TIDING_JUDGED:
		ri_report_job(ri_link_verdict()->text);
		say_why_we_go_on(run, ri_link_verdict());
		break;
	}
}

void ri_run_refused(struct ri_run *run)
{
	char line[RI_MAX_LINE], reasons[RI_CHECK_REASONS];
	struct ri_text out;

	if (!ri_link_is_on())
		return;
	if (ri_apart_stop() != 0) {
		say_stop(run, ri_apart_stop());
	} else if (run->err.code != RI_CODE_LINK_STOPPED) {
		ri_text_init(&out, line, sizeof(line));
		add_node(&out, run);
		if (run->err.code == RI_CODE_CHECK_UNFIT)
			ri_text_addf(&out, " is not fit%s",
				ri_check_reasons(&run->checked, reasons));
		else
			ri_text_addf(&out, " could not start: %s: %s", run->err.subject,
				run->err.text);
		ri_text_addf(&out, " [%s]\n", ri_code_name(run->err.code));
		say_end(run, RI_LINK_OWN, NULL, line);
	}
	ri_link_finish(FINISH_MS);
}

int ri_run_hear(struct ri_run *run)
{
	const struct ri_link_verdict *verdict;

	if (!ri_link_hear())
		return 0;
	verdict = ri_link_verdict();
	ri_report_job(verdict->text);
	if (!verdict->order)
		return 0;
	ri_fail(&run->err, RI_CODE_LINK_STOPPED, "--link", "the job has failed before the ranks of "
		"this node were started");
	return ri_fail_hint(&run->err, "look at the lines above: another node is the cause");
}

/* The sender of the stop waits for --grace, as far as we know. */
static int64_t time_to_finish(const struct ri_run *run)
{
	const struct ri_stop *stop = &run->started.supervised.stop;
	int64_t left = stop->at_ms + (int64_t)run->found.options.grace_ms - ri_now_ms();

	if (!stop->asked || run->found.options.grace_ms == 0 || left > FINISH_MS)
		return FINISH_MS;
	return left < 0 ? 0 : left;
}

bool ri_run_conclude(struct ri_run *run, int status)
{
	bool judged = ri_link_verdict() != NULL;

	if (!ri_link_is_on())
		return judged;
	if (!run->started.supervised.ordered) {
		if (status == 0 && run->started.supervised.stop.asked)
			say_stop(run, run->started.supervised.stop.number);
		else
			say_failure(run);
	}
	ri_link_finish(time_to_finish(run));
	if (!judged && ri_link_verdict() != NULL)
		ri_report_job(ri_link_verdict()->text);
	return ri_link_verdict() != NULL;
}

int ri_run_judged(struct ri_run *run, struct ri_outcome *outcome, int status)
{
	const struct ri_link_verdict *verdict = ri_link_verdict();

	outcome->link.verdict = verdict->text;
	outcome->link.verdict_node = verdict->named ? (int64_t)verdict->node : -1;
	outcome->link.verdict_is_here = verdict->named && outcome->first >= 0 &&
		verdict->node == run->started.job.part.node;
	/* what ended here of itself, or well, before anything was stopped keeps its own status, */
	if (!run->started.supervised.ordered && (!verdict->order || outcome->link.verdict_is_here ||
		run->started.supervised.stop.asked || outcome->first < 0 ||
		class_of(outcome) != RI_LINK_LOSS))
		return status;
	/* and so does a loss where no node is named: some node has to say that the job failed */
	if (!run->started.supervised.ordered && !verdict->named)
		return status;
	return ri_code_status(RI_CODE_LINK_STOPPED);
}
