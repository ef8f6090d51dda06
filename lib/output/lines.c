/* SPDX-License-Identifier: Apache-2.0 */
#include "output/lines.h"

#include <string.h>

static char *add(char *out, const char *bytes, size_t length)
{
	memcpy(out, bytes, length);
	return out + length;
}

static char *add_prefix(const struct ri_lines *lines, char *out)
{
	out = add(out, lines->prefix, lines->prefix_length);
	if (lines->inside && lines->prefix_length > 0)
		out[-1] = '+';
	return out;
}

/* What is held, and the rest of the line up to its '\n'. */
static char *add_line(struct ri_lines *lines, const char *rest, size_t length, char *out)
{
	out = add_prefix(lines, out);
	if (lines->held_length > 0)
		out = add(out, lines->held, lines->held_length);
	lines->held_length = 0;
	lines->inside = false;
	return add(out, rest, length);
}

/* Where a piece ends: not inside a UTF-8 sequence, which has at most 4 bytes. */
static size_t find_piece_end(const char *bytes)
{
	size_t end = RI_OUTPUT_LINE;

	while (end > RI_OUTPUT_LINE - 3 && ((unsigned char)bytes[end] & 0xc0) == 0x80)
		end--;
	return end;
}

/* One byte more than a piece is held, and no end of the line is among them. */
static char *add_piece(struct ri_lines *lines, char *out)
{
	size_t end = find_piece_end(lines->held);

	out = add(add_prefix(lines, out), lines->held, end);
	*out++ = '\n';
	lines->held_length -= end;
	memmove(lines->held, lines->held + end, lines->held_length);
	lines->inside = true;
	return out;
}

size_t ri_lines_cut(struct ri_lines *lines, const char *in, size_t length, char *out)
{
	const char *end = in + length, *newline;
	char *begin = out;
	size_t span;

	while (in < end) {
		/* whether a piece is cut depends on its bytes and the one after it */
		span = RI_OUTPUT_LINE + 1 - lines->held_length;
		if (span > (size_t)(end - in))
			span = (size_t)(end - in);
		newline = memchr(in, '\n', span);
		if (newline != NULL) {
			out = add_line(lines, in, (size_t)(newline + 1 - in), out);
			in = newline + 1;
			continue;
		}
		memcpy(lines->held + lines->held_length, in, span);
		lines->held_length += span;
		in += span;
		if (lines->held_length > RI_OUTPUT_LINE)
			out = add_piece(lines, out);
	}
	return (size_t)(out - begin);
}

size_t ri_lines_finish(struct ri_lines *lines, char *out)
{
	if (lines->held_length == 0)
		return 0;
	return (size_t)(add_line(lines, "\n", 1, out) - out);
}
