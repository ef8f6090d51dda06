/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel says in small files of /proc, /sys and of cgroups: single values, and how much
 * of what a process may use.
 */
#ifndef RI_NODE_SYSFILE_H
#define RI_NODE_SYSFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cgroup.h"
#include "base/host.h"

/*
 * Files that hold one value (kernel documentation, filesystems/sysfs.rst). They may be absent, and
 * reading one may fail with EINVAL or EIO: then there is no value.
 */

/* The first line without the blanks around it; false, and "", where there is none. */
bool ri_sysfile_line(struct ri_host *host, const char *path, char *line, size_t size);

/* The number with which the file begins: 4 of "4: ACTIVE". */
bool ri_sysfile_number(struct ri_host *host, const char *path, uint64_t *out);

/*
 * What stands in the text of a file behind NAME and end at the start of a line, past the blanks
 * there; NULL: no line begins so.
 */
const char *ri_sysfile_field(const char *text, const char *name, char end);

/* The rest of its line without the blanks around it; false, and "": it is empty or too long. */
bool ri_sysfile_rest(const char *text, char *line, size_t size);

/* What a process may do and how much, as its /proc/PID says (proc(5)). */

/* linux/capability.h: the bit of each that a check asks for */
enum {
	RI_CAP_IPC_LOCK = 14,
	RI_CAP_SYS_PTRACE = 19,
};

/* Of /proc/PID/status. */
struct ri_status {
	uint64_t effective;	/* CapEff */
	uint64_t uid;		/* the effective one */
	int seccomp;		/* 0, 1 or 2; -1: not said */
};

/* Read the text of the file. False, and *out untouched, without capabilities in it. */
bool ri_status_read(const char *text, struct ri_status *out);

bool ri_status_has(const struct ri_status *status, int capability);

/* Of /proc/PID/limits. */
enum ri_limit_name {
	RI_LIMIT_CORE,
	RI_LIMIT_MEMLOCK,
	RI_LIMIT_NOFILE,
	RI_LIMIT_NPROC,
	RI_LIMIT_STACK,
	RI_LIMIT_COUNT,
};

#define RI_UNLIMITED UINT64_MAX

struct ri_limit {
	uint64_t soft;
	uint64_t hard;
};

/* Find one in the text of such a file. False, and *out untouched, where it is not in it. */
bool ri_limit_read(const char *text, enum ri_limit_name name, struct ri_limit *out);

/* The same from the machine's proc/self/limits. */
bool ri_limit_read_file(struct ri_host *host, enum ri_limit_name name, struct ri_limit *out);

/*
 * What our cgroup grants. A limit of any cgroup around it is one of ours, as far as these are
 * mounted (kernel documentation, admin-guide/cgroup-v2.rst and cgroup-v1/).
 */
enum ri_group_kind {
	RI_GROUP_CPU,		/* thousandths of a CPU, at least 1 */
	RI_GROUP_MEMORY,	/* bytes */
	RI_GROUP_PIDS,		/* processes and threads */
};

struct ri_group_limit {
	uint64_t number;		/* UINT64_MAX: none is set */
	char path[RI_CGROUP_PATH];	/* the file that says so; empty: none does */
};

/* The smallest of a kind. False where no such file is there, or none of the CPU says a number. */
bool ri_group_limit_find(struct ri_group_limit *out, enum ri_group_kind kind,
	struct ri_host *host, struct ri_arena *arena);

#endif
