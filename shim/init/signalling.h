/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals for the children, for the groups that they lead, and for other processes; and which
 * processes had their SIGTERM, so that none gets a second one. The memory of these is there from
 * the start, since none is allocated while ranks run, and a process is found in it by its pid,
 * since each pass over /proc asks for each of thousands.
 *
 * What Slurm sends to a step (scancel, --signal, a time limit) reaches more or less, by how the
 * cluster tracks processes: with proctrack/cgroup the task alone, so that a parent has to forward
 * it; with proctrack/linuxproc every process, with proctrack/pgid the task's process group (Slurm
 * src/plugins/proctrack). In the last two a command that is in our group was told when we were.
 */
#ifndef RI_SHIM_INIT_SIGNALLING_H
#define RI_SHIM_INIT_SIGNALLING_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/env.h"
#include "launch/children.h"
#include "system/log.h"
#include "system/own_proc.h"

/* To be called before the others, with our own pid. */
void ri_descendants_init(pid_t own_pid);

/*
 * The processes below rankinit, as /proc shows them: all of the PID namespace where rankinit is its
 * PID 1, else those that descend from it. rankinit's own helpers are not among them.
 *
 * Where the ranks may start again in this namespace, it has processes that are not the job's:
 * - one that is older than the first rank, or descends from such a one;
 * - one that came from outside (kubectl exec, docker exec, nsenter): it has, or descends from one
 *   that has, a parent in another PID namespace;
 * - an orphan, which has PID 1 as its parent, of a session of those: whose leader lives and is one,
 *   or whose leader is of another PID namespace, unless that is PID 1's session, too.
 * What is left is the job's, also an orphan whose session's leader is itself or is gone: nothing
 * tells where it came from, and beside it the ranks could not start again, so that the container
 * would end, and that process with it.
 */

/* The ranks may start again, and this is the first one: what is not the job's is not ours. */
void ri_descendants_spare_others(pid_t first_rank);

/* Does /proc show our own processes? */
bool ri_descendants_are_shown(void);

/*
 * The next process of ours in a list of /proc, zombies included. Returns false where there is none,
 * and closes the list.
 */
bool ri_descendants_next(struct ri_proc_list *list, struct ri_procstat *out);

/*
 * groups: each child leads one, and all of it shall get the signal. Of a group whose leader was
 * reaped those processes get it that /proc shows.
 */
void ri_signal_children(const struct ri_children *children, int number, bool groups);

/*
 * To be called before: they get their own SIGTERM, and no second one with what is left behind. The
 * group of a leader that was reaped is theirs as long as no process has its number again.
 */
void ri_spare_children(struct ri_children *children, bool groups);

/* SIGCONT for a process of ours that is stopped, and would not see its SIGTERM. */
void ri_signal_wake(pid_t pid);

/*
 * After the groups were signalled: a process that left one meanwhile may have missed the signal
 * and counts as not told. A member that is stopped gets a SIGCONT, to see it.
 */
void ri_signal_recheck(void);

/*
 * Look once, before the spawn: are we in a step whose signals reach the
 * command too, if it stays in our process group? Without a step it reads the
 * environment alone.
 */
bool ri_step_tells_all(const struct ri_env *env);

/* Was the signal sent by the step's daemon, as far as can be seen from here? */
bool ri_step_sent(const siginfo_t *info);

/*
 * The processes that the command left behind: torchrun's workers in sessions of their own, the
 * python below a shell, mpirun's ranks. rankinit finds them, sends each exactly one SIGTERM, and
 * kills them in the end.
 *
 * PID 1 of a namespace signals all at once with kill(-1), which no fork escapes, unless it must
 * leave out some: the command at half of the grace, the ranks of an mpirun, what is not the job's
 * where the ranks may start again (above). Then, and if rankinit is not PID 1, it
 * looks for them in /proc: kill(-1) of another process than PID 1 would hit every process of the
 * user.
 */

/* A process of this program passes a stop on, as a launcher does; its name is copied. */
void ri_leftovers_add_relay(const char *program);

/* Has it the name of one of those, or of a launcher that does the same? */
bool ri_leftovers_is_relay(const struct ri_procstat *process);

/*
 * SIGTERM for every process that has not had one, and SIGCONT for those that
 * are stopped, since a stopped process would never see it. Children of a
 * process that was told are left to it: a shell's trap may be saving. Processes
 * below a launcher that passes a SIGTERM on are left to that launcher.
 * command_lives: a command that was spared is not hit by kill(-1), unless /proc
 * is not ours, since the rest cannot be reached in another way. passes_on: it was told; while
 * it lives, a process that its parent stops is left to that.
 */
void ri_leftovers_stop(bool command_lives, bool passes_on);

/* An orphan was reaped: a launcher that was to tell others may be gone. */
void ri_leftovers_stop_orphans(void);

/*
 * A warning about a child that is a shell with a child of its own. A shell with a trap
 * for SIGTERM runs it when the program that it started has ended, and without --grace that
 * program is not told to stop (bash(1), "Signals").
 */
void ri_leftovers_say_shell(const struct ri_children *children);

/* SIGKILL for all that are left. */
void ri_leftovers_kill(void);

/*
 * PID 1 has children yet. Are all of them what is not the job's, where that is spared? An orphan of
 * somebody who came from outside is one.
 */
bool ri_leftovers_are_gone(void);

/*
 * "WHAT: python3 (12), sh (13, zombie of 12)": name the processes that are left, at most a few.
 * Without one there is no line.
 */
void ri_leftovers_say(enum ri_level level, const char *what);

#endif
