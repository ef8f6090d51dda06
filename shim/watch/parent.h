/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a process that has its SIGTERM hands it on to what it started. */
#ifndef RI_SHIM_WATCH_PARENT_H
#define RI_SHIM_WATCH_PARENT_H

#include <stdbool.h>

#include "base/procstat.h"

/*
 * The shell that runs in this process, "bash", or NULL. A script has its own name there, so the
 * file that is executed decides, and the name only where the kernel does not show that file.
 */
const char *ri_parent_shell(const struct ri_procstat *process);

/*
 * Is this process its living parent's to stop? A program that outlives a SIGTERM has caught it, and
 * passes it on, as launchers do, or needs its children for a checkpoint. A shell runs its trap at
 * once where it started this process with "&", but only after the end of one that it waits for:
 * that one is not told. Where /proc does not show what the parent is, neither is.
 * Not to be asked of a child of rankinit.
 */
bool ri_parent_stops(const struct ri_procstat *process);

#endif
