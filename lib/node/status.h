/* SPDX-License-Identifier: Apache-2.0 */
/* What a process may do, as its /proc/PID/status says (proc(5)). */
#ifndef RI_NODE_STATUS_H
#define RI_NODE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/host.h"

/* linux/capability.h: the bit of each that a check asks for */
enum {
	RI_CAP_IPC_LOCK = 14,
	RI_CAP_SYS_PTRACE = 19,
	RI_CAP_SYS_NICE = 23,
	RI_CAP_SYS_RESOURCE = 24,
};

struct ri_status {
	uint64_t effective;	/* CapEff */
	uint64_t bounding;	/* CapBnd */
	uint64_t uid;		/* the effective one */
	int seccomp;		/* 0, 1 or 2; -1: not said */
};

/* Read the text of the file. False, and *out untouched, without capabilities in it. */
bool ri_status_read(const char *text, struct ri_status *out);

bool ri_status_has(const struct ri_status *status, int capability);

#endif
