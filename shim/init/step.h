/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signals that Slurm sends to a step (scancel, --signal, a time limit).
 * Which processes they reach depends on how the cluster tracks processes: with
 * proctrack/cgroup the task alone, so that a parent has to forward them; with
 * proctrack/linuxproc every process, with proctrack/pgid the task's process
 * group (Slurm src/plugins/proctrack). In the last two a command that is in our
 * group has been told when we are.
 */
#ifndef RI_SHIM_INIT_STEP_H
#define RI_SHIM_INIT_STEP_H

#include <signal.h>
#include <stdbool.h>

#include "base/env.h"

/*
 * Look once, before the spawn: are we in a step whose signals reach the
 * command too, if it stays in our process group? Without a step it reads the
 * environment alone.
 */
bool ri_step_tells_all(const struct ri_env *env);

/* Was the signal sent by the step's daemon, as far as can be seen from here? */
bool ri_step_sent(const siginfo_t *info);

#endif
