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
	size_t matched;		/* bytes of RI_TRACEBACK that were there last */
};

/*
 * Did RI_TRACEBACK (Python's Lib/traceback.py) come by? It may stand behind what
 * others write before it: torch's "[rank3]: " (torch/distributed/
 * distributed_c10d.py, _distributed_excepthook), the time of a log, a bar of
 * progress that ended no line.
 */
bool ri_watch_add(struct ri_watch *watch, const char *bytes, size_t length);

#endif
