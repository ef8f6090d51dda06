/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank behind a launcher that owns it: mpirun, mpiexec.hydra or srun. The launcher is to see
 * what it would see without rankinit: the same process group, the same signals and the same end,
 * neither later nor otherwise; docs/launchers.md has what users see ("One rankinit for each rank").
 * So nothing is swept, adopted or waited for here, and nothing is closed that the launcher watches:
 * Hydra kills all ranks when the last copy of a rank's PMI_FD is closed before MPI_Finalize. What
 * the rank writes to stderr passes through, and tells at its end why it failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "from/sources.h"
#include "hang/course.h"
#include "init/leavers.h"
#include "init/signalling.h"
#include "report/culprit.h"
#include "report/verdict.h"
#include "system/clock.h"
#include "system/helper.h"
#include "system/own_proc.h"
#include "run.h"

enum {
	STOP_MS = 100,		/* from a stop of the rank to ours */
	VICTIM_MS = 100,	/* that its end waits for: the launcher is to see the first one's */
	MANY = 64,		/* above it lines of all victims are of no help */
	READER_MS = 10000,	/* for a launcher that does not read, at the end */
	SOON_S = 3,		/* from a traceback to the end of the interpreter */
	OVER_MS = 30000,	/* of silence after the last line of Python: most end sooner */
	LONG_S = 60,		/* after a stop what ends a rank is something else */
};

#define STOPS (RI_MASK_OF(SIGTERM) | RI_MASK_OF(SIGINT) | RI_MASK_OF(SIGHUP))

static struct {
	pid_t launcher;		/* whose signals the whole process group has; 0: that is Slurm */
	ri_sigset early;	/* came before there was a rank */
	ri_sigset got;		/* since own.stopped: whatever came from outside */
	bool by_step;		/* what Slurm sends reaches the rank as well */
	struct timespec stopped;	/* CLOCK_REALTIME, by the first of STOPS; 0: none came */
	bool dying;		/* before that the rank had begun to end */
	bool looks;		/* it has printed a traceback */
	bool over;		/* and soon after it had no interpreter any more */
	bool said;		/* that it does not get to its end */
	char text[2 * RI_VERDICT_SIZE];	/* lines of ours that go out in one write */
	size_t length;
} own;

bool ri_behind_knows_launcher(const struct ri_found *found)
{
	const struct ri_source *source = ri_source_of(found->topology.identity);
	struct ri_procstat leader, launcher;

	/* the parent of the leader of our process group has made it, and signals it */
	if (source->signals == RI_SIGNALS_GROUP && ri_proc_is_ours(getpid()) &&
		ri_proc_read(getpgrp(), &leader) && ri_proc_read(leader.parent, &launcher) &&
		ri_source_is_launcher(source, launcher.name))
		own.launcher = launcher.pid;
	return source->signals == RI_SIGNALS_STEP || own.launcher != 0;
}

pid_t ri_behind_launcher(void)
{
	return own.launcher;
}

/* The rank has its own copies, which end with it; the launcher may wait for that. */
static void leave_stdio(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; null > STDERR_FILENO && fd <= STDOUT_FILENO; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
}

/* Returns 1 where the rank has ended, 0 where it has not, -1 where the kernel refuses to tell. */
static int reap(struct ri_children *children)
{
	struct ri_child *child = &children->items[0];
	struct rusage usage;
	int status;
	pid_t pid = ri_children_reap(child->pid, &status, WNOHANG, &usage);

	if (pid == child->pid)
		ri_children_end(children, child, status, &usage);
	return pid < 0 ? -1 : pid == child->pid;
}

/*
 * What came from outside, in the queue or taken: what the rank does from now on may be for it. Not
 * what it does long after it.
 */
static bool is_stopped(void)
{
	ri_sigset pending = ri_mask_pending() & ~RI_MASK_OF(SIGCHLD);
	struct timespec now;

	ri_clock_read(CLOCK_REALTIME, &now);
	if (own.stopped.tv_sec != 0 && now.tv_sec - own.stopped.tv_sec > LONG_S) {
		own.stopped = (struct timespec){ .tv_sec = 0 };
		own.got = 0;
	}
	own.got |= pending;
	if (own.stopped.tv_sec == 0 && (pending & STOPS & ri_mask_stops()) != 0)
		own.stopped = now;
	return own.stopped.tv_sec != 0;
}

/* A traceback begins: if its exception does not end the rank, that is told. No job is looked at. */
static void begin_looks(void *run, bool by_ray)
{
	(void)by_ray;
	if (!own.looks)
		ri_linger_begin(&((const struct ri_run *)run)->found.options);
	own.looks = !is_stopped();
	own.over = false;
	ri_linger_suspect();
}

/*
 * Behind its last line of Python an extension may wait, as mpi4py does in MPI_Finalize behind Open
 * MPI (Py_AtExit): the exception is in the memory of no interpreter any more.
 */
static void tell_over(struct ri_run *run)
{
	static struct ri_reason reason;
	struct ri_output *output = &run->started.output;
	const struct ri_child *child = &run->started.children.items[0];
	struct ri_rank_outcome rank = { .pid = 0 };
	int64_t silent_ms = ri_now_ms() - output->heard_ms;
	RI_TEXT(out, RI_MAX_LINE);

	/* one that it went on from: that was no end of the program */
	ri_failure_describe(child, output, 0, &rank);
	if (!own.over && ri_seconds_between(rank.traceback_at, child->course_at) > SOON_S)
		return;
	own.over = true;
	if (own.said || silent_ms < OVER_MS)
		return;
	rank.end = RI_END_EXITED;
	rank.exit_code = 1;
	ri_clock_read(CLOCK_REALTIME, &rank.ended);
	ri_class_find(&rank);
	ri_reason_find(&rank, &reason);
	if (!reason.has_traceback)
		return;
	own.said = true;
	ri_text_add_bytes(&out, reason.traceback.last.at, reason.traceback.last.length);
	ri_log(RI_LEVEL_ALWAYS, "rank %lld raised %s and has not ended for %lld s: its interpreter "
		"has ended, and it waits in MPI_Finalize or another exit handler",
		(long long)ri_found_single_rank(&run->found), out.bytes,
		(long long)silent_ms / 1000);
}

static void take_time(struct ri_run *run)
{
	const struct ri_supervisor sv = {
		.children = &run->started.children, .output = &run->started.output,
		.rank = ri_found_single_rank(&run->found),
	};
	const struct ri_course_seen *seen;

	if (ri_now_ms() >= ri_linger_due(&run->started.output))
		ri_linger_act(&run->started.children);
	if (!ri_course_take(&run->started.children))
		return;
	ri_linger_take(&sv);
	seen = ri_course_of(0);
	if (seen != NULL && seen->over != 0)
		tell_over(run);
}

static int64_t time_left(struct ri_output *output)
{
	int64_t due = own.looks ? ri_linger_due(output) : INT64_MAX, now;

	if (due == INT64_MAX)
		return -1;
	now = ri_now_ms();
	return due > now ? due - now : 0;
}

/* Has the rank the signal already? A process of our group signals all of it. */
static bool has_all(const siginfo_t *info)
{
	/* the kernel's own are a terminal's, for all that are in its foreground */
	if (info->si_code == SI_KERNEL || (own.by_step && ri_step_sent(info)))
		return true;
	return info->si_code == SI_USER && info->si_pid > 0 &&
		((own.launcher != 0 && info->si_pid == own.launcher) ||
		getpgid(info->si_pid) == getpgrp());
}

static void take_signal(const siginfo_t *info, pid_t rank)
{
	ri_sigset bit = RI_MASK_OF(info->si_signo);
	bool stops = (bit & STOPS & ri_mask_stops()) != 0 && own.stopped.tv_sec == 0;
	struct ri_procstat process;

	if (info->si_signo == SIGCHLD || info->si_pid == getpid() || ri_helper_took(info))
		return;
	/* Open MPI sends SIGCONT first, a moment before; of the stop itself it may be dying now */
	if ((bit == RI_MASK_OF(SIGCONT) || stops) && ri_proc_read(rank, &process))
		own.dying = own.dying || process.dumping || (process.dying && !stops &&
			!is_stopped());
	own.got |= bit;
	if (stops)
		ri_clock_read(CLOCK_REALTIME, &own.stopped);
	/* one that has made a group of its own, as timeout(1) does, gets it from us alone */
	if (getpgid(rank) != getpgrp())
		ri_children_signal(getpgid(rank) > 0 ? -getpgid(rank) : rank, info->si_signo);
	else if ((own.early & bit) != 0 || !has_all(info))
		ri_children_signal(rank, info->si_signo);
	own.early &= ~bit;
}

/* Signals that a program's own mistakes make; what ends it by another one came from outside. */
#define FAULTS (RI_MASK_OF(SIGSEGV) | RI_MASK_OF(SIGBUS) | RI_MASK_OF(SIGFPE) | \
	RI_MASK_OF(SIGILL) | RI_MASK_OF(SIGABRT) | RI_MASK_OF(SIGSYS) | RI_MASK_OF(SIGTRAP) | \
	RI_MASK_OF(SIGPIPE))

/* The signal that may have come from outside, also by the status of a shell; 0: none. */
static ri_sigset sent_signal(const struct ri_child *child)
{
	int number = ri_child_status(child->wait_status) - 128;
	ri_sigset bit = number > 0 && number <= RI_SIGNAL_MAX ? RI_MASK_OF(number) : 0;

	return WIFSIGNALED(child->wait_status) ? bit & ~FAULTS & ~RI_MASK_OF(SIGKILL)
		: bit & STOPS;
}

/* Slurm signals the processes of a step one by one. Where it is SIGKILL we are the next to end. */
static void wait_for_stop(const struct ri_child *child)
{
	bool killed = own.launcher == 0 && child->wait_status == SIGKILL;
	ri_sigset sent = sent_signal(child);
	siginfo_t info;

	is_stopped();
	if ((own.got & sent) == 0 && (killed || sent != 0) &&
		ri_mask_wait_for(sent | STOPS, &info, STOP_MS) != 0) {
		own.got |= RI_MASK_OF(info.si_signo);
		if (own.stopped.tv_sec == 0)
			ri_clock_read(CLOCK_REALTIME, &own.stopped);
	}
}

/*
 * Did it end because it was stopped, or by another signal that we have, too? Not so if its end had
 * begun before, or if it made the signal itself. A status may be what its handler makes of a stop,
 * and an exception that was printed before may have been caught: it is not named for these.
 */
static bool was_stopped(const struct ri_child *child)
{
	bool fault = WIFSIGNALED(child->wait_status) &&
		(RI_MASK_OF(WTERMSIG(child->wait_status)) & FAULTS) != 0;

	return (own.got & sent_signal(child)) != 0 ||
		(own.stopped.tv_sec != 0 && !own.dying && !fault);
}

/* A line for it, and its end comes a moment after the first one's. A stop ends the waiting. */
static void tell_victim(const struct ri_run *run, const struct ri_rank_outcome *rank)
{
	uint64_t ranks = 0;
	siginfo_t info;
	bool many;
	RI_TEXT(out, RI_MAX_LINE);

	ri_topology_get(&run->found.topology, RI_FACT_WORLD_SIZE, &ranks);
	many = ranks > MANY;
	ri_rank_add_end(&out, rank);
	if (many && ri_mask_wait_for(STOPS | RI_MASK_OF(SIGCONT), &info, VICTIM_MS) != 0)
		return;
	ri_log(RI_LEVEL_ALWAYS, "rank %llu %s: %s", (unsigned long long)rank->rank,
		ri_outcome_deed(rank->evidence.loss), out.bytes);
	if (!many)
		ri_mask_wait_for(STOPS | RI_MASK_OF(SIGCONT), &info, VICTIM_MS);
}

static bool hold_line(const char *line, size_t length)
{
	if (length > sizeof(own.text) - own.length)
		return true;
	memcpy(own.text + own.length, line, length);
	own.length += length;
	return true;
}

/*
 * In one write, which a pipe takes whole (pipe(7), PIPE_BUF): the launcher may end between two of
 * them. What is too long loses lines of its middle, the traceback's: the last one has the verdict.
 */
static void write_lines(void)
{
	static const char cut[] = "rankinit:   ...\n";
	struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };
	size_t head = own.length, tail = own.length;

	if (own.length > PIPE_BUF) {
		head = PIPE_BUF / 2;
		while (head > 0 && own.text[head - 1] != '\n')
			head--;
		tail = own.length - (PIPE_BUF - head - strlen(cut));
		while (tail < own.length && own.text[tail - 1] != '\n')
			tail++;
		memcpy(own.text + head, cut, strlen(cut));
		head += strlen(cut);
		memmove(own.text + head, own.text + tail, own.length - tail);
		own.length = head + own.length - tail;
	}
	if (own.length > 0 && poll(&ready, 1, READER_MS) != 0 &&
		write(STDERR_FILENO, own.text, own.length) < 0)
		own.length = 0;
}

/* As the rank has ended, by the same signal: without a core of ours. */
static int end_alike(const struct ri_run *run, int status)
{
	const struct rlimit none = { 0, 0 };
	int wait_status = run->started.children.items[0].wait_status;
	int number = WTERMSIG(wait_status);

	if (!WIFSIGNALED(wait_status))
		return status;
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	sigaction(number, &(const struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	ri_mask_set(~RI_MASK_OF(number));
	kill(getpid(), number);
	return status;
}

int ri_run_behind(struct ri_run *run, struct ri_launch *launch)
{
	struct ri_children *children = &run->started.children;
	struct ri_child *child = &children->items[0];
	struct ri_output *output = &run->started.output;
	struct ri_rank_outcome rank = { .pid = 0 };
	siginfo_t info;
	int status, reaped;

	ri_descendants_init(launch->self);
	own.by_step = ri_step_tells_all(&run->found.env);
	launch->die_with_us = true;
	ri_clock_read(CLOCK_REALTIME, &run->started.at);
	ri_judge_plan(ri_judge_answer, run, 1);
	if (ri_ranks_spawn(NULL, launch, children, output, &run->err) < 0) {
		/* no process more: then without one */
		launch->outputs[0] = launch->outputs[1] = -1;
		launch->die_with_us = false;
		if (run->err.code == RI_CODE_SPAWN_REFUSED)
			ri_launch_replace(launch, &run->err);
		return ri_run_fail(run);
	}
	own.early = ri_mask_pending() & ~RI_MASK_OF(SIGCHLD);
	leave_stdio();
	if (chdir("/") < 0)
		ri_log(RI_LEVEL_NOTE, "cannot change to /: %s", strerror(errno));
	ri_oom_watch(&run->started.oom);
	output->alarm = begin_looks;
	output->context = run;
	while ((reaped = reap(children)) == 0) {
		if (ri_output_wait(output, &info, time_left(output)) != 0)
			take_signal(&info, child->pid);
		if (own.looks)
			take_time(run);
	}
	output->alarm = NULL;
	ri_course_end();
	if (reaped < 0) {
		/* it dies with us */
		ri_fail(&run->err, RI_CODE_WAIT_REFUSED, "wait4", "the kernel refuses to report "
			"how the command ends: %s", strerror(errno));
		ri_fail_hint(&run->err, "allow this call in the seccomp profile");
		return ri_run_fail(run);
	}
	wait_for_stop(child);
	ri_output_finish(output, is_stopped());
	status = ri_child_status(child->wait_status);
	if (status == 0)
		return ri_run_end(run, 0);
	if (was_stopped(child))
		return end_alike(run, status);
	ri_topology_get(&run->found.topology, RI_FACT_RANK, &rank.rank);
	ri_failure_describe(child, output, 0, &rank);
	ri_class_find(&rank);
	if (rank.evidence.class == RI_CLASS_LOSS) {
		tell_victim(run, &rank);
	} else {
		ri_log_through(hold_line);
		status = ri_run_tell(run, status);
		write_lines();
	}
	return end_alike(run, status);
}
