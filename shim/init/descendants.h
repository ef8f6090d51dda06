/* SPDX-License-Identifier: Apache-2.0 */
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
#ifndef RI_SHIM_INIT_DESCENDANTS_H
#define RI_SHIM_INIT_DESCENDANTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/proc.h"

enum { RI_GENERATIONS = 512 };	/* between a descendant and rankinit, that are walked at most */

/* Call this before the others, with rankinit's own pid. */
void ri_descendants_init(pid_t own_pid);

/* The ranks may start again, and this is the first one: what is not the job's is not ours. */
void ri_descendants_spare_others(pid_t first_rank);

/* Are there such, or may there be? Only where /proc shows them. */
bool ri_descendants_have_others(void);

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
