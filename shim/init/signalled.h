/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes had their SIGTERM, so that none gets a second one. The memory is
 * there from the start, since none is allocated while ranks run, and a process is found
 * by its pid, since each pass over /proc asks for each of thousands.
 */
#ifndef RI_SHIM_INIT_SIGNALLED_H
#define RI_SHIM_INIT_SIGNALLED_H

#include <stdbool.h>

#include "base/procstat.h"

/* Begin a pass over /proc. */
void ri_signalled_begin_pass(void);

/* It had one: this process, not an earlier one of its number. */
bool ri_signalled_has(const struct ri_procstat *process);

/* The process of this number had one, before this pass began. */
bool ri_signalled_had(pid_t pid);

/* It gets one. Returns false where there is no room to remember it. */
bool ri_signalled_add(const struct ri_procstat *process);

/* Forget the processes for which forget() is true; *then has the group that each was in. */
void ri_signalled_forget(bool (*forget)(const struct ri_procstat *then));

#endif
