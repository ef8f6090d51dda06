/* SPDX-License-Identifier: Apache-2.0 */
/* What a process may do and how much, as its /proc/PID says (proc(5)). */
#ifndef RI_NODE_ALLOWED_H
#define RI_NODE_ALLOWED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/host.h"

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

#endif
