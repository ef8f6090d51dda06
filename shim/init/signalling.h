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

#include "base/env.h"
#include "base/proc.h"
#include "launch/children.h"

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

/* A signal for the process that this was read of, and not for another one of its number. */
void ri_signal_process(const struct ri_procstat *process, int number);

/* Begin a pass over /proc. */
void ri_signalled_begin_pass(void);

/* It had one: this process, not an earlier one of its number. */
bool ri_signalled_has(const struct ri_procstat *process);

/* The process of this number had one, before this pass began. */
bool ri_signalled_had(pid_t pid);

/* It gets one. Returns false where there is no room to remember it. */
bool ri_signalled_add(const struct ri_procstat *process);

/* Did members of a group have one? */
bool ri_signalled_groups(void);

/*
 * Look once, before the spawn: are we in a step whose signals reach the
 * command too, if it stays in our process group? Without a step it reads the
 * environment alone.
 */
bool ri_step_tells_all(const struct ri_env *env);

/* Was the signal sent by the step's daemon, as far as can be seen from here? */
bool ri_step_sent(const siginfo_t *info);

#endif
