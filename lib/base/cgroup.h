/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory cgroup of this process: where its out-of-memory kills are
 * counted. Version 2 counts them in memory.events, version 1 in
 * memory.oom_control (kernel documentation, admin-guide/cgroup-v2.rst and
 * cgroup-v1/memory.rst; the oom_kill line is there since Linux 4.13).
 */
#ifndef RI_BASE_CGROUP_H
#define RI_BASE_CGROUP_H

#include <stdint.h>

#include "base/host.h"

enum { RI_CGROUP_PATH = 512 };

/* The file that counts. Empty path: none was found. */
struct ri_cgroup_oom {
	char path[RI_CGROUP_PATH];
};

/*
 * Find the file and read it once. Returns 0 and the number of kills so far,
 * or -1 where there is no such file (no cgroup, an old kernel, no /sys).
 */
int ri_cgroup_oom_find(struct ri_host *host, struct ri_cgroup_oom *oom, uint64_t *kills);

/* Read the file that was found again. Returns 0, or -1. */
int ri_cgroup_oom_read(struct ri_host *host, const struct ri_cgroup_oom *oom, uint64_t *kills);

#endif
