/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroups of this process, as /proc/self/cgroup names them, and of the
 * memory cgroup, where its out-of-memory kills are counted. Version 2 counts
 * them in memory.events, version 1 in memory.oom_control (kernel documentation,
 * admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst; the oom_kill line is
 * there since Linux 4.13).
 */
#ifndef RI_BASE_CGROUP_H
#define RI_BASE_CGROUP_H

#include "base/host.h"

enum {
	RI_CGROUP_PATH = 512,
	/* thirteen hierarchies of version 1, each with the path of a nested container */
	RI_CGROUP_FILE = 16384,
	RI_CGROUP_COUNTS = 1024,	/* ten lines or less, of a word and a number */
};

/* One line of /proc/self/cgroup, "ID:CONTROLLERS:PATH" (cgroups(7)), borrowed. */
struct ri_cgroup_member {
	const char *controllers;	/* empty: version 2 */
	size_t controllers_length;
	const char *path;
	size_t path_length;
};

/*
 * Take the next line of that kind off *text, and go past lines that are none.
 * False when there is no more.
 */
bool ri_cgroup_next(const char **text, struct ri_cgroup_member *out);

/* Is it a hierarchy of version 1 with this controller? */
bool ri_cgroup_controls(const struct ri_cgroup_member *member, const char *controller);

/* Is name one of the words of a list separated by commas? */
bool ri_cgroup_has_word(const char *list, size_t length, const char *name);

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

/*
 * How many bytes more the cgroup of that file may take before processes are killed: up to its
 * limit, with what it has in the page cache (memory.max, memory.current and memory.stat; version
 * 1: memory.limit_in_bytes, memory.usage_in_bytes). UINT64_MAX: it has no limit. Returns 0, or -1.
 */
int ri_cgroup_room(struct ri_host *host, const struct ri_cgroup_oom *oom, uint64_t *bytes);

#endif
