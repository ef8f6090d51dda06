/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/supervise.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "link/link.h"
#include "say/cause.h"
#include "say/state.h"
#include "system/clock.h"
#include "system/log.h"
#include "system/mask.h"
#include "watch/leftovers.h"
#include "watch/let_go.h"
#include "watch/obituary.h"
#include "watch/settle.h"
#include "watch/signalling.h"
#include "watch/step.h"

enum {
	GRACE_AFTER_END_MS = 10000,	/* for what a command left, without --grace */
	GRACE_AFTER_FAILURE_MS = 30000,	/* for the ranks beside one that failed */
	GIVE_UP_MS = 2000,		/* between SIGKILL and naming who stays */
	KILL_AGAIN_MS = 100,		/* for what was forked under the SIGKILLs */
	SAY_AFTER_MS = 1000,		/* a wait longer than this is said */
	SAY_ASKED_MS = 5000,		/* and one for a shell that waits for what it runs */
	ORPHANS_AT_ONCE = 256,		/* before signals and deadlines are looked at again */
	SAME_STOP_MS = 50,		/* relays duplicate a SIGTERM: one is meant */
};

/* What a key or the end of a terminal's line makes, and programs end of. */
#define INTERRUPTS (RI_MASK_OF(SIGHUP) | RI_MASK_OF(SIGINT) | RI_MASK_OF(SIGQUIT))

enum phase {
	RUNNING,	/* nobody asked for anything */
	SETTLING,	/* a rank lost another one: which? */
	ASKED,		/* the command has its SIGTERM, or every rank; what else runs has not */
	SWEEPING,	/* everything has its SIGTERM; wait until it is gone */
	KILLING,	/* everything has its SIGKILL */
	OVER,
	PHASES,
};

enum event {
	STOP,		/* SIGTERM; later on SIGINT too */
	RANK_FAILED,	/* and others run */
	ORDERED,	/* the job has failed on another node */
	COMMAND_GONE,	/* with all its ranks; children are left */
	ALL_GONE,	/* there is no child any more */
	DEADLINE,
	TICK,		/* something to do before the deadline */
	EVENTS,
};

struct supervisor {
	const struct ri_options *options;
	const struct ri_terminal *terminal;
	struct ri_children *children;
	struct ri_output *output;
	enum phase phase;
	int status;		/* of the first end that was no success */
	struct ri_end end;	/* that one */
	struct ri_oom oom;
	struct ri_supervised *result;
	const struct ri_supervise *setting;
	bool groups;		/* each child leads one of its own */
	bool told_by_step;	/* a Slurm step's signals reach the children too */
	bool stopped_by_step;	/* and its SIGTERM has done so */
	bool asked_to_stop;	/* by a SIGTSTP that we passed on, and no SIGCONT since */
	pid_t self;		/* 1: we are the init of a PID namespace */
	bool has_more;		/* children may be left to reap */
	int64_t begun;		/* the end of the job: CLOCK_MONOTONIC ms, as the next two */
	int64_t deadline;	/* 0: none */
	int64_t tick;
	int64_t limit;		/* how many ms the end may take, 0: as long as it likes */
};

/* What happens in which phase at which event; NULL: nothing. */
typedef void (*reaction)(struct supervisor *sv);

/* The group of a command that may have the terminal; ranks never do. */
static pid_t front_group(const struct supervisor *sv)
{
	return sv->groups ? sv->children->items[0].pid : 0;
}

static bool to_groups(const struct supervisor *sv)
{
	return sv->options->signal_group && sv->groups;
}

static void tell(const struct supervisor *sv, enum ri_tiding tiding)
{
	if (sv->setting->tell != NULL)
		sv->setting->tell(sv->setting->context, tiding);
}

/* Every child gets its SIGTERM, as --signal-map has it. */
static void tell_children(struct supervisor *sv)
{
	int number = sv->options->signal_map.to[SIGTERM];

	if (sv->stopped_by_step && number == SIGTERM)
		number = 0;
	sv->phase = ASKED;
	ri_spare_children(sv->children, to_groups(sv));
	if (number != 0)
		ri_signal_children(sv->children, number, to_groups(sv));
	for (size_t i = 0; i < sv->children->started; i++) {
		struct ri_child *child = &sv->children->items[i];

		child->told = child->lives;
		if (child->lives)
			ri_leftovers_wake(child->pid);
	}
	if (sv->options->signal_group)
		ri_leftovers_recheck();
}

/* The command has the first half of the time for itself. */
static void begin_end(struct supervisor *sv, int64_t at, uint64_t limit)
{
	ri_state_stop();
	sv->begun = at;
	sv->limit = (int64_t)limit;
	sv->deadline = limit > 0 ? at + sv->limit / 2 : 0;
	sv->tick = limit > 0 ? 0 : at + SAY_ASKED_MS;
}

static void ask_command(struct supervisor *sv)
{
	begin_end(sv, sv->end.stop.at_ms, sv->options->grace_ms);
	tell_children(sv);
}

static void say_whom_we_wait_for(struct supervisor *sv)
{
	ri_leftovers_say_shell(sv->children);
}

/* The end comes from inside: nobody else has a deadline for it. */
static uint64_t own_limit(const struct supervisor *sv, uint64_t usual)
{
	return sv->options->grace_ms > 0 ? sv->options->grace_ms : usual;
}

static void stop_others(struct supervisor *sv)
{
	ri_settle_look(sv->children);
	sv->deadline = sv->begun + sv->limit / 2;
	tell_children(sv);
	tell(sv, RI_TIDING_FAILED);
}

/* Healthy ranks, which may be writing a checkpoint. */
static void obey(struct supervisor *sv)
{
	sv->result->ordered = true;
	begin_end(sv, ri_now_ms(), sv->options->link_grace_ms);
	tell_children(sv);
}

/* A quarter of the time at most: the others need the rest for themselves. */
static int64_t settling_time(const struct supervisor *sv)
{
	int64_t settle = (int64_t)sv->options->settle_ms;

	return settle < sv->limit / 4 ? settle : sv->limit / 4;
}

/* Where a rank only lost another one, that one gets a moment to end as well. */
static void take_failure(struct supervisor *sv)
{
	begin_end(sv, ri_now_ms(), own_limit(sv, GRACE_AFTER_FAILURE_MS));
	if (settling_time(sv) == 0 || !ri_settle_is_open(sv->children, sv->output)) {
		stop_others(sv);
		return;
	}
	sv->phase = SETTLING;
	sv->deadline = sv->begun + settling_time(sv);
	tell(sv, RI_TIDING_FAILED);
}

static void take_another_failure(struct supervisor *sv)
{
	if (!ri_settle_is_open(sv->children, sv->output))
		stop_others(sv);
}

static void sweep(struct supervisor *sv)
{
	sv->phase = SWEEPING;
	sv->tick = ri_now_ms() + SAY_AFTER_MS;
	sv->deadline = sv->limit > 0 ? sv->begun + sv->limit : 0;
	ri_leftovers_stop(sv->children->living > 0);
}

static void sweep_after_end(struct supervisor *sv)
{
	begin_end(sv, ri_now_ms(), own_limit(sv, GRACE_AFTER_END_MS));
	tell(sv, RI_TIDING_FAILED);
	sweep(sv);
}

/* The command is gone while we sweep: tell what it left, keep the deadline. */
static void sweep_rest(struct supervisor *sv)
{
	ri_leftovers_stop(sv->children->living > 0);
}

static void say_who_stays(struct supervisor *sv)
{
	sv->tick = 0;
	ri_leftovers_say(RI_LEVEL_WARNING, "waiting for processes that still run");
}

static void kill_again(struct supervisor *sv)
{
	sv->tick = ri_now_ms() + KILL_AGAIN_MS;
	for (size_t i = 0; i < sv->children->started; i++)
		if (sv->children->items[i].lives) {
			sv->children->items[i].killed = true;
			ri_children_signal(sv->children->items[i].pid, SIGKILL);
		}
	ri_leftovers_kill();
}

static void kill_all(struct supervisor *sv)
{
	ri_leftovers_say(RI_LEVEL_WARNING, "SIGKILL for processes that did not stop in time");
	sv->phase = KILLING;
	sv->deadline = ri_now_ms() + GIVE_UP_MS;
	kill_again(sv);
}

static void give_up(struct supervisor *sv)
{
	ri_leftovers_say(RI_LEVEL_ERROR, "processes that cannot be killed remain");
	sv->phase = OVER;
}

static void finish(struct supervisor *sv)
{
	sv->phase = OVER;
}

static const reaction grid[PHASES][EVENTS] = {
	[RUNNING] = {
		[STOP] = ask_command,
		[RANK_FAILED] = take_failure,
		[ORDERED] = obey,
		[COMMAND_GONE] = sweep_after_end,
		[ALL_GONE] = finish,
	},
	[SETTLING] = {
		[STOP] = stop_others,
		[RANK_FAILED] = take_another_failure,
		[ORDERED] = obey,
		[COMMAND_GONE] = sweep,
		[ALL_GONE] = finish,
		[DEADLINE] = stop_others,
	},
	[ASKED] = {
		[STOP] = sweep,
		[COMMAND_GONE] = sweep,
		[ALL_GONE] = finish,
		[DEADLINE] = sweep,
		[TICK] = say_whom_we_wait_for,
	},
	[SWEEPING] = {
		[STOP] = kill_all,
		[COMMAND_GONE] = sweep_rest,
		[ALL_GONE] = finish,
		[DEADLINE] = kill_all,
		[TICK] = say_who_stays,
	},
	[KILLING] = {
		[ALL_GONE] = finish,
		[DEADLINE] = give_up,
		[TICK] = kill_again,
	},
};

static void happen(struct supervisor *sv, enum event event)
{
	if (grid[sv->phase][event] != NULL)
		grid[sv->phase][event](sv);
}

/* A Slurm step told the command as well. */
static bool was_told_by_step(const struct supervisor *sv, const siginfo_t *info)
{
	return sv->told_by_step && ri_step_sent(info);
}

/* Keys, and a line that was hung up: the kernel itself sends them. */
static bool is_by_terminal(const siginfo_t *info)
{
	return info->si_code == SI_KERNEL;
}

/* After an order all were told; from now on the time is that of who stops us. */
static void take_time_of_stop(struct supervisor *sv, int64_t now)
{
	if (sv->options->grace_ms == 0)
		return;
	begin_end(sv, now, sv->options->grace_ms);
	if (sv->phase == SWEEPING)
		sv->deadline = now + sv->limit;
}

/* SIGTERM, and SIGINT once a stop is under way. */
static void take_stop(struct supervisor *sv, const siginfo_t *info)
{
	static int64_t last;
	int64_t now = ri_now_ms();
	bool first = !sv->end.stop.asked;

	if (!first && info->si_signo == SIGTERM && now - last < SAME_STOP_MS)
		return;
	last = now;
	if (first) {
		sv->end.stop = (struct ri_stop){
			.asked = true, .number = info->si_signo, .sender = info->si_pid,
			.sender_uid = info->si_uid, .at_ms = now,
			.by_terminal = is_by_terminal(info),
		};
		sv->stopped_by_step = was_told_by_step(sv, info);
		ri_state_stop();
		sv->result->stop = sv->end.stop;
		tell(sv, RI_TIDING_STOPPED);
	}
	ri_log(RI_LEVEL_NOTE, "%s from pid %d of uid %u", info->si_signo == SIGTERM ? "SIGTERM"
		: "SIGINT", (int)info->si_pid, (unsigned)info->si_uid);
	/* after a normal end the first one changes nothing: all were told */
	if (first && sv->result->ordered && sv->phase < KILLING)
		take_time_of_stop(sv, now);
	else if (!first || sv->phase <= ASKED)
		happen(sv, STOP);
}

/*
 * The terminal told the whole process group, and the command is in it. When the line is
 * hung up its session's leader alone is told (Linux drivers/tty, __tty_hangup).
 */
static bool was_told_by_terminal(const struct supervisor *sv, const siginfo_t *info)
{
	return sv->terminal->shared && is_by_terminal(info) &&
		(info->si_signo != SIGHUP || getsid(0) != sv->self);
}

/* After the first failure they say no more about it. */
static void note_interrupt(struct supervisor *sv, const siginfo_t *info, int passed_on)
{
	struct ri_interrupt *interrupt = &sv->result->interrupt;

	if ((sv->status != 0 && sv->phase != SETTLING) || passed_on == 0 ||
		(RI_MASK_OF(info->si_signo) & INTERRUPTS) == 0)
		return;
	*interrupt = (struct ri_interrupt){
		.signal = info->si_signo, .passed_on = passed_on, .sender = info->si_pid,
		.by_terminal = is_by_terminal(info),
	};
	ri_clock_read(CLOCK_REALTIME, &interrupt->at);
}

static void forward(struct supervisor *sv, const siginfo_t *info)
{
	int number = info->si_signo, mapped = sv->options->signal_map.to[number];

	if (was_told_by_terminal(sv, info)) {
		note_interrupt(sv, info, number);
		if (number == SIGTSTP)
			ri_terminal_suspend_self();
		return;
	}
	if (number == SIGCONT && sv->children->items[0].lives)
		ri_terminal_lend(sv->terminal, front_group(sv));
	if (mapped == SIGTSTP || number == SIGCONT)
		sv->asked_to_stop = number != SIGCONT;
	note_interrupt(sv, info, mapped);
	if (mapped != 0 && (mapped != number || !was_told_by_step(sv, info)))
		ri_signal_children(sv->children, mapped, to_groups(sv));
	ri_terminal_stop_too(sv->options->stops_too, number);
}

/*
 * A rank may end of a Ctrl-C before ours is off the queue; later it would be
 * taken for a second one. Each once: whoever sends them without end is no reason
 * not to look at anything else.
 */
static void take_interrupts(struct supervisor *sv)
{
	ri_sigset set = INTERRUPTS;
	siginfo_t info;

	while (set != 0 && ri_mask_wait_for(set, &info, 0) != 0) {
		set &= ~RI_MASK_OF(info.si_signo);
		forward(sv, &info);
	}
}

/* The first end that is no success counts, whatever the others do after it. */
static void note_end(struct supervisor *sv, struct ri_child *child, int status,
	const struct rusage *usage)
{
	/* its number is free by now */
	child->lives = false;
	if (status != 0 && sv->status == 0 && sv->phase == RUNNING) {
		take_interrupts(sv);
		ri_settle_look(sv->children);
	}
	ri_children_end(sv->children, child, status, usage);
	if (status == 0)
		ri_link_reach(RI_LINK_LEAVING);
	if (status == 0 || sv->status != 0)
		return;
	sv->status = ri_verdict_status(status);
	sv->end.child = child;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS)
		sv->result->knows_shm = ri_cause_look(&sv->result->shm);
}

/* wait4(2) and waitid(2) are denied: who has ended, and how, would never be known. */
static void end_blind(struct supervisor *sv)
{
	if (sv->phase == OVER)
		return;
	ri_log(RI_LEVEL_ERROR, "wait4: the kernel refuses to report how the command ends: %s; "
		"allow this call in the seccomp profile [%s]", strerror(errno),
		ri_code_name(RI_CODE_WAIT_REFUSED));
	kill_again(sv);
	sv->status = ri_code_status(RI_CODE_WAIT_REFUSED);
	sv->phase = OVER;
}

/*
 * SIGCHLD may stand for many children: take all that are there, but for orphans
 * that come faster than they go, which would keep a stop waiting.
 */
static void reap(struct supervisor *sv)
{
	/* job control is the business of our terminal, if there is one */
	int flags = WNOHANG | (sv->terminal->fd >= 0 ? WUNTRACED : 0);
	size_t lived = sv->children->living;
	bool gone = false;
	struct ri_child *child;
	struct rusage usage;
	int status, orphans = 0;
	pid_t pid;

	while ((pid = ri_children_reap(-1, &status, flags, &usage)) > 0) {
		child = ri_children_find(sv->children, pid);
		if (WIFSTOPPED(status)) {
			if (child != NULL)
				ri_terminal_follow(sv->terminal, front_group(sv), sv->asked_to_stop,
					WSTOPSIG(status));
		} else if (child != NULL) {
			note_end(sv, child, status, &usage);
		} else {
			ri_verdict_orphan(pid, status, sv->options->tells_reaped);
			orphans++;
		}
		gone = gone || !WIFSTOPPED(status);
		if (orphans == ORPHANS_AT_ONCE)
			break;
	}
	sv->has_more = pid > 0;
	if (pid < 0 && errno == ECHILD)
		happen(sv, ALL_GONE);
	else if (pid < 0)
		end_blind(sv);
	else if (lived > 0 && sv->children->living == 0)
		happen(sv, COMMAND_GONE);
	else if (gone && sv->phase == SWEEPING)
		ri_leftovers_stop_orphans();
	else if (sv->children->living < lived && sv->status != 0 && !sv->setting->goes_on)
		happen(sv, RANK_FAILED);
}

static void take_signal(struct supervisor *sv, const siginfo_t *info)
{
	int number = info->si_signo;

	/* one SIGIO may stand for both helpers; reap() and hear_others() follow every wake-up */
	if (number == SIGCHLD || ri_timetable_took(sv->setting->timetable, info) ||
		ri_link_is_ours(info))
		return;
	/* our own write, to a pipe that nobody reads or a file at its limit */
	if ((number == SIGPIPE || number == SIGXFSZ) && info->si_pid == sv->self)
		return;
	if (number == SIGTERM || (number == SIGINT && sv->phase != RUNNING))
		take_stop(sv, info);
	else
		forward(sv, info);
}

static void hear_others(struct supervisor *sv)
{
	if (!ri_link_hear())
		return;
	tell(sv, RI_TIDING_JUDGED);
	if (ri_link_verdict()->order)
		happen(sv, ORDERED);
}

static void take_time(struct supervisor *sv)
{
	int64_t now = ri_now_ms();

	if (sv->deadline != 0 && now >= sv->deadline) {
		sv->deadline = 0;
		happen(sv, DEADLINE);
	} else if (sv->tick != 0 && now >= sv->tick) {
		sv->tick = 0;
		happen(sv, TICK);
	}
	if (ri_timetable_due(sv->setting->timetable) <= now)
		sv->setting->timetable->act(sv->setting->timetable->context);
}

static int64_t time_left(const struct supervisor *sv)
{
	int64_t next = ri_timetable_due(sv->setting->timetable), left;

	if (sv->has_more)
		return 0;
	if (sv->deadline != 0 && sv->deadline < next)
		next = sv->deadline;
	if (sv->tick != 0 && sv->tick < next)
		next = sv->tick;
	if (next == INT64_MAX)
		return -1;
	left = next - ri_now_ms();
	return left < 0 ? 0 : left;
}

/* A traceback begins: who is dying now did so before, until we tell anybody to. */
static void look(void *supervisor)
{
	const struct supervisor *sv = supervisor;

	if (sv->phase < ASKED)
		ri_settle_look(sv->children);
}

/* Of several ranks, or with a report, more will be said than how one of them ended. */
static void conclude(struct supervisor *sv, struct ri_supervised *out)
{
	const struct ri_children *children = sv->children;

	out->oom = ri_children_lost_one(children) && ri_verdict_is_oom(&sv->oom);
	out->stop = sv->end.stop;
	if (children->count == 1 && sv->end.child != NULL && !sv->setting->silent &&
		sv->setting->tell == NULL)
		ri_verdict_obituary(&sv->end, &sv->oom);
}

int ri_supervise_run(struct ri_children *children, const struct ri_supervise *setting)
{
	const struct ri_launch *launch = setting->launch;
	struct supervisor sv = {
		.options = setting->options, .terminal = setting->terminal,
		.children = children, .output = setting->output,
		.result = setting->result, .setting = setting,
		.status = children->refused,
		.end = { .command = launch->argv[0], .rank = setting->rank },
		.groups = launch->new_group, .told_by_step = launch->told_by_step,
		.self = launch->self,
	};
	siginfo_t info;

	ri_let_go(setting->output);
	ri_verdict_watch(&sv.oom);
	ri_leftovers_init(launch->self);
	setting->output->alarm = look;
	setting->output->context = &sv;
	if (children->refused != 0)
		happen(&sv, RANK_FAILED);
	while (sv.phase != OVER) {
		/* a child that ended before we looked has its SIGCHLD waiting */
		if (ri_output_wait(setting->output, &info, time_left(&sv)) != 0)
			take_signal(&sv, &info);
		reap(&sv);
		hear_others(&sv);
		take_time(&sv);
	}
	setting->output->alarm = NULL;
	ri_output_finish(setting->output, sv.end.stop.asked);
	if (sv.self != 1)
		ri_terminal_take(setting->terminal, front_group(&sv));
	conclude(&sv, setting->result);
	/* we may have given up on some, having sent that */
	return sv.status == 0 && children->living > 0 ? 128 + SIGKILL : sv.status;
}
