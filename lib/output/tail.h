/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is remembered of a rank's standard error: its last bytes, and how the last traceback began,
 * however long it is: a message may have a tensor in it, or a batch of text.
 */
#ifndef RI_OUTPUT_TAIL_H
#define RI_OUTPUT_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

enum { RI_TAIL_ROOM = RI_OUTPUT_TAIL + RI_OUTPUT_HEAD };

/* A beginning: .bytes has room for RI_TAIL_ROOM, all else is zero. */
struct ri_tail {
	char *bytes;		/* the head, and behind it a ring */
	size_t next;		/* where the next byte goes */
	size_t length;
	uint64_t total;		/* bytes that have come */
	uint64_t mark;		/* of these, where the head begins */
	bool marked;
	bool has_head;		/* it is full; else what it would have is still in the ring */
};

void ri_tail_add(struct ri_tail *tail, const char *bytes, size_t length);

/*
 * The line whose beginning was added last begins a traceback: from there on the first bytes are
 * kept. One that begins in the first half of what is kept of another is a part of that: exceptions
 * are chained.
 */
void ri_tail_mark(struct ri_tail *tail);

/* RI_OUTPUT_TAIL bytes at most. */
struct ri_tail_text {
	const char *bytes;
	size_t length;
	size_t head;		/* of these, how the last traceback began; 0: the rest has it */
	bool cut;		/* the first line may be half of one */
	uint64_t head_at;	/* where the head began */
	uint64_t total;		/* bytes that had come: the same number, the same text */
};

/*
 * What is remembered, in one piece, oldest first; good until more is added. After a head the next
 * byte is the end of a line, or there is none.
 */
struct ri_tail_text ri_tail_read(struct ri_tail *tail);

/* Of a text what came from the byte of this number on, and before that one. */
struct ri_tail_text ri_tail_between(struct ri_tail_text text, uint64_t from, uint64_t to);

#define RI_TRACEBACK "Traceback (most recent call last):"

/* What ray.init() logs when it has started Ray here (ray 2.60 python/ray/_private/worker.py). */
#define RI_RAY_BEGINS "Started a local Ray instance."

/* What each rank of Lightning logs as it begins (2.6 lightning/fabric/utilities/distributed.py) */
#define RI_LIGHTNING_BEGINS "Initializing distributed: GLOBAL_RANK: "

/* A beginning is all zero. */
struct ri_watch {
	size_t matched;		/* bytes of the words that were there last */
};

/*
 * Do the words come by, whose first letter comes but once in them? RI_TRACEBACK (Python's
 * Lib/traceback.py) may stand behind what others write before it: torch's "[rank3]: "
 * (torch/distributed/distributed_c10d.py, _distributed_excepthook), the time of a log, a bar of
 * progress that ended no line. Returns how many of the bytes were looked at: up to the end of the
 * first one, where *found, or all.
 */
size_t ri_watch_add(struct ri_watch *watch, const char *words, const char *bytes, size_t length,
	bool *found);

#endif
