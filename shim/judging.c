/* SPDX-License-Identifier: Apache-2.0 */
#include "judging.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "attempt.h"
#include "ends.h"
#include "judge/other_nodes.h"
#include "judge/launcher_restarts.h"
#include "judge/first_failure.h"
#include "link/link.h"
#include "report/brief.h"
#include "say/report_file.h"
#include "say/two_rankinits.h"

static void judge_failure(struct ri_run *run, struct ri_judged *out)
{
	struct ri_outcome outcome;

	ri_settle_judge(&run->started.children, &run->started.output,
		run->started.supervised.settle_ms, out);
	if (!ri_link_is_on())
		return;
	outcome = ri_ends_so_far(run);
	ri_link_judge_end(&run->started.job, &outcome, &out->said);
}

/*
 * Of one command that just failed there is none, as there is no verdict, but where its status is
 * shown by nothing else, or what becomes of it is said all the same.
 */
static bool needs_last_line(const struct ri_run *run, const struct ri_outcome *outcome)
{
	enum ri_rank_end end = outcome->ranks[0].end;

	return ri_run_has_last_line(run) && !outcome->silent &&
		(ri_report_says_more(outcome) || outcome->link.on ||
		run->found.options.exit_class || run->found.options.given.report.value != NULL ||
		run->found.options.restarts > 0 ||
		(outcome->first < 0 && (outcome->single || outcome->launches)) ||
		end == RI_END_SIGNALED || end == RI_END_EXEC_FAILED);
}

/*
 * The word of an inner rankinit that the only command here was, or ran: that it ended with the same
 * status proves that no other failure came after it. One rank of several tells nothing of a job.
 */
static struct ri_inner_word *find_word(const struct ri_run *run)
{
	const struct ri_children *children = &run->started.children;
	static struct ri_inner_word word;
	uint64_t rank;

	if (children->count != 1 || children->refused != 0 || children->items[0].lives ||
		!WIFEXITED(children->items[0].wait_status) || !ri_inner_told(&word) ||
		word.exit_status != WEXITSTATUS(children->items[0].wait_status))
		return NULL;
	if (word.of_rank >= 0 && (!ri_topology_get(&run->found.topology, RI_FACT_RANK, &rank) ||
		(uint64_t)word.of_rank != rank))
		return NULL;
	return &word;
}

/* As PID 1 does: of a command alone that no other line is about. */
static void say_obituary(struct ri_run *run)
{
	const struct ri_children *children = &run->started.children;

	if (children->count == 1 && ri_child_failed(&children->items[0]) && !run->ended.told &&
		!ri_found_is_of_ours(&run->found) && run->started.job.part.job == NULL)
		ri_verdict_obituary(&children->items[0], run->found.first.argv[0],
			ri_found_single_rank(&run->found), &run->started.supervised.stop,
			&run->started.oom);
}

/* Sets the numbers of *out, of which PID 1 makes the status as this does. */
static bool find_brief(struct ri_run *run, struct ri_outcome *outcome, struct ri_brief *brief,
	struct ri_judged *out)
{
	int status;

	outcome->inner = run->ended.linked ? NULL : find_word(run);
	outcome->silent = outcome->inner != NULL || ri_run_is_told_of(run);
	if (outcome->inner != NULL)
		out->inner_status = (uint32_t)outcome->inner->status;
	run->ended.inner_status = (int)out->inner_status;
	if (run->ended.linked)
		out->stopped = ri_link_judge(&run->started.job, outcome);
	status = ri_run_status_of(run, out);
	outcome->exit_status = status;
	out->failed = ri_brief_find(brief, outcome, status);
	outcome->exit_status = ri_run_status(run, status,
		out->failed ? brief->why.retry : RI_RETRY_SAME);
	out->why = brief->why;
	out->class = brief->class;
	out->rank = brief->rank;
	/* a stop that --exit-map takes for a success is none to tell of */
	return out->failed && (outcome->first >= 0 || outcome->exit_status != 0);
}

static void judge_end(struct ri_run *run, struct ri_judged *out)
{
	bool has_others = run->started.job.part.nodes > 1;
	struct ri_outcome outcome;
	struct ri_brief brief = { .why = ri_why_unknown, .rank = -1 };
	int status;

	say_obituary(run);
	outcome = ri_ends_gather(run, &out->first);
	if (find_brief(run, &outcome, &brief, out))
		outcome.brief = &brief;
	if (outcome.brief != NULL && needs_last_line(run, &outcome)) {
		outcome.last_line = ri_run_make_last_line(&brief);
		snprintf(out->last_line, sizeof(out->last_line), "%s", outcome.last_line);
	}
	out->tells = outcome.brief != NULL && (outcome.last_line != NULL || outcome.inner != NULL);
	status = ri_run_status_of(run, out);
	out->again = has_others ? ri_attempt_follow(run, &outcome, status, out)
		: ri_attempt_decide(run, &outcome, status, out);
	outcome.goes_on = out->again;
	ri_report_say(&outcome, !run->ended.told);
	if (!out->again && has_others && outcome.exit_status != 0)
		ri_link_say_why_not(&run->started.job);
	if (!out->again && !outcome.silent)
		ri_attempt_say_why_not();
	/*
	 * Of one command no line of ours has come since, and what it wrote last to the stderr that
	 * it shares with us may have no end, as a bar of progress: a reader of lines would not find
	 * ours.
	 */
	out->follows = outcome.last_line != NULL && !run->started.output.active &&
		outcome.first < 0 && outcome.count == 1 && outcome.ranks[0].end == RI_END_EXITED;
	out->stage = RI_JUDGED_SAID;
	ri_report_leave(&outcome, run->checked.ran ? &run->checked : NULL);
}

void ri_judge_answer(enum ri_question question, struct ri_judged *out, void *run)
{
	struct ri_run *job = run;
	const struct ri_restarts_room room = { job->ended.launched, job->ended.words };

	switch (question) {
	case RI_ASK_FAILED:
		judge_failure(job, out);
		break;
	case RI_ASK_RESTARTED:
		ri_restarts_judge(&room, &job->started.output, out);
		break;
	case RI_ASK_ENDED:
		judge_end(job, out);
		break;
	case RI_ASK_NOTHING:
		break;
	}
}
