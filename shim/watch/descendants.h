/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes below rankinit, as /proc shows them: all of the PID namespace where rankinit is its
 * PID 1, else those that descend from it. rankinit's own helpers are not among them.
 */
#ifndef RI_SHIM_WATCH_DESCENDANTS_H
#define RI_SHIM_WATCH_DESCENDANTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/procstat.h"

enum { RI_GENERATIONS = 512 };	/* between a descendant and rankinit, that are walked at most */

/* Call this before the others, with rankinit's own pid. */
void ri_descendants_init(pid_t own_pid);

/* Does /proc show our own processes? */
bool ri_descendants_are_shown(void);

/*
 * What /proc says of its parent (ri_proc_read); *process may be *out. False also where the parent
 * has ended.
 */
bool ri_descendants_read_parent(const struct ri_procstat *process, struct ri_procstat *out);

/*
 * Call visit for each process of ours, zombies included, until it returns false. Returns false
 * where /proc cannot be listed.
 */
bool ri_descendants_each(bool (*visit)(const struct ri_procstat *process, void *context),
	void *context);

#endif
