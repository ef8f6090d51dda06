/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "from/sources.h"
#include "hang/autopsy.h"
#include "init/leavers.h"
#include "init/others.h"
#include "launch/master.h"
#include "link/link.h"
#include "report/culprit.h"
#include "report/launched.h"
#include "report/members.h"
#include "report/outcome.h"
#include "report/restarts.h"
#include "report/verdict.h"
#include "say/cause.h"
#include "say/report_file.h"
#include "say/two_rankinits.h"
#include "system/clock.h"

/* --- how the ranks ended, of all that PID 1 knows and they wrote -------------- */

static void number_ranks(struct ri_run *run, size_t count)
{
	const struct ri_output_rank *numbers = run->ended.numbers;
	struct ri_rank_outcome *outcomes = run->ended.outcomes;
	uint64_t rank = 0, local_rank = 0;

	ri_topology_get(&run->found.topology, RI_FACT_RANK, &rank);
	ri_topology_get(&run->found.topology, RI_FACT_LOCAL_RANK, &local_rank);
	for (size_t i = 0; i < count; i++) {
		outcomes[i].rank = numbers != NULL ? numbers[i].rank : rank + i;
		outcomes[i].local_rank =
			numbers != NULL ? numbers[i].local_rank : local_rank + i;
	}
}

/* Has the cgroup counted an out-of-memory kill since the ranks began? */
static bool memory_ran_out(struct ri_run *run)
{
	return (ri_children_lost_one(&run->started.children) || run->started.has_others ||
		ri_others_have_ray()) &&
		ri_oom_is_counted(&run->started.oom);
}

/* whole: also what lies in files that may not answer. */
static void fill_outcomes(struct ri_run *run, bool whole)
{
	const struct ri_children *children = &run->started.children;
	const struct ri_supervised *ended = &run->started.supervised;
	bool oom = whole && memory_ran_out(run);

	number_ranks(run, children->count);
	for (size_t i = 0; i < children->count; i++) {
		const struct ri_child *child = &children->items[i];
		struct ri_rank_outcome *rank = &run->ended.outcomes[i];
		struct ri_span file;

		if (i < children->started) {
			ri_failure_describe(child, &run->started.output, i, rank);
			rank->below = run->started.behind ? getpid() : 0;
			rank->oom = oom && rank->end == RI_END_SIGNALED &&
				rank->signal == SIGKILL && !child->killed;
		} else if (i == children->started && children->refused != 0) {
			/* the one that should have been next */
			rank->end = RI_END_EXEC_FAILED;
			rank->started = rank->ended = children->refused_at;
		}
		if (whole)
			rank->wrote.log = ri_output_path(&run->started.output, i);
		if (whole && ri_rank_failed(rank) && ri_torch_files_read(
				&run->started.torch_files, i, rank->ended, ended->stop.signal != 0,
				&file))
			rank->wrote.torch_error = file;
		ri_class_find(rank);
	}
}

/*
 * Sets outcome->first. Returns the child whose status is that of the job, whichever was reaped
 * first; -1: that stays. Where our own stop ended the first one on its way out, its status is lost,
 * and that of the one that we stopped all for is left; so is a launcher's own, which says how it
 * took the end of a rank.
 */
static int32_t find_first(const struct ri_run *run, struct ri_outcome *outcome)
{
	const struct ri_rank_outcome *first;

	if (run->started.children.refused != 0) {
		outcome->first = (ssize_t)run->started.children.started;
		return -1;
	}
	ri_culprit_find(outcome);
	/* where a rank ended of a Ctrl-C the stop came from outside, and no rank failed */
	if (ri_outcome_is_interrupted(outcome)) {
		outcome->first = -1;
		outcome->stop = outcome->interrupt;
	}
	if (outcome->first < 0 || outcome->launched)
		return -1;
	first = &outcome->ranks[outcome->first];
	return first->lingered_s > 0 || (first->told_to_stop && first->end == RI_END_SIGNALED) ? -1
		: (int32_t)outcome->first;
}

/* Why a start failed was an error, and its line is there already. */
static const struct ri_cause *find_cause(const struct ri_run *run,
	const struct ri_outcome *outcome)
{
	static struct ri_cause refusal;
	const struct ri_cause *cause;

	if (run->started.children.refused == 0) {
		cause = ri_cause_find(outcome,
			run->started.supervised.knows_shm ? &run->started.supervised.shm : NULL);
		/* where RANK is set by hand the program misses something else */
		return cause != NULL && cause->code == RI_CODE_RANK_ABSENT &&
				ri_env_get(&run->found.env, cause->subject) != NULL ? NULL : cause;
	}
	refusal = (struct ri_cause){
		.code = run->err.code, .subject = run->err.subject, .text = run->err.text,
		.hint = run->err.hint, .shown = true,
	};
	return &refusal;
}

static struct ri_outcome begin_outcome(const struct ri_run *run)
{
	return (struct ri_outcome){
		.topology = &run->found.topology, .command = run->found.first.argv[0],
		.host = ri_run_host(run),
		.ranks = run->ended.outcomes, .count = ri_run_ranks(run),
		.launch = ri_mode_name(run->found.command.mode == RI_MODE_AUTO ? RI_MODE_PROCESS
									 : run->found.command.mode),
		.first = -1,
		.restarts = run->found.carried != NULL ? &run->found.carried->restarts
			: ri_restarted_seen(),
		.single = ri_found_single_rank(&run->found) >= 0,
		.as_ranks = ri_run_tells_ranks(run),
		.launches = run->started.has_others || ri_others_have_ray(),
		.started = run->started.at,
		.of_hydra = run->started.behind &&
			ri_source_of(run->found.topology.identity)->mpi == RI_SOURCE_MPICH,
		.link.on = run->found.options.link != RI_LINK_MODE_NO &&
			run->started.job.part.job != NULL,
		.stop = run->started.supervised.stop,
		.interrupt = run->started.supervised.interrupt,
	};
}

/* Of what the helper has left, which is not ours to trust; NULL: nothing. */
static const char *first_line(char out[RI_LINK_TEXT], const char from[RI_LINK_TEXT])
{
	memcpy(out, from, RI_LINK_TEXT - 1);
	out[strcspn(out, "\n")] = '\0';
	return out[0] == '\0' ? NULL : out;
}

/* What only the report has: of the other nodes, of what all saw together, and of this node. */
static void add_surroundings(const struct ri_run *run, struct ri_outcome *outcome)
{
	static char said[RI_LINK_TEXT], unproved[RI_LINK_TEXT];
	static struct ri_report_clock clock;
	static struct ri_report_found seen;
	const struct ri_link_noted *noted = ri_link_noted();
	struct timespec found_at;
	const struct ri_link_found *found = ri_link_found(&found_at);

	outcome->link.roll_call = ri_roll_call_said();
	if (noted != NULL) {
		if (outcome->link.roll_call == NULL)
			outcome->link.roll_call = first_line(said, noted->roll_call);
		outcome->link.unproved = first_line(unproved, noted->unproved);
		clock = (struct ri_report_clock){
			.ahead_s = (double)noted->ahead_us / 1e6,
			.error_s = (double)noted->error_us / 1e6,
		};
		outcome->link.clock = noted->compared ? &clock : NULL;
	}
	if (found != NULL) {
		seen = (struct ri_report_found){
			.at = ri_time_us(found_at), .text = found->text, .rank = found->rank,
			.node = found->rank < 0 ? -1 : (int64_t)found->node,
		};
		outcome->link.found = &seen;
	}
	if (run->ended.facts != NULL) {
		outcome->facts.items = run->ended.facts->items;
		outcome->facts.count = run->ended.facts->count;
	}
}

struct ri_outcome ri_judge_none(struct ri_run *run, int status, enum ri_retry retry)
{
	struct ri_outcome outcome;

	clock_gettime(CLOCK_REALTIME, &run->started.at);
	outcome = begin_outcome(run);
	outcome.ended = run->started.at;
	outcome.exit_status = ri_run_status(run, status, retry);
	if (run->found.options.given.report.value != NULL)
		add_surroundings(run, &outcome);
	number_ranks(run, outcome.count);
	return outcome;
}

/* What a launcher wrote to its stderr between these bytes. */
static void take_text(struct ri_run *run, uint64_t from, uint64_t to,
	struct ri_launched_source *source)
{
	struct ri_tail_text text = ri_tail_between(ri_output_tail(&run->started.output, 0), from,
		to);

	source->text = (struct ri_span){ text.bytes, text.length };
	source->cut = text.cut;
}

/*
 * Where a launcher failed because a rank of its did, or a rank did not get to its end, the ranks
 * are what is told of.
 */
static void take_launched(struct ri_run *run, struct ri_outcome *outcome, bool oom)
{
	const struct ri_command *command = &run->found.command;
	const struct ri_rank_outcome *launcher = &run->ended.outcomes[0];
	struct ri_launched_source source = {
		.room = run->ended.words, .started = launcher->started, .ended = launcher->ended,
	};
	static struct ri_actor actor;
	size_t count;

	take_text(run, ri_restarted_begun(), UINT64_MAX, &source);
	source.actor = &actor;
	source.of_ray = (command->script != NULL || command->module != NULL) &&
		ri_others_have_ray();
	source.python = run->started.starter == RI_STARTER_PYTHON;
	source.command = launcher;
	source.later_node = run->found.topology.facts[RI_FACT_NODE_RANK].number > 0;
	source.is_here = ri_is_local_master;
	source.traceback = ri_output_traceback(&run->started.output, 0);
	source.stopped = run->started.supervised.stop.at;
	source.count = ri_others_seen(&source.seen);
	ri_linger_tell(&source);
	/* Ray and Lightning show at the failure */
	if (source.python && ri_rank_failed(launcher) &&
		run->ended.launched == NULL && run->ended.words == NULL) {
		run->ended.launched = ri_pages(RI_LAUNCHED * sizeof(*run->ended.launched));
		source.room = run->ended.words = ri_pages(RI_LAUNCHED_WORDS);
	}
	if (run->ended.launched == NULL || source.room == NULL ||
		(source.held_count == 0 && !ri_rank_failed(launcher)))
		return;
	ri_others_read(&source);
	count = ri_launched_outcomes(&source, run->ended.launched, RI_LAUNCHED);
	if (count == 0)
		return;
	outcome->launched = true;
	outcome->ranks = run->ended.launched;
	outcome->count = count;
	for (size_t i = 0; i < count; i++) {
		struct ri_rank_outcome *rank = &run->ended.launched[i];

		rank->oom = oom && rank->signal == SIGKILL && !rank->told_to_stop;
		ri_class_find(rank);
	}
}

/* *first as find_first has it. */
static struct ri_outcome gather(struct ri_run *run, bool whole, int32_t *first)
{
	static struct ri_reason reason;
	struct ri_outcome outcome = begin_outcome(run);
	struct ri_rank_outcome *command = &run->ended.outcomes[0];

	fill_outcomes(run, whole);
	take_launched(run, &outcome, whole && memory_ran_out(run));
	*first = find_first(run, &outcome);
	outcome.cause = find_cause(run, &outcome);
	/* one command that just failed has said why, and its end is told without that */
	if (run->started.words_alone && !outcome.launches && !outcome.launched) {
		command->wrote.tail = (struct ri_span){ .at = NULL };
		command->traceback_at = (struct timespec){ 0 };
		ri_class_find(command);
	}
	if (outcome.first >= 0) {
		ri_reason_find(&outcome.ranks[outcome.first], &reason);
		outcome.reason = &reason;
	}
	return outcome;
}

/* --- the questions ---------------------------------------------------------- */

static void judge_failure(struct ri_run *run, struct ri_judged *out)
{
	struct ri_outcome outcome;
	int32_t first;

	ri_failure_judge(&run->started.children, &run->started.output,
		run->started.supervised.settle_ms, out);
	if (!ri_link_is_on())
		return;
	outcome = gather(run, false, &first);
	ri_link_judge_end(&run->started.job, &outcome, &out->said);
	if (out->said.kind == RI_LINK_END)
		out->said.end.open = out->open ||
			(out->said.end.verdict.class == RI_CLASS_UNKNOWN && ri_leavers_may_speak(
			&run->started.children, &run->started.output));
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

	/* it has ended then: a word is of a failure alone */
	if (children->count != 1 || !WIFEXITED(children->items[0].wait_status) ||
		!ri_inner_told(&word) ||
		word.exit_status != WEXITSTATUS(children->items[0].wait_status))
		return NULL;
	if (word.of_rank >= 0 && (!ri_topology_get(&run->found.topology, RI_FACT_RANK, &rank) ||
		(uint64_t)word.of_rank != rank))
		return NULL;
	return &word;
}

/* Sets the numbers of *out, of which PID 1 makes the status as this does. */
static bool find_verdict(struct ri_run *run, struct ri_outcome *outcome, struct ri_judged *out)
{
	int status;

	outcome->inner = run->ended.linked ? NULL : find_word(run);
	outcome->silent = outcome->inner != NULL || ri_run_is_told_of(run);
	if (outcome->inner != NULL)
		out->inner_status = (uint32_t)outcome->inner->verdict.status;
	run->ended.inner_status = (int)out->inner_status;
	if (run->ended.linked)
		out->stopped = ri_link_judge(&run->started.job, outcome);
	status = ri_run_status_of(run, out);
	outcome->exit_status = status;
	out->verdict = (struct ri_verdict){ .why = ri_why_unknown, .rank = -1, .node = -1 };
	out->failed = ri_verdict_find(&out->verdict, outcome, status);
	outcome->exit_status = ri_run_status(run, status,
		out->failed ? out->verdict.why.retry : RI_RETRY_SAME);
	/* a stop that --exit-map takes for a success is none to tell of */
	return out->failed && (outcome->first >= 0 || outcome->exit_status != 0);
}

static void judge_end(struct ri_run *run, struct ri_judged *out)
{
	const struct ri_children *children = &run->started.children;
	bool has_others = run->started.job.part.nodes > 1;
	struct ri_outcome outcome;
	int status;

	outcome = gather(run, true, &out->first);
	/* as PID 1 does: of a command alone that no other line is about */
	if (!ri_run_tells_ranks(run) && ri_child_failed(&children->items[0]) &&
		!run->ended.verdict_said && !run->ended.had_link && !outcome.launched &&
		!ri_found_is_of_ours(&run->found))
		ri_obituary_say(&children->items[0], run->found.first.argv[0],
			ri_found_single_rank(&run->found), run->started.behind ? getpid() : 0,
			&run->started.supervised.stop, &run->started.oom);
	if (run->found.options.given.report.value != NULL)
		add_surroundings(run, &outcome);
	outcome.hang.autopsy = ri_autopsy_document();
	outcome.hang.seen = ri_autopsy_of_loss();
	clock_gettime(CLOCK_REALTIME, &outcome.ended);
	if (find_verdict(run, &outcome, out))
		outcome.verdict = &out->verdict;
	if (outcome.verdict != NULL && needs_last_line(run, &outcome)) {
		outcome.last_line = ri_run_make_last_line(run, &out->verdict);
		snprintf(out->last_line, sizeof(out->last_line), "%s", outcome.last_line);
	}
	out->tells = outcome.verdict != NULL &&
		(outcome.last_line != NULL || outcome.inner != NULL);
	status = ri_run_status_of(run, out);
	out->again = has_others ? ri_attempt_follow(run, &outcome, status, out)
		: ri_attempt_decide(run, &outcome, status, out);
	outcome.goes_on = out->again;
	ri_report_say(&outcome, !run->ended.verdict_said);
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

/*
 * How an attempt failed after which a launcher has started its ranks again. Those that were seen
 * before the next one are all that there were of it.
 */
static void find_restart(struct ri_run *run, const struct ri_restarted_attempt *attempt,
	struct ri_restart *restart)
{
	static struct ri_reason reason;
	struct ri_rank_outcome *ranks = run->ended.launched;
	struct ri_launched_source source = { .count = attempt->at, .room = run->ended.words };
	struct ri_outcome outcome = { .ranks = ranks, .launched = true, .reason = &reason };

	if (ranks == NULL || source.room == NULL)
		return;
	take_text(run, attempt->from, attempt->to, &source);
	ri_others_seen(&source.seen);
	ri_others_read(&source);
	outcome.count = ri_launched_outcomes(&source, ranks, RI_LAUNCHED);
	for (size_t i = 0; i < outcome.count; i++)
		ri_class_find(&ranks[i]);
	ri_culprit_find(&outcome);
	if (outcome.first >= 0)
		ri_reason_find(&ranks[outcome.first], &reason);
	ri_restart_describe(restart, &outcome);
}

/* Print a line on each that has none yet, and keep it. Sets .restarts. */
static void judge_restarts(struct ri_run *run, struct ri_judged *out)
{
	const struct ri_restarted_attempt *attempts;
	const struct ri_launched *seen;
	struct ri_restarts *all;
	size_t count = ri_restarted_waiting(&attempts, &all), ranks = ri_others_seen(&seen);

	for (size_t i = 0; i < count && attempts[i].at < ranks; i++) {
		const struct ri_launched *first = &seen[attempts[i].at];
		struct ri_restart restart = {
			.number = (uint64_t)first->restarts, .most = (uint64_t)first->most_restarts,
			.at = first->started,
		};
		RI_TEXT(text, RI_MAX_LINE);

		find_restart(run, &attempts[i], &restart);
		all->all = attempts[i].restarts;
		/* by its number: a judge before this one may have been ended here */
		if (attempts[i].number < RI_RESTARTS) {
			all->items[attempts[i].number] = restart;
			all->count = attempts[i].number + 1;
		}
		ri_restart_add(&text, all, &restart);
		ri_log(RI_LEVEL_ALWAYS, "%s", text.bytes);
		out->restarts++;
	}
}

void ri_judge_answer(enum ri_question question, struct ri_judged *out, void *run)
{
	struct ri_run *all = run;

	static void (*const judges[RI_ASK_NOTHING])(struct ri_run *run, struct ri_judged *out) = {
		[RI_ASK_FAILED] = judge_failure, [RI_ASK_RESTARTED] = judge_restarts,
		[RI_ASK_ENDED] = judge_end,
	};

	/* this process has a copy: of a judge before it the kernel counted that, not of a rank */
	all->started.oom.kills += ri_judge_killed();
	judges[question](all, out);
}
