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

/* One process as /proc/PID/stat tells it (proc(5)). */
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
	/* signals 1 to 31 of its first thread, as 1 << (number - 1) */
	uint64_t blocked, ignored, caught;
};

/*
 * Read the text of the file. Returns false, and leaves *out, if it is not one. Where it ends before
 * the signals, all of them count as blocked, as ignored and as caught.
 */
bool ri_procstat_read(const char *text, struct ri_procstat *out);

/*
 * One mount of /proc/self/mountinfo (proc(5); kernel documentation, filesystems/proc.rst, 3.5). The
 * strings lie in the text that was read.
 */
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
 * Take the next mount off *text, which is cut into strings; \040 and the like become what they
 * stand for. False when there is no more.
 */
bool ri_mount_next(char **text, struct ri_mount *out);

/*
 * The mount that a path lies on: the longest mount point that it begins with, of equal ones the
 * last. The text is cut up; the path is absolute, without "..", "." or links. False: none holds it.
 */
bool ri_mount_of(char *text, const char *path, struct ri_mount *out);

/*
 * The cgroups of this process, as /proc/self/cgroup names them. Out-of-memory kills are counted in
 * memory.events of version 2, and in memory.oom_control of version 1 (kernel documentation,
 * admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst; oom_kill is there since Linux 4.13).
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

/* Take the next one off *text. False when there is no more. */
bool ri_cgroup_next(const char **text, struct ri_cgroup_member *out);

/* Is it a hierarchy of version 1 with this controller? */
bool ri_cgroup_controls(const struct ri_cgroup_member *member, const char *controller);

struct ri_cgroup_oom {
	char path[RI_CGROUP_PATH];	/* of the file that counts; "": none was found */
};

/* Find the file, and the number of kills so far; or read it again. -1: there is none. */
int ri_cgroup_oom_find(struct ri_host *host, struct ri_cgroup_oom *oom, uint64_t *kills);
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
