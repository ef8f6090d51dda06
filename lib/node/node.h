/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine that is asked, and what it has for ranks: CPUs that may be used
 * and GPUs that can be seen. Only findings and arena are written to.
 */
#ifndef RI_NODE_NODE_H
#define RI_NODE_NODE_H

#include "base/env.h"
#include "base/proc.h"
#include "base/text.h"

/*
 * Files that hold one value (kernel documentation, filesystems/sysfs.rst): its first line, and the
 * number with which it begins, 4 of "4: ACTIVE". They may be absent, and reading one may fail with
 * EINVAL or EIO: then there is no value.
 */
bool ri_sysfile_line(struct ri_host *host, const char *path, char *line, size_t size);
bool ri_sysfile_number(struct ri_host *host, const char *path, uint64_t *out);

/* The rest of a line without the blanks around it; false, and "": it is empty or too long. */
bool ri_sysfile_rest(const char *text, char *line, size_t size);

/* linux/capability.h: the bit of each that a check asks for */
enum { RI_CAP_IPC_LOCK = 14, RI_CAP_SYS_PTRACE = 19 };

/* Of /proc/PID/status (proc(5)). */
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
	uint64_t soft, hard;
};

/* In the text of such a file, or of proc/self/limits. False, and *out untouched: it has none. */
bool ri_limit_read(const char *text, enum ri_limit_name name, struct ri_limit *out);
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

/*
 * Sets of CPUs, and the lists that the kernel writes of them: "0-3,8-11" (cpuset(7), "List
 * format"). CPU n is bit n % 64 of word n / 64: where a long has 64 bits, that is what
 * sched_setaffinity(2) takes.
 */
struct ri_cpus {
	uint64_t words[RI_MAX_CPUS / 64];
};

/*
 * Read a list, of a file, or Cpus_allowed_list of a process's status file (proc(5)), which may
 * have some that are offline. False, and *out untouched, where it is none, or a number in it is
 * RI_MAX_CPUS or larger. An empty list is the empty set.
 */
bool ri_cpus_read(const char *text, struct ri_cpus *out);
bool ri_cpus_read_file(struct ri_host *host, const char *path, struct ri_cpus *out);
bool ri_cpus_read_allowed(struct ri_host *host, const char *path, struct ri_cpus *out);

/* Append the list of them. */
void ri_cpus_add(struct ri_text *text, const struct ri_cpus *cpus);

void ri_cpus_set(struct ri_cpus *cpus, unsigned cpu);
bool ri_cpus_has(const struct ri_cpus *cpus, unsigned cpu);
int ri_cpus_next(const struct ri_cpus *cpus, unsigned from);	/* from on; -1: none */
size_t ri_cpus_size(const struct ri_cpus *cpus);
bool ri_cpus_equal(const struct ri_cpus *a, const struct ri_cpus *b);
size_t ri_cpus_and(struct ri_cpus *into, const struct ri_cpus *other);	/* how many are in both */

struct ri_node {
	struct ri_host *host;
	const struct ri_env *env;
	struct ri_arena *arena;
	struct ri_findings *findings;
	/* sched_getaffinity(2) of this machine; NULL: what the recorded one says */
	const struct ri_cpus *affinity;
};

/*
 * For --nproc-per-node: the CPUs that may be used, at least 1, RI_CODE_CPU_UNKNOWN where the
 * machine does not say; the GPUs that a program would see, which may be none, RI_CODE_ENV_VALUE
 * for a CUDA_VISIBLE_DEVICES that cannot be used, RI_CODE_GPU_UNKNOWN for GPUs that are there and
 * cannot be counted.
 */
int ri_cpus_count(const struct ri_node *node, uint64_t *count, struct ri_error *err);
int ri_gpus_count(const struct ri_node *node, uint64_t *count, struct ri_error *err);

/* Network interfaces of sysfs (kernel documentation, ABI/testing/sysfs-class-net). */
enum { RI_MAX_INTERFACES = 1024 };	/* a host shows one for each of its pods */

struct ri_interface {
	const char *name;
	bool down;		/* it says so itself */
	bool loopback;
};

struct ri_interfaces {
	struct ri_interface *list;	/* by name */
	size_t count;
};

/* False where /sys/class/net cannot be read, or there is no memory: *out may have some of them. */
bool ri_interfaces_find(struct ri_interfaces *out, struct ri_host *host, struct ri_arena *arena);

/* The node's name, from /proc/sys/kernel/hostname; false, and "", where it is not shown. */
bool ri_hostname_read(struct ri_host *host, char *name, size_t size);

/*
 * The first address that the text of /etc/hosts has for a name (hosts(5)), in
 * any case. False, and *address untouched, where it has none.
 */
bool ri_hosts_find(const char *text, const char *name, char *address, size_t size);

/* Lists by which variables choose among interfaces or HCAs: "eth0,ib", "mlx5_0:1". */
enum ri_choice_kind {
	RI_CHOICE_NCCL,		/* all but these: "^ib"; whole names: "=eth0"; else beginnings */
	RI_CHOICE_NAMES,	/* whole names: neither "^" nor "=" means anything */
};

/* Is the name chosen by the list? An empty list chooses all, a lone "^" none (NCCL). */
bool ri_choice_takes(const char *list, enum ri_choice_kind kind, const char *name);

/* What kind of storage is behind a path, by the table of mounts alone. */
enum ri_storage {
	RI_STORAGE_LOCAL,	/* a disk, memory, an image */
	RI_STORAGE_BLOBFUSE,	/* Azure Blob Storage by FUSE */
	RI_STORAGE_CIFS,	/* Azure Files, another SMB share */
	RI_STORAGE_NFS,
	RI_STORAGE_FUSE,	/* another program's file system */
	RI_STORAGE_PARALLEL,	/* Lustre, BeeGFS, GPFS and the like, made for many readers */
};

enum ri_storage ri_storage_of(const struct ri_mount *mount);
const char *ri_storage_name(enum ri_storage storage);

#endif
