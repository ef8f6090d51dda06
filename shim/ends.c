/* SPDX-License-Identifier: Apache-2.0 */
#include "ends.h"

#include <signal.h>
#include <string.h>

#include "base/arena.h"
#include "hang/autopsy.h"
#include "init/linger.h"
#include "init/others.h"
#include "init/restarted.h"
#include "judge/first_failure.h"
#include "launch/master.h"
#include "link/link.h"
#include "report/actor.h"
#include "report/blame.h"
#include "report/class.h"
#include "report/launched.h"
#include "report/reason.h"
#include "say/cause.h"
#include "system/clock.h"

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
		ri_verdict_is_oom(&run->started.oom);
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
			ri_settle_describe(child, &run->started.output, i, rank);
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
				&run->started.torch_files, i, rank->ended, ended->stop.asked,
				&file))
			rank->wrote.torch_error = file;
		ri_class_find(rank);
	}
}

/* Where a rank ended of a Ctrl-C the stop came from outside, and no rank failed. */
static void find_interrupt(const struct ri_run *run, struct ri_outcome *outcome)
{
	const struct ri_interrupt *interrupt = &run->started.supervised.interrupt;

	outcome->interrupt = *interrupt;
	if (!ri_outcome_is_interrupted(outcome))
		return;
	outcome->first = -1;
	outcome->stop = (struct ri_outside_stop){
		.signal = interrupt->signal, .sender = interrupt->sender,
		.by_terminal = interrupt->by_terminal,
	};
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
	ri_blame_find(outcome);
	find_interrupt(run, outcome);
	if (outcome->first < 0 || outcome->launched)
		return -1;
	first = &outcome->ranks[outcome->first];
	return first->lingered_s > 0 || (first->told && first->end == RI_END_SIGNALED) ? -1
		: (int32_t)outcome->first;
}

/* Why a start failed was an error, and its line is there already. */
static const struct ri_cause *find_cause(const struct ri_run *run,
	const struct ri_outcome *outcome)
{
	static struct ri_cause refusal = { .shown = true };

	const struct ri_cause *cause;

	if (run->started.children.refused == 0) {
		cause = ri_cause_find(outcome,
			run->started.supervised.knows_shm ? &run->started.supervised.shm : NULL);
		/* where RANK is set by hand the program misses something else */
		return cause != NULL && cause->code == RI_CODE_RANK_ABSENT &&
				ri_env_get(&run->found.env, cause->subject) != NULL ? NULL : cause;
	}
	refusal.code = run->err.code;
	refusal.subject = run->err.subject;
	refusal.text = run->err.text;
	refusal.hint = run->err.hint;
	return &refusal;
}

static struct timespec time_of(int64_t at_ms)
{
	int64_t ago_ms = ri_now_ms() - at_ms;
	struct timespec at;

	clock_gettime(CLOCK_REALTIME, &at);
	at.tv_sec -= ago_ms / 1000;
	at.tv_nsec -= ago_ms % 1000 * 1000000;
	if (at.tv_nsec < 0) {
		at.tv_sec--;
		at.tv_nsec += 1000000000;
	}
	return at;
}

static struct ri_outcome begin_outcome(const struct ri_run *run)
{
	const struct ri_stop *stop = &run->started.supervised.stop;

	return (struct ri_outcome){
		.topology = &run->found.topology, .command = run->found.first.argv[0],
		.host = ri_run_host(run),
		.ranks = run->ended.outcomes, .count = ri_run_ranks(run),
		.launch = ri_mode_name(run->found.command.mode == RI_MODE_AUTO ? RI_MODE_PROCESS
									 : run->found.command.mode),
		.first = -1, .link.verdict_node = -1,
		.restarts = run->found.carried != NULL ? &run->found.carried->restarts
			: ri_restarted_seen(),
		.single = ri_found_single_rank(&run->found) >= 0,
		.launches = run->started.has_others || ri_others_have_ray(),
		.started = run->started.at,
		.link.on = run->found.options.link != RI_LINK_MODE_NO &&
			run->started.job.part.job != NULL,
		.stop.signal = stop->asked ? stop->number : 0, .stop.sender = stop->sender,
		.stop.by_terminal = stop->by_terminal,
		.stop.at = stop->asked ? time_of(stop->at_ms) : (struct timespec){ 0 },
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
	const struct ri_link_sight *sight = ri_link_sight();
	const struct ri_link_found *found = ri_link_found(&outcome->link.found_at);

	outcome->link.roll_call = ri_roll_call_said();
	if (sight != NULL) {
		if (outcome->link.roll_call == NULL)
			outcome->link.roll_call = first_line(said, sight->roll_call);
		outcome->link.unproved = first_line(unproved, sight->unproved);
		outcome->link.compared = sight->compared;
		outcome->link.ahead_s = (double)sight->ahead_us / 1e6;
		outcome->link.error_s = (double)sight->error_us / 1e6;
	}
	if (found != NULL) {
		outcome->link.found = found->text;
		outcome->link.found_rank = found->rank;
		outcome->link.found_node = (int64_t)found->node;
	}
	if (run->ended.facts != NULL) {
		outcome->facts.items = run->ended.facts->items;
		outcome->facts.count = run->ended.facts->count;
	}
}

struct ri_outcome ri_ends_of_none(struct ri_run *run, int status, enum ri_retry retry)
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

/*
 * Where a launcher failed because a rank of its did, or a rank did not get to its end, the ranks
 * are what is told of.
 */
static void take_launched(struct ri_run *run, struct ri_outcome *outcome, bool oom)
{
	const struct ri_stop *stop = &run->started.supervised.stop;
	const struct ri_command *command = &run->found.command;
	const struct ri_rank_outcome *launcher = &run->ended.outcomes[0];
	struct ri_tail_text text = ri_tail_between(ri_output_tail(&run->started.output, 0),
		ri_restarted_begun(), UINT64_MAX);
	struct ri_launched_source source = {
		.text = { text.bytes, text.length }, .cut = text.cut,
		.room = run->ended.words, .started = launcher->started, .ended = launcher->ended,
	};
	static struct ri_actor actor;
	size_t count;

	source.actor = &actor;
	source.of_ray = (command->script != NULL || command->module != NULL) &&
		ri_others_have_ray();
	source.rays_alone = run->started.starter == RI_STARTER_PYTHON;
	source.is_here = ri_is_local_master;
	source.traceback = ri_output_traceback(&run->started.output, 0);
	if (stop->asked)
		source.stopped = time_of(stop->at_ms);
	source.count = ri_others_seen(&source.seen);
	ri_linger_tell(&source);
	/* Ray shows at the failure */
	if (source.rays_alone && ri_rank_failed(launcher) &&
		run->ended.launched == NULL && run->ended.words == NULL) {
		run->ended.launched = ri_pages(RI_LAUNCHED * sizeof(*run->ended.launched));
		source.room = run->ended.words = ri_pages(RI_LAUNCHED_WORDS);
	}
	if (run->ended.launched == NULL || source.room == NULL ||
		(source.held_count == 0 && !ri_rank_failed(launcher)))
		return;
	source.error_count = ri_others_errors(&source.errors);
	count = ri_launched_outcomes(&source, run->ended.launched, RI_LAUNCHED);
	if (count == 0)
		return;
	outcome->launched = true;
	outcome->ranks = run->ended.launched;
	outcome->count = count;
	for (size_t i = 0; i < count; i++) {
		struct ri_rank_outcome *rank = &run->ended.launched[i];

		rank->oom = oom && rank->signal == SIGKILL && !rank->told;
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
	/* one command that just failed has said why: its end is told as if nobody had read that */
	if (run->started.words_alone && !outcome.launches && !outcome.launched) {
		command->wrote.tail = (struct ri_span){ .at = NULL };
		command->traceback_at = (struct timespec){ 0 };
		ri_class_find(command);
	}
	/* found once: for the other nodes, and for what is told at the end */
	if (outcome.first >= 0) {
		ri_reason_find(&outcome.ranks[outcome.first], &reason);
		outcome.reason = &reason;
	}
	return outcome;
}

struct ri_outcome ri_ends_so_far(struct ri_run *run)
{
	int32_t first;

	return gather(run, false, &first);
}

struct ri_outcome ri_ends_gather(struct ri_run *run, int32_t *first)
{
	struct ri_outcome outcome = gather(run, true, first);

	if (run->found.options.given.report.value != NULL)
		add_surroundings(run, &outcome);
	outcome.hang.autopsy = ri_autopsy_document();
	outcome.hang.seen = ri_autopsy_of_loss();
	clock_gettime(CLOCK_REALTIME, &outcome.ended);
	return outcome;
}
