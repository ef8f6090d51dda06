/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that the command left behind: torchrun's workers in sessions of their own, the
 * python below a shell, mpirun's ranks. rankinit finds them, sends each exactly one SIGTERM, and
 * kills them in the end.
 *
 * PID 1 of a namespace signals all at once with kill(-1), which no fork escapes, unless it must
 * leave out some: the command at half of the grace, the ranks of an mpirun, what is not the job's
 * where the ranks may start again (init/descendants.h). Then, and if rankinit is not PID 1, it
 * looks for them in /proc: kill(-1) of another process than PID 1 would hit every process of the
 * user.
 */
#ifndef RI_SHIM_INIT_LEFTOVERS_H
#define RI_SHIM_INIT_LEFTOVERS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/proc.h"
#include "launch/children.h"
#include "system/log.h"

/* To be called before the others, with our own pid. */
void ri_leftovers_init(pid_t own_pid);

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
