/* SPDX-License-Identifier: Apache-2.0 */
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
#ifndef RI_OUTPUT_LINES_H
#define RI_OUTPUT_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/limits.h"

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

#endif
