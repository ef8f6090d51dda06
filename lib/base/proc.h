/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel says of a process, of mounts and of cgroups, by its files. */
#ifndef RI_BASE_PROC_H
#define RI_BASE_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/host.h"

/*
 * What stands in the text of a file behind NAME and end at the start of a line, past the blanks
 * there; NULL: no line begins so.
 */
const char *ri_proc_field(const char *text, const char *name, char end);

/*
 * One process as /proc/PID/stat tells it (proc(5), fields 1 to 6, 9, 10, 14, 15, 22, 33 and 34).
 */

struct ri_procstat {
	pid_t pid;
	pid_t parent;
	pid_t group;
	pid_t session;		/* 0: its leader is not of our PID namespace */
	char state;		/* 'R', 'S', 'D', 'T', 'Z', ... */
	char name[16];		/* cut by the kernel; may hold any byte */
	bool dying;		/* its end has begun, or it is a zombie */
	bool dumping;		/* the kernel writes its core */
	uint64_t started;	/* clock ticks since boot: tells a reused pid */
	uint64_t ticks;		/* of a CPU that it was given, for itself and in the kernel */
	uint64_t faults;	/* pages of memory that it was given without reading them */
	uint64_t blocked;	/* of signals 1 to 31, 1 << (number - 1), by its first thread */
	uint64_t ignored;	/* the same, those that do nothing */
	uint64_t caught;	/* the same, those with a handler */
};

/*
 * Read the text of the file. Returns false, and leaves *out, if it is not one. Where it ends before
 * the signals, all of them count as blocked, as ignored and as caught.
 */
bool ri_procstat_read(const char *text, struct ri_procstat *out);

/*
 * /proc/self/mountinfo: what is mounted where (proc(5); kernel documentation,
 * filesystems/proc.rst, 3.5).
 */

/* One mount. The strings lie in the text that was read. */
struct ri_mount {
	uint64_t id;
	const char *root;	/* what of the file system is mounted: "/" is all of it */
	const char *point;	/* where */
	const char *flags;	/* of this mount: "ro,nosuid,relatime" */
	const char *type;	/* "tmpfs", "cgroup2" */
	const char *source;	/* of what: a device, "server:/export", a program, "none", "" */
	const char *options;	/* of the file system: "rw,size=65536k" */
};

/*
 * Take the next line off *text, which is cut into strings; \040 and the like
 * become what they stand for. Lines that are no mounts are passed over. False
 * when there is no more.
 */
bool ri_mount_next(char **text, struct ri_mount *out);

/*
 * The mount that a path lies on: the longest mount point that it begins with,
 * of equal ones the last. text is cut up as by ri_mount_next; path is absolute,
 * without "..", "." or links. False where no mount holds it.
 */
bool ri_mount_of(char *text, const char *path, struct ri_mount *out);

/*
 * The cgroups of this process, as /proc/self/cgroup names them, and of the
 * memory cgroup, where its out-of-memory kills are counted. Version 2 counts
 * them in memory.events, version 1 in memory.oom_control (kernel documentation,
 * admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst; the oom_kill line is
 * there since Linux 4.13).
 */

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
 * Does the kernel kill all processes of the cgroup of that file at once where memory runs out
 * (memory.oom.group of version 2, admin-guide/cgroup-v2.rst)?
 */
bool ri_cgroup_oom_kills_all(struct ri_host *host, const struct ri_cgroup_oom *oom);

/*
 * How many bytes more the cgroup of that file may take before processes are killed: up to its
 * limit, with what it has in the page cache (memory.max, memory.current and memory.stat; version
 * 1: memory.limit_in_bytes, memory.usage_in_bytes). UINT64_MAX: it has no limit. Returns 0, or -1.
 */
int ri_cgroup_room(struct ri_host *host, const struct ri_cgroup_oom *oom, uint64_t *bytes);

#endif
