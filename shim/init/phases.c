/* SPDX-License-Identifier: Apache-2.0 */
#include "init/supervise.h"

#include <signal.h>

#include "hang/autopsy.h"
#include "hang/course.h"
#include "init/leavers.h"
#include "init/signalling.h"
#include "link/link.h"
#include "say/state_file.h"
#include "system/clock.h"

enum {
	GRACE_AFTER_END_MS = 10000,	/* for what a command left, without --grace */
	SETTLE_MS = 2000,		/* for a rank that another one lost to end, too */
	GRACE_AFTER_FAILURE_MS = 30000,	/* for the ranks beside one that failed */
	GIVE_UP_MS = 2000,		/* between SIGKILL and naming the processes that stay */
	KILL_AGAIN_MS = 100,		/* for what was forked under the SIGKILLs */
	LOOK_MS = 500,			/* that a stop waits for a look at a silent job */
	LOOK_AGAIN_MS = 1000,		/* and for a second one at a rank with an exception */
	SAY_AFTER_MS = 1000,		/* a wait longer than this is said */
	SPOKE_MS = 60000,		/* a rank that is at work says so about as often */
	SAY_ASKED_MS = 5000,		/* and one for a shell that waits for what it runs */
};

/* --- what the other nodes hear --- */

static bool only_lost;	/* what failed had lost another rank, as the last judge had it */

static bool has_failed(const struct ri_children *children)
{
	for (size_t i = 0; i < children->started; i++)
		if (ri_child_failed(&children->items[i]) || children->items[i].leaving)
			return true;
	return children->refused != 0;
}

bool ri_nodes_have_news(const struct ri_link_job *job)
{
	return has_failed(job->children) && ri_judge_is_news(RI_ASK_FAILED);
}

void ri_nodes_tell_judged(const struct ri_link_job *job, const struct ri_judged *answer)
{
	const struct ri_child *first;
	RI_TEXT(line, RI_MAX_LINE);

	if (!ri_link_is_on())
		return;
	only_lost = answer != NULL && answer->lost;
	first = ri_children_first_of(job->children);
	if (answer != NULL && answer->said.kind == RI_LINK_END)
		ri_link_end(&answer->said.end);
	if (answer != NULL || (first == NULL && job->children->refused == 0))
		return;
	ri_link_add_node(&line, job->part.node, job->host);
	ri_text_add(&line, " failed: ");
	if (first != NULL)
		ri_child_add_end(&line, job->children, first);
	else
		ri_text_add(&line, "not all of its ranks could be started");
	ri_text_add(&line, "\n");
	ri_link_say(job, RI_CLASS_UNKNOWN, ri_why_unknown, line.bytes);
}

void ri_nodes_tell(const struct ri_link_job *job)
{
	bool failed;

	if (!ri_link_is_on())
		return;
	failed = has_failed(job->children);
	/* from outside; not where that came for a failure, or after it */
	if (job->stop->signal != 0 && (only_lost || !failed))
		ri_link_say_stop(job, job->stop->signal);
	else if (failed && ri_judge_is_news(RI_ASK_FAILED) && !ri_judge_ask(RI_ASK_FAILED))
		ri_nodes_tell_judged(job, NULL);
	else if (!failed && job->children->living == 0)
		ri_link_say(job, RI_CLASS_NONE, ri_why_unknown, "");
}

void ri_nodes_tell_last(const struct ri_link_job *job, int status)
{
	const char *why;

	if (!ri_link_is_on() || *job->ordered)
		return;
	if (status == 0 && job->stop->signal != 0)
		ri_link_say_stop(job, job->stop->signal);
	else if (!has_failed(job->children))
		ri_nodes_tell(job);
	else if (ri_judge_is_news(RI_ASK_FAILED))
		ri_nodes_tell_judged(job, ri_judge_wait(RI_ASK_FAILED, NULL, &why));
}

/* --- what is done in each phase --- */

/* The reaction to an event in a phase; NULL: there is none. */
typedef void (*reaction)(struct ri_supervisor *sv);

/* Every child gets its SIGTERM, as --signal-map has it. */
static void tell_children(struct ri_supervisor *sv)
{
	int number = sv->options->signal_map.to[SIGTERM];

	if (sv->group_has_stop && number == SIGTERM)
		number = 0;
	sv->phase = RI_PHASE_TOLD;
	ri_linger_end();
	ri_leavers_prepare_stop(sv->children, sv->output, number);
	ri_spare_children(sv->children, ri_phase_to_groups(sv));
	if (number != 0)
		ri_signal_children(sv->children, number, ri_phase_to_groups(sv));
	for (size_t i = 0; i < sv->children->started; i++) {
		struct ri_child *child = &sv->children->items[i];

		child->told_to_stop = child->lives;
		child->spoke = child->lives &&
			ri_output_is_heard(sv->output, i, ri_now_ms() - SPOKE_MS);
		if (child->lives)
			ri_signal_wake(child->pid);
	}
	if (sv->options->signal_group)
		ri_signal_recheck();
}

/* The command has the first half of the time for itself. */
void ri_phase_begin_end(struct ri_supervisor *sv, int64_t at, uint64_t limit)
{
	/* a probe is not to end what may start again */
	if (!sv->output->again)
		ri_state_stop();
	sv->begun = at;
	sv->limit = (int64_t)limit;
	sv->deadline = limit > 0 ? at + sv->limit / 2 : 0;
	sv->tick = limit > 0 ? 0 : at + SAY_ASKED_MS;
}

static void ask_command(struct ri_supervisor *sv)
{
	ri_phase_begin_end(sv, sv->result->stop.at_ms, sv->options->grace_ms);
	tell_children(sv);
}

/*
 * A job that hangs ends by a stop, so this is the last time to see what it does; and so ends a rank
 * that had raised an exception, and did not get to its end.
 */
static void look_or_ask(struct ri_supervisor *sv)
{
	bool looks = !sv->is_killed_soon && (sv->silent || ri_autopsy_is_together()) &&
		ri_autopsy_ask(RI_AUTOPSY_STOP);

	if (sv->is_killed_soon || (!ri_linger_ask(sv->children) && !looks)) {
		ask_command(sv);
		return;
	}
	sv->phase = RI_PHASE_LOOKING;
	sv->deadline = ri_now_ms() + LOOK_MS;
}

/* The time is over. What was found needs a second look, a second later; once. */
static void look_again_or_ask(struct ri_supervisor *sv)
{
	if (!ri_course_looks_again() || sv->looked_again) {
		ask_command(sv);
		return;
	}
	sv->looked_again = true;
	sv->deadline = ri_now_ms() + LOOK_AGAIN_MS;
}

static void say_shell(struct ri_supervisor *sv)
{
	ri_leftovers_say_shell(sv->children);
}

/* The end comes from inside, so no orchestrator has a deadline for it. */
static void begin_own_end(struct ri_supervisor *sv, int64_t at, uint64_t usual)
{
	ri_phase_begin_end(sv, at, sv->options->grace_ms > 0 ? sv->options->grace_ms : usual);
}

/* Of what ended here; not of what was stopped for another node's failure. */
static void tell_others(const struct ri_supervisor *sv)
{
	if (!sv->result->ordered)
		ri_nodes_tell(sv->job);
}

static void stop_others(struct ri_supervisor *sv)
{
	ri_leavers_look(sv->children, true);
	sv->deadline = sv->limit > 0 ? sv->begun + sv->limit / 2 : 0;
	tell_children(sv);
	tell_others(sv);
}

/* What it waits for may be the others, and what they wait for it. */
static void end_lingerer(struct ri_supervisor *sv)
{
	begin_own_end(sv, ri_now_ms(), GRACE_AFTER_FAILURE_MS);
	stop_others(sv);
}

/* Is one on its way out of an exception, or may it be? */
static bool has_leavers(struct ri_supervisor *sv)
{
	return ri_leavers_find(sv->children, sv->output) || ri_course_is_asked();
}

/* Healthy ranks, which may be writing a checkpoint. */
static void obey(struct ri_supervisor *sv)
{
	sv->result->ordered = true;
	ri_phase_begin_end(sv, ri_now_ms(), sv->options->link_grace_ms);
	tell_children(sv);
}

/*
 * A rank that has raised an exception writes no checkpoint: its node ends of that, in the time that
 * it would have to stop.
 */
static void spare_or_obey(struct ri_supervisor *sv)
{
	if (!has_leavers(sv)) {
		obey(sv);
		return;
	}
	ri_phase_begin_end(sv, ri_now_ms(), sv->options->link_grace_ms);
	sv->phase = RI_PHASE_SPARED;
	sv->deadline = sv->limit > 0 ? sv->begun + sv->limit : 0;
}

/* It was no exception that leaves the program. */
static void obey_without_leavers(struct ri_supervisor *sv)
{
	if (!has_leavers(sv))
		obey(sv);
}

static void stop_without_leavers(struct ri_supervisor *sv)
{
	if (!has_leavers(sv))
		stop_others(sv);
}

/* Without a judge no more is known than that it failed. */
static void ask_judge(struct ri_supervisor *sv)
{
	if (!ri_judge_ask(RI_ASK_FAILED))
		stop_others(sv);
}

/*
 * Where a rank only lost another one, that one gets a moment to end as well; so does one that has
 * printed an exception, and may be ending of it. The judge knows.
 */
static void take_failure(struct ri_supervisor *sv)
{
	int64_t most;

	begin_own_end(sv, ri_now_ms(), GRACE_AFTER_FAILURE_MS);
	/* a quarter of the time at most: the others need the rest for themselves */
	most = sv->limit / 4 < SETTLE_MS ? sv->limit / 4 : SETTLE_MS;
	sv->result->settle_ms = most;
	if (most == 0) {
		stop_others(sv);
		return;
	}
	sv->phase = RI_PHASE_SETTLING;
	sv->deadline = sv->begun + most;
	ask_judge(sv);
}

/* An answer that is old, or that waits for a look, is one to wait with. */
static void take_answer(struct ri_supervisor *sv)
{
	const struct ri_judged *answer = sv->judged;

	if (answer == NULL || (!answer->open && !ri_judge_is_old(answer))) {
		stop_others(sv);
		return;
	}
	if (!answer->open) {
		ask_judge(sv);
		return;
	}
	if (sv->lost_peer)
		return;
	sv->lost_peer = true;
	ri_autopsy_ask(RI_AUTOPSY_LOSS);
	/* the rank that it waited for may be on any node */
	if (answer->timed_out)
		ri_link_look(true);
}

/*
 * What the command was told it passes on; not what --signal-map keeps from it. If the command is
 * gone while we sweep, what it left is told, and the deadline stays.
 */
static void stop_rest(struct ri_supervisor *sv)
{
	ri_leftovers_stop(sv->children->living > 0, sv->options->signal_map.to[SIGTERM] != 0);
}

static void sweep(struct ri_supervisor *sv)
{
	sv->phase = RI_PHASE_SWEEPING;
	sv->tick = ri_now_ms() + SAY_AFTER_MS;
	sv->deadline = sv->limit > 0 ? sv->begun + sv->limit : 0;
	stop_rest(sv);
}

static void sweep_after_end(struct ri_supervisor *sv)
{
	begin_own_end(sv, ri_now_ms(), GRACE_AFTER_END_MS);
	tell_others(sv);
	sweep(sv);
}

/* It ended while it was looked at, before it was told. */
static void sweep_after_stop(struct ri_supervisor *sv)
{
	begin_own_end(sv, sv->result->stop.at_ms, GRACE_AFTER_END_MS);
	sweep(sv);
}

static void say_who_stays(struct ri_supervisor *sv)
{
	sv->tick = 0;
	ri_leftovers_say(RI_LEVEL_WARNING, "waiting for processes that still run");
}

void ri_phase_kill(struct ri_supervisor *sv)
{
	sv->tick = ri_now_ms() + KILL_AGAIN_MS;
	for (size_t i = 0; i < sv->children->started; i++)
		if (sv->children->items[i].lives) {
			sv->children->items[i].told_to_stop = sv->children->items[i].killed = true;
			ri_children_signal(sv->children->items[i].pid, SIGKILL);
		}
	ri_leftovers_kill();
}

static void begin_killing(struct ri_supervisor *sv, const char *why)
{
	ri_leftovers_say(RI_LEVEL_WARNING, why);
	sv->phase = RI_PHASE_KILLING;
	sv->deadline = ri_now_ms() + GIVE_UP_MS;
	ri_phase_kill(sv);
}

static void kill_late(struct ri_supervisor *sv)
{
	begin_killing(sv, "SIGKILL for processes that did not stop in time");
}

static void kill_now(struct ri_supervisor *sv)
{
	begin_killing(sv, "SIGKILL for processes that still run after three Ctrl-C");
}

static void give_up(struct ri_supervisor *sv)
{
	ri_leftovers_say(RI_LEVEL_ERROR, "processes that cannot be killed remain");
	sv->phase = RI_PHASE_OVER;
}

static void finish(struct ri_supervisor *sv)
{
	sv->phase = RI_PHASE_OVER;
}

static const reaction grid[RI_PHASES][RI_EVENTS] = {
	[RI_PHASE_RUNNING] = {
		[RI_EVENT_STOP] = look_or_ask,
		[RI_EVENT_INSISTED] = kill_now,
		[RI_EVENT_RANK_FAILED] = take_failure,
		[RI_EVENT_ORDERED] = spare_or_obey,
		[RI_EVENT_LINGERED] = end_lingerer,
		[RI_EVENT_COMMAND_GONE] = sweep_after_end,
		[RI_EVENT_ALL_GONE] = finish,
	},
	[RI_PHASE_SETTLING] = {
		[RI_EVENT_STOP] = stop_others,
		[RI_EVENT_INSISTED] = kill_now,
		[RI_EVENT_RANK_FAILED] = ask_judge,
		[RI_EVENT_ORDERED] = spare_or_obey,
		[RI_EVENT_JUDGED] = take_answer,
		[RI_EVENT_LOOKED] = ask_judge,
		[RI_EVENT_COMMAND_GONE] = sweep,
		[RI_EVENT_ALL_GONE] = finish,
		[RI_EVENT_DEADLINE] = stop_others,
	},
	[RI_PHASE_SPARED] = {
		[RI_EVENT_STOP] = ask_command,	/* which has a grace of its own */
		[RI_EVENT_INSISTED] = kill_now,
		[RI_EVENT_RANK_FAILED] = stop_without_leavers,
		[RI_EVENT_ORDERED] = obey,
		[RI_EVENT_LOOKED] = obey_without_leavers,
		[RI_EVENT_COMMAND_GONE] = sweep,
		[RI_EVENT_ALL_GONE] = finish,
		[RI_EVENT_DEADLINE] = obey,
	},
	[RI_PHASE_LOOKING] = {
		[RI_EVENT_INSISTED] = kill_now,
		[RI_EVENT_RANK_FAILED] = ask_command,
		[RI_EVENT_ORDERED] = ask_command,
		[RI_EVENT_LOOKED] = ask_command,
		[RI_EVENT_COMMAND_GONE] = sweep_after_stop,
		[RI_EVENT_ALL_GONE] = finish,
		[RI_EVENT_DEADLINE] = look_again_or_ask,
	},
	[RI_PHASE_TOLD] = {
		[RI_EVENT_INSISTED] = kill_now,
		[RI_EVENT_COMMAND_GONE] = sweep,
		[RI_EVENT_ALL_GONE] = finish,
		[RI_EVENT_DEADLINE] = sweep,
		[RI_EVENT_TICK] = say_shell,
	},
	[RI_PHASE_SWEEPING] = {
		[RI_EVENT_INSISTED] = kill_now,
		[RI_EVENT_COMMAND_GONE] = stop_rest,
		[RI_EVENT_ALL_GONE] = finish,
		[RI_EVENT_DEADLINE] = kill_late,
		[RI_EVENT_TICK] = say_who_stays,
	},
	[RI_PHASE_KILLING] = {
		[RI_EVENT_ALL_GONE] = finish,
		[RI_EVENT_DEADLINE] = give_up,
		[RI_EVENT_TICK] = ri_phase_kill,
	},
};

void ri_phase_happen(struct ri_supervisor *sv, enum ri_event event)
{
	if (grid[sv->phase][event] != NULL)
		grid[sv->phase][event](sv);
}
