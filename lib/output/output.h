/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks write, on its way: patterns of names, prefixed lines, and their ends. */
#ifndef RI_OUTPUT_OUTPUT_H
#define RI_OUTPUT_OUTPUT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/limits.h"

/*
 * Names of log files: text in which %r is the rank, %l the local rank, %n the
 * index of the node, %h its host name and %% a percent sign.
 */

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

/*
 * A stream of bytes cut into whole lines with a prefix, whatever the pieces in
 * which it arrives.
 *
 * A line ends in '\n', or in a '\r' that no '\n' follows, as those of a bar of
 * progress do; all bytes pass unchanged. A '\r' alone gets no prefix. A line
 * that is longer than RI_OUTPUT_LINE goes out in pieces of that size (up to
 * three bytes less, where a UTF-8 sequence would be cut), each a line of its
 * own. A piece that continues a line has "+" in place of the last character
 * of the prefix: "[3] begin", "[3]+more". So the bytes that were written can
 * be put together again.
 */

enum { RI_LINES_PREFIX = 20 };	/* bytes of a prefix, at most: "[1048575:1048575] " */

/* A beginning: .held has room for RI_OUTPUT_LINE + 1 bytes, all else is zero. */
struct ri_lines {
	char *held;		/* the line that has not ended yet */
	size_t held_length;
	bool inside;		/* pieces of it went out already */
	char prefix[RI_LINES_PREFIX];
	size_t prefix_length;	/* 0: none, and no mark either */
};

/* What ri_lines_cut puts out for so many bytes and such a prefix, at most, and room to work in. */
#define RI_LINES_ROOM(length, prefix) \
	(RI_OUTPUT_LINE + (length) + ((length) + 2) * ((prefix) + 1) + RI_LINES_PREFIX + 16)

/*
 * Take bytes in, put the lines that they complete out. Returns their size;
 * what stands behind them, within that room, has no meaning.
 */
size_t ri_lines_cut(struct ri_lines *lines, const char *in, size_t length, char *out);

/* No more comes: put out what is left, and complete it. Needs RI_LINES_ROOM(1, prefix). */
size_t ri_lines_finish(struct ri_lines *lines, char *out);

/*
 * What is remembered of a rank's standard error: its last bytes, and how the last traceback began,
 * however long it is: a message may have a tensor in it, or a batch of text.
 */

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
