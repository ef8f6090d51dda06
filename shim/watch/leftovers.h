/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command left behind: torchrun's workers in sessions of their own,
 * the python below a shell, mpirun's ranks. Found, told to stop exactly once,
 * and in the end killed.
 *
 * PID 1 of a namespace signals all of it at once with kill(-1), which no fork
 * escapes, unless somebody must be left out: the command at half of the grace,
 * the ranks of an mpirun. Then, and when we are not PID 1, processes are looked
 * for in /proc. Not PID 1 never uses kill(-1), which would hit every process
 * of the user.
 */
#ifndef RI_SHIM_WATCH_LEFTOVERS_H
#define RI_SHIM_WATCH_LEFTOVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/procstat.h"
#include "launch/children.h"
#include "system/log.h"

/* To be called before the others, with our own pid. */
void ri_leftovers_init(pid_t own_pid);

/* What is started from this file passes a stop on, as a launcher does; its name is copied. */
void ri_leftovers_add_relay(const char *program);

/* Has it the name of one of those, or of a launcher that does the same? */
bool ri_leftovers_is_relay(const struct ri_procstat *process);

/*
 * This process gets its own SIGTERM, and no second one here. To be called
 * before it is sent.
 */
void ri_leftovers_spare(pid_t pid);

/*
 * The same for the members of the groups that these lead, or left behind: with
 * a leader that was reaped a group is theirs while nobody else has its number.
 */
void ri_leftovers_spare_groups(struct ri_children *children);

/*
 * A signal for each process of ours in a group whose leader was reaped; none
 * where /proc does not tell who that is.
 */
void ri_leftovers_signal_groups(const struct ri_children *children, int number);

/* Does /proc show our own processes? */
bool ri_leftovers_can_look(void);

/* What /proc says of this child. False where that cannot be known. */
bool ri_leftovers_read(pid_t pid, struct ri_procstat *out);

/*
 * Calls visit for every process of ours, zombies included, until it says stop.
 * Returns false where /proc cannot be listed.
 */
bool ri_leftovers_each(bool (*visit)(const struct ri_procstat *process, void *context),
	void *context);

/* SIGCONT for a process of ours that is stopped, and would not see its SIGTERM. */
void ri_leftovers_wake(pid_t pid);

/*
 * Once the groups were signalled: who left one meanwhile may have missed that,
 * and a member that is stopped gets a SIGCONT, to see it.
 */
void ri_leftovers_recheck(void);

/*
 * SIGTERM for every process that has not had one, and SIGCONT for those that
 * are stopped, since a stopped process would never see it. Children of a
 * process that was told are its own business: a shell's trap may be saving.
 * What runs below a launcher that passes a SIGTERM on is that launcher's.
 * command_lives: a command that was spared is not hit by kill(-1), but where
 * /proc is not ours, and there is no other way to reach the rest.
 */
void ri_leftovers_stop(bool command_lives);

/* An orphan was reaped: a launcher that was to tell others may be gone. */
void ri_leftovers_stop_orphans(void);

/*
 * A warning about a child that is a shell with a child of its own. A shell with a trap
 * for SIGTERM runs it when what it runs has ended, and without --grace nobody tells that
 * (bash(1), "Signals").
 */
void ri_leftovers_say_shell(const struct ri_children *children);

/* SIGKILL for all that is there. */
void ri_leftovers_kill(void);

/*
 * "WHAT: python3 (12), sh (13, zombie of 12)": name what is there, at most a few. Nothing is
 * said where nothing is there.
 */
void ri_leftovers_say(enum ri_level level, const char *what);

#endif
