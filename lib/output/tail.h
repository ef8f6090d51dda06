/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is remembered of a rank's standard error: its last bytes, and whether
 * a traceback went by.
 */
#ifndef RI_OUTPUT_TAIL_H
#define RI_OUTPUT_TAIL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/limits.h"

/* A beginning: .bytes has room for RI_OUTPUT_TAIL, all else is zero. */
struct ri_tail {
	char *bytes;		/* a ring */
	size_t next;		/* where the next byte goes */
	size_t length;
};

void ri_tail_add(struct ri_tail *tail, const char *bytes, size_t length);

/* The bytes in one piece, oldest first; good until more are added. */
const char *ri_tail_read(struct ri_tail *tail, size_t *length);

#define RI_TRACEBACK "Traceback (most recent call last):"

/* A beginning is all zero. */
struct ri_watch {
	char line[64];		/* how the present line begins */
	size_t length;
	bool judged;		/* the rest of the line does not matter */
};

/*
 * Did a line begin with RI_TRACEBACK (Python's Lib/traceback.py), also behind the "[rank3]: "
 * that torch puts before each line (torch/distributed/distributed_c10d.py,
 * _distributed_excepthook)?
 */
bool ri_watch_add(struct ri_watch *watch, const char *bytes, size_t length);

#endif
