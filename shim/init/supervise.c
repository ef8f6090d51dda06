/* SPDX-License-Identifier: Apache-2.0 */
#include "init/supervise.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hang/autopsy.h"
#include "hang/course.h"
#include "init/leavers.h"
#include "init/others.h"
#include "init/signalling.h"
#include "link/link.h"
#include "say/cause.h"
#include "say/state_file.h"
#include "system/clock.h"
#include "system/helper.h"
#include "system/kept_fds.h"

enum {
	ORPHANS_AT_ONCE = 256,	/* before signals and deadlines are looked at again */
	IN_A_ROW_MS = 5000,	/* between one Ctrl-C and the next */
	INSISTENCE = 3,		/* so many of them: it shall end, whatever is lost */
};

/* What a key or the end of a terminal's line makes, and programs end of. */
#define INTERRUPTS (RI_MASK_OF(SIGHUP) | RI_MASK_OF(SIGINT) | RI_MASK_OF(SIGQUIT))

/* A Slurm step told the command as well, or a launcher all of our process group. */
static bool group_has(const struct ri_supervisor *sv, const siginfo_t *info)
{
	const struct ri_launch *launch = sv->launch;

	if ((sv->early & RI_MASK_OF(info->si_signo)) != 0)
		return false;
	if (launch->told_by_step)
		return ri_step_sent(info);
	/* timeout(1) makes a group of its own, which gets it from us alone */
	return launch->told_by != 0 && info->si_code == SI_USER &&
		info->si_pid == launch->told_by &&
		getpgid(sv->children->items[0].pid) == getpgrp();
}

/* Keys, and a line that was hung up: the kernel itself sends them. */
static bool is_by_terminal(const siginfo_t *info)
{
	return info->si_code == SI_KERNEL;
}

static struct ri_stop stop_of(const siginfo_t *info, int passed_on)
{
	struct ri_stop stop = {
		.signal = info->si_signo, .passed_on = passed_on, .sender = info->si_pid,
		.sender_uid = info->si_uid, .by_terminal = is_by_terminal(info),
		.at_ms = ri_now_ms(),
	};

	ri_clock_read(CLOCK_REALTIME, &stop.at);
	return stop;
}

/* Before any line of our own. */
static void note_stop(struct ri_supervisor *sv, const siginfo_t *info)
{
	sv->silent = ri_autopsy_is_silent();
	sv->result->stop = stop_of(info, 0);
	sv->group_has_stop = group_has(sv, info);
	ri_state_stop();
	/* first: what the others print of the stop is output, and they are no longer silent */
	if (sv->silent && sv->phase < RI_PHASE_TOLD)
		ri_link_look(true);
	ri_nodes_tell(sv->job);
}

/* After the first failure, or a stop, they say no more about it. */
static void note_interrupt(struct ri_supervisor *sv, const siginfo_t *info, int passed_on)
{
	bool settles = sv->phase == RI_PHASE_SETTLING || sv->phase == RI_PHASE_SPARED;

	if ((sv->status == 0 || settles) && sv->result->stop.signal == 0 && passed_on != 0 &&
		(RI_MASK_OF(info->si_signo) & INTERRUPTS) != 0)
		sv->result->interrupt = stop_of(info, passed_on);
}

static void forward(struct ri_supervisor *sv, const siginfo_t *info)
{
	int number = info->si_signo, mapped = sv->options->signal_map.to[number];

	/* one that --signal-map drops, or makes another of, is not meant to end anything */
	if (mapped == number && (RI_MASK_OF(number) & INTERRUPTS & ri_mask_stops()) != 0)
		sv->result->interrupted = true;
	/*
	 * The terminal told the whole process group, and the command is in it. When the line is
	 * hung up its session's leader alone is told (Linux drivers/tty, __tty_hangup).
	 */
	if (sv->terminal->shared && is_by_terminal(info) &&
		(number != SIGHUP || getsid(0) != sv->launch->self)) {
		note_interrupt(sv, info, number);
		if (number == SIGTSTP)
			ri_terminal_suspend_self();
		return;
	}
	if (number == SIGCONT && sv->children->items[0].lives)
		ri_terminal_lend(sv->terminal, ri_phase_front_group(sv));
	if (mapped == SIGTSTP || number == SIGCONT)
		sv->asked_to_stop = number != SIGCONT;
	note_interrupt(sv, info, mapped);
	if (mapped != 0 && (mapped != number || !group_has(sv, info)))
		ri_signal_children(sv->children, mapped, ri_phase_to_groups(sv));
	ri_terminal_stop_too(sv->options->stops_too, number);
}

/* The first SIGTERM. Before the children are told it is the phase that passes it on. */
static void take_stop(struct ri_supervisor *sv, const siginfo_t *info)
{
	int64_t tick = sv->tick;

	note_stop(sv, info);
	ri_log(RI_LEVEL_NOTE, "SIGTERM from pid %d of uid %u", (int)info->si_pid,
		(unsigned)info->si_uid);
	if (sv->phase < RI_PHASE_TOLD) {
		ri_phase_happen(sv, RI_EVENT_STOP);
		return;
	}
	/* after an order all were told to stop; from now on the time is that from outside */
	if (sv->result->ordered && sv->phase < RI_PHASE_KILLING && sv->options->grace_ms > 0) {
		ri_phase_begin_end(sv, sv->result->stop.at_ms, sv->options->grace_ms);
		if (sv->phase == RI_PHASE_SWEEPING) {
			sv->deadline = sv->begun + sv->limit;
			sv->tick = tick;
		}
	}
	forward(sv, info);
}

/*
 * The terminal sends us its keys where our process group is in its foreground. A person
 * who presses this one again and again has given up on what the ranks could still do.
 */
static void take_key(struct ri_supervisor *sv, const siginfo_t *info)
{
	int64_t now = ri_now_ms();

	if (info->si_signo != SIGINT || !is_by_terminal(info))
		return;
	sv->presses = now - sv->pressed <= IN_A_ROW_MS ? sv->presses + 1 : 1;
	sv->pressed = now;
	if (sv->presses == INSISTENCE - 1)
		ri_log(RI_LEVEL_WARNING, "one more Ctrl-C within %d seconds sends SIGKILL to "
			"every process", IN_A_ROW_MS / 1000);
	if (sv->presses != INSISTENCE)
		return;
	if (sv->result->stop.signal == 0)
		note_stop(sv, info);
	ri_phase_happen(sv, RI_EVENT_INSISTED);
}

/*
 * A rank may end of a Ctrl-C before ours is off the queue; later it would be
 * taken for a second one. Each once: a process that sends them without end must
 * not keep the loop from its other events.
 */
static void take_interrupts(struct ri_supervisor *sv)
{
	ri_sigset set = INTERRUPTS;
	siginfo_t info;

	while (set != 0 && ri_mask_wait_for(set, &info, 0) != 0) {
		set &= ~RI_MASK_OF(info.si_signo);
		forward(sv, &info);
		take_key(sv, &info);
	}
}

/* The first end that is no success counts, whatever the others do after it. */
static void note_end(struct ri_supervisor *sv, struct ri_child *child, int status,
	const struct rusage *usage)
{
	/* its number is free by now */
	child->lives = false;
	if (status != 0 && sv->output->active)
		ri_output_move_last(sv->output, (size_t)(child - sv->children->items));
	if (status != 0 && sv->status == 0 && sv->phase == RI_PHASE_RUNNING) {
		take_interrupts(sv);
		ri_leavers_look(sv->children, true);
	}
	ri_children_end(sv->children, child, status, usage);
	ri_judge_news();
	if (status == 0 && !child->told_to_stop)
		ri_link_reach(RI_LINK_LEAVING);
	if (status == 0 || sv->status != 0)
		return;
	sv->status = ri_child_status(status);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS)
		sv->result->knows_shm = ri_cause_look(&sv->result->shm);
}

/* wait4(2) and waitid(2) are denied: how a child has ended would never be known. */
static void end_blind(struct ri_supervisor *sv)
{
	if (sv->phase == RI_PHASE_OVER)
		return;
	ri_log(RI_LEVEL_ERROR, "wait4: the kernel refuses to report how the command ends: %s; "
		"allow this call in the seccomp profile [%s]", strerror(errno),
		ri_code_name(RI_CODE_WAIT_REFUSED));
	ri_phase_kill(sv);
	sv->status = ri_code_status(RI_CODE_WAIT_REFUSED);
	sv->phase = RI_PHASE_OVER;
}

/*
 * One SIGCHLD may stand for many children, which wait4(2) gives in the order of their starts. The
 * signal has the number of the first that ended (sigaction(2), si_pid), so that one is taken first.
 */
static pid_t reap_one(struct ri_supervisor *sv, int *status, int flags, struct rusage *usage)
{
	pid_t first = sv->first_gone, pid = 0;

	sv->first_gone = 0;
	if (first > 0 && ri_children_find(sv->children, first) != NULL)
		pid = ri_children_reap(first, status, flags, usage);
	return pid > 0 ? pid : ri_children_reap(-1, status, flags, usage);
}

/* How a process ended that was none of ours, but left to us. */
static void say_orphan(pid_t pid, int wait_status, bool warn)
{
	const enum ri_level level = warn ? RI_LEVEL_WARNING : RI_LEVEL_NOTE;

	if (WIFSIGNALED(wait_status))
		ri_log(level, "reaped pid %d, killed by %s", (int)pid,
			RI_SIGNAL_SHOWN(WTERMSIG(wait_status)));
	else
		ri_log(level, "reaped pid %d, exit status %d", (int)pid,
			WEXITSTATUS(wait_status));
}

/* All that are there, but for orphans that come faster than they go: a stop would wait. */
static void reap(struct ri_supervisor *sv)
{
	/* job control is the business of our terminal, if there is one */
	int flags = WNOHANG | (sv->terminal->fd >= 0 ? WUNTRACED : 0);
	size_t lived = sv->children->living;
	bool gone = false;
	struct ri_child *child;
	struct rusage usage;
	int status, orphans = 0;
	pid_t pid;

	while ((pid = reap_one(sv, &status, flags, &usage)) > 0) {
		child = ri_children_find(sv->children, pid);
		if (WIFSTOPPED(status)) {
			if (child != NULL)
				ri_terminal_follow(sv->terminal, ri_phase_front_group(sv),
					sv->asked_to_stop, WSTOPSIG(status));
		} else if (child != NULL) {
			note_end(sv, child, status, &usage);
		} else {
			say_orphan(pid, status, sv->options->tells_reaped);
			orphans++;
		}
		gone = gone || !WIFSTOPPED(status);
		if (orphans == ORPHANS_AT_ONCE)
			break;
	}
	sv->has_more = pid > 0;
	if (pid < 0 && errno == ECHILD)
		ri_phase_happen(sv, RI_EVENT_ALL_GONE);
	else if (pid < 0)
		end_blind(sv);
	else if (lived > 0 && sv->children->living == 0)
		ri_phase_happen(sv, RI_EVENT_COMMAND_GONE);
	else if (gone && sv->phase == RI_PHASE_SWEEPING)
		ri_leftovers_stop_orphans();
	else if (sv->children->living < lived && sv->status != 0 && !sv->goes_on)
		ri_phase_happen(sv, RI_EVENT_RANK_FAILED);
	if (pid == 0 && sv->phase >= RI_PHASE_SWEEPING && sv->phase < RI_PHASE_OVER &&
		ri_leftovers_are_gone())
		ri_phase_happen(sv, RI_EVENT_ALL_GONE);
}

static void take_signal(struct ri_supervisor *sv, const siginfo_t *info)
{
	const struct ri_timetable *table;
	int number = info->si_signo;

	/* reap() and hear_others() follow every wake-up */
	if (number == SIGCHLD && info->si_code > 0)
		sv->first_gone = info->si_pid;
	if (number == SIGCHLD)
		return;
	if (ri_helper_took(info)) {
		/* one signal may stand for several of them, so each part looks for its own */
		for (table = sv->timetable; table != NULL; table = table->next)
			if (table->take != NULL)
				table->take(table->context);
		return;
	}
	if (ri_link_is_ours(info))
		return;
	/* of our own write to a pipe without a reader, or to a file at its limit */
	if ((number == SIGPIPE || number == SIGXFSZ) && info->si_pid == sv->launch->self)
		return;
	if (number == sv->options->autopsy_signal && ri_autopsy_ask_again(info))
		return;
	/* signals keep their order: the SIGTERM before this one is not held any longer */
	if (sv->phase == RI_PHASE_LOOKING)
		ri_phase_happen(sv, RI_EVENT_LOOKED);
	if (number == SIGTERM && sv->result->stop.signal == 0) {
		take_stop(sv, info);
		return;
	}
	forward(sv, info);
	take_key(sv, info);
}

/* A rank that does not get to its end has failed all the same: as an exception has it. */
static void take_course(struct ri_supervisor *sv)
{
	if (!ri_course_take(sv->children))
		return;
	ri_judge_news();
	if (sv->phase == RI_PHASE_SETTLING || sv->phase == RI_PHASE_SPARED) {
		ri_phase_happen(sv, RI_EVENT_LOOKED);
	} else if (sv->phase == RI_PHASE_RUNNING && ri_linger_take(sv)) {
		sv->status = sv->status != 0 ? sv->status : 1;
		ri_phase_happen(sv, RI_EVENT_LINGERED);
	}
}

/* What it doubts is looked at, the other nodes are told; what follows is the phase's. */
static void take_judge(struct ri_supervisor *sv)
{
	const struct ri_judged *answer = NULL;

	switch (ri_judge_take(&answer)) {
	case RI_ASK_FAILED:
		if (answer != NULL)
			ri_leavers_ask(sv->children, answer->doubtful);
		if (!sv->result->ordered)
			ri_nodes_tell_judged(sv->job, answer);
		sv->judged = answer;
		ri_phase_happen(sv, RI_EVENT_JUDGED);
		sv->judged = NULL;
		break;
	case RI_ASK_RESTARTED:
		ri_restarted_take(answer);
		break;
	case RI_ASK_ENDED:
	case RI_ASK_NOTHING:
		return;
	}
	ri_judge_go_on();
}

/* When all nodes have looked last, CLOCK_MONOTONIC ms; 0: never. */
static int64_t looked_at;

/*
 * With a link all nodes of the job look at their ranks at one moment: ask the others to look if no
 * rank moves here, look if they ask, answer, and print what was found.
 */
static void look_with_others(const struct ri_supervisor *sv)
{
	/* since no rank has moved here for --stall, what was seen meanwhile would be seen now */
	bool known = looked_at != 0 && ri_now_ms() - looked_at < (int64_t)sv->options->stall_ms;
	const char *groups;
	bool soon;

	if (ri_autopsy_wants_others(known))
		ri_link_look(false);
	if (ri_link_is_to_look(&soon)) {
		looked_at = ri_now_ms();
		/* ranks that were told to stop do something else by now */
		if (sv->phase >= RI_PHASE_TOLD || !ri_autopsy_look_together(soon))
			ri_link_groups("");
	}
	groups = ri_autopsy_take_groups();
	if (groups != NULL)
		ri_link_groups(groups);
	ri_link_print_found();
}

/* Could another node take an end that is on its way for a later one, if it heard of none now? */
static bool has_unheard(const struct ri_supervisor *sv)
{
	const struct ri_launched *others;

	/* the ranks of a launcher end before it, and it may not have noticed */
	return sv->has_others || ri_others_seen(&others) > 0 ||
		ri_mask_pending_stop() != 0 || ri_course_is_asked() ||
		ri_judge_due() != INT64_MAX ||
		/* how the last one ended is told behind the loop, and no sooner */
		((sv->phase < RI_PHASE_TOLD || sv->children->living == 0) &&
			ri_nodes_have_news(sv->job)) ||
		ri_leavers_may_fail(sv->children, sv->output);
}

/* A rank may have raised, closed its connections, and take long to end. */
static void answer_others(struct ri_supervisor *sv)
{
	bool asked = ri_link_was_asked();

	if (!asked && !ri_link_owes_answer())
		return;
	if (sv->phase < RI_PHASE_TOLD ? ri_leavers_find(sv->children, sv->output)
		: ri_leavers_spoke(sv->children, sv->output))
		ri_nodes_tell(sv->job);
	if (ri_link_owes_answer() && !has_unheard(sv))
		ri_link_answer();
}

static void hear_others(struct ri_supervisor *sv)
{
	bool judged = ri_link_hear();

	ri_restarted_hear(sv->output);
	take_judge(sv);
	take_course(sv);
	if (sv->phase == RI_PHASE_LOOKING && !ri_autopsy_is_looking() && !ri_course_is_asked())
		ri_phase_happen(sv, RI_EVENT_LOOKED);
	if (!judged)
		answer_others(sv);
	if (ri_link_is_on())
		look_with_others(sv);
	if (!judged)
		return;
	ri_link_print_verdict(sv->job);
	if (ri_link_decision()->order)
		ri_phase_happen(sv, RI_EVENT_ORDERED);
}

static void take_time(struct ri_supervisor *sv)
{
	const struct ri_timetable *table;
	int64_t now = ri_now_ms();

	if (sv->deadline != 0 && now >= sv->deadline) {
		sv->deadline = 0;
		ri_phase_happen(sv, RI_EVENT_DEADLINE);
	} else if (sv->tick != 0 && now >= sv->tick) {
		sv->tick = 0;
		ri_phase_happen(sv, RI_EVENT_TICK);
	}
	if (now >= ri_linger_due(sv->output))
		ri_linger_act(sv->children);
	for (table = sv->timetable; table != NULL; table = table->next)
		if (table->due(table->context) <= now)
			table->act(table->context);
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t time_left(const struct ri_supervisor *sv)
{
	const struct ri_timetable *table = sv->timetable;
	int64_t next = sv->deadline == 0 ? INT64_MAX : sv->deadline, left;

	if (sv->has_more)
		return 0;
	if (sv->tick != 0)
		next = earlier(next, sv->tick);
	next = earlier(next, ri_linger_due(sv->output));
	next = earlier(next, ri_judge_due());
	for (; table != NULL; table = table->next)
		next = earlier(next, table->due(table->context));
	if (next == INT64_MAX)
		return -1;
	left = next - ri_now_ms();
	return left < 0 ? 0 : left;
}

/*
 * A traceback begins: a rank that dies by now did so before it, if none was told to stop. Of a
 * driver of Ray actors live now that its last exception may name. by_ray: it has begun to start
 * some, or Lightning has.
 */
static void look(void *supervisor, bool by_ray)
{
	const struct ri_supervisor *sv = supervisor;

	ri_judge_news();
	if (sv->phase >= RI_PHASE_TOLD)
		return;
	if (sv->may_be_ray)
		ri_others_begin(sv->children->items[0].pid, true);
	if (by_ray) {
		ri_linger_begin(sv->options);
		return;
	}
	ri_leavers_look(sv->children, false);
	ri_others_look();
	ri_linger_suspect();
}

void ri_supervise_let_go(const struct ri_output *output)
{
	/* the ranks of another attempt are to inherit what those of this one do */
	for (int first = 3, own = 0; own >= 0 && !output->again; first = own + 1) {
		int spare = ri_kept_fds_next(first);

		/* the lowest descriptor that is still needed */
		own = ri_output_next_fd(output, first);
		if (own < 0 || (spare >= 0 && spare < own))
			own = spare;
		if (own < 0)
			ri_close_between((unsigned)first, ~0u);
		else if (own > first)
			ri_close_between((unsigned)first, (unsigned)own - 1);
	}
	if (chdir("/") < 0)
		ri_log(RI_LEVEL_NOTE, "cannot change to /: %s", strerror(errno));
}

int ri_supervise_run(struct ri_supervisor *sv)
{
	struct ri_output *output = sv->output;
	siginfo_t info;

	sv->status = sv->children->refused;
	ri_descendants_init(sv->launch->self);
	if (output->again && sv->children->started > 0)
		ri_descendants_spare_others(sv->children->items[0].pid);
	output->alarm = look;
	output->context = sv;
	output->awaits_ray = sv->may_be_ray;
	if (sv->has_others || (output->memories != NULL &&
		(!sv->words_alone || ri_output_is_wanted(sv->options))))
		ri_linger_begin(sv->options);
	if (sv->children->refused != 0)
		ri_phase_happen(sv, RI_EVENT_RANK_FAILED);
	while (sv->phase != RI_PHASE_OVER) {
		/* a child that ended before we looked has its SIGCHLD waiting */
		if (ri_output_wait(output, &info, time_left(sv)) != 0) {
			take_signal(sv, &info);
			sv->early &= ~RI_MASK_OF(info.si_signo);
		}
		reap(sv);
		hear_others(sv);
		take_time(sv);
	}
	output->alarm = NULL;
	ri_course_end();
	ri_restarted_finish();
	ri_judge_end();
	ri_output_finish(output, sv->result->stop.signal != 0);
	if (sv->launch->self != 1 || output->again)
		ri_terminal_take(sv->terminal, ri_phase_front_group(sv));
	/* we may have given up on some, having sent that */
	return sv->status == 0 && sv->children->living > 0 ? 128 + SIGKILL : sv->status;
}

void ri_orphans_adopt(pid_t self)
{
	if (self != 1 && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		ri_log(RI_LEVEL_WARNING, "orphaned processes cannot be adopted and may outlive the "
			"job: %s [%s]", strerror(errno), ri_code_name(RI_CODE_SUBREAPER_REFUSED));
}
