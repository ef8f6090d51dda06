/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of log files: text in which %r is the rank, %l the local rank, %n the
 * index of the node, %h its host name and %% a percent sign.
 */
#ifndef RI_OUTPUT_PATTERN_H
#define RI_OUTPUT_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct ri_pattern_use {
	bool rank;		/* %r or %l: another file for each rank of a node */
	bool node;
	bool host;
};

struct ri_pattern_values {
	uint64_t rank;
	uint64_t local_rank;
	uint64_t node;
	const char *host;
};

/* What stands in it? False where a % is followed by none of these. */
bool ri_pattern_read(const char *pattern, struct ri_pattern_use *use);

/*
 * The name for these values, of a pattern that can be read. A '/' in the name
 * of the host becomes '_': it is no folder. NULL when out of memory.
 */
const char *ri_pattern_expand(const char *pattern, const struct ri_pattern_values *values,
	struct ri_arena *arena);

#endif
