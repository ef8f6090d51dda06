/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a process as /proc/PID/limits lists them (proc(5)). */
#ifndef RI_NODE_LIMITS_H
#define RI_NODE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/host.h"

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
