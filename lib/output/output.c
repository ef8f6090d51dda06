/* SPDX-License-Identifier: Apache-2.0 */
#include "output/output.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

static char *add(char *out, const char *bytes, size_t length)
{
	memcpy(out, bytes, length);
	return out + length;
}

/* Of constant size, which is much faster: a few bytes more than the prefix. */
static char *add_prefix(const struct ri_lines *lines, char *out)
{
	memcpy(out, lines->prefix, sizeof(lines->prefix));
	out += lines->prefix_length;
	if (lines->inside && lines->prefix_length > 0)
		out[-1] = '+';
	return out;
}

/* The length of a line whose '\n' or '\r' is at at: "\r\n" is one end. 0: that is not known yet. */
static size_t end_line(char *out, const char *in, size_t at, size_t length)
{
	if (in[at] == '\n')
		return at + 1;
	if (at + 1 == length)
		return 0;
	out[at + 1] = in[at + 1];
	return in[at + 1] == '\n' ? at + 2 : at + 1;
}

/*
 * Copy a line, its end included, and return its length; 0: it has no end in
 * these bytes. To look and to copy at once, sixteen bytes at a time, is worth
 * five times the throughput of memchr and memcpy for lines of 100 bytes. Up to
 * fifteen bytes behind the line are overwritten.
 */
static size_t copy_line(char *out, const char *in, size_t length)
{
	typedef char block __attribute__((vector_size(16)));
	const block newlines = (block){ 0 } + '\n', returns = (block){ 0 } + '\r';
	uint64_t found[2];
	size_t at = 0;
	block bytes;

	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte is the lowest");
	for (; at + sizeof(bytes) <= length; at += sizeof(bytes)) {
		memcpy(&bytes, in + at, sizeof(bytes));
		memcpy(out + at, &bytes, sizeof(bytes));
		/* all bits of a byte that is equal, none of another */
		bytes = (bytes == newlines) | (bytes == returns);
		memcpy(found, &bytes, sizeof(found));
		if (found[0] == 0 && found[1] == 0)
			continue;
		at += found[0] != 0 ? (size_t)__builtin_ctzll(found[0]) / 8
				    : (size_t)__builtin_ctzll(found[1]) / 8 + 8;
		return end_line(out, in, at, length);
	}
	for (; at < length; at++) {
		out[at] = in[at];
		if (in[at] == '\n' || in[at] == '\r')
			return end_line(out, in, at, length);
	}
	return 0;
}

/* Put out the line that ends in these bytes. Returns how many of them it took. */
static size_t add_line(struct ri_lines *lines, const char *in, size_t length, char **out)
{
	char *begin;
	size_t taken;

	/* a long line that comes byte by byte must not be copied each time */
	if (lines->held_length > 0 && memchr(in, '\n', length) == NULL &&
		memchr(in, '\r', length) == NULL)
		return 0;
	begin = add_prefix(lines, *out);
	if (lines->held_length > 0)
		begin = add(begin, lines->held, lines->held_length);
	taken = copy_line(begin, in, length);
	if (taken == 0)
		return 0;
	/* a bar of progress begins with a return: no line of its own */
	if (taken == 1 && begin[0] == '\r' && lines->held_length == 0 && !lines->inside) {
		begin = *out;
		begin[0] = '\r';
	}
	lines->held_length = 0;
	lines->inside = false;
	*out = begin + taken;
	return taken;
}

/* What is held is a line. */
static char *put_held(struct ri_lines *lines, char *out)
{
	bool empty = lines->held_length == 1 && !lines->inside;

	out = add(empty ? out : add_prefix(lines, out), lines->held, lines->held_length);
	lines->held_length = 0;
	lines->inside = false;
	return out;
}

size_t ri_lines_cut(struct ri_lines *lines, const char *in, size_t length, char *out)
{
	const char *end = in + length;
	char *begin = out;

	while (in < end) {
		/* whether a piece is cut depends on its bytes and the one after it */
		size_t span = RI_OUTPUT_LINE + 1 - lines->held_length, taken, piece;

		if (span > (size_t)(end - in))
			span = (size_t)(end - in);
		/* no '\n' has followed */
		if (lines->held_length > 0 && lines->held[lines->held_length - 1] == '\r' &&
			in[0] != '\n') {
			out = put_held(lines, out);
			continue;
		}
		taken = add_line(lines, in, span, &out);
		if (taken == 0) {
			taken = span;
			memcpy(lines->held + lines->held_length, in, span);
			lines->held_length += span;
		}
		in += taken;
		if (lines->held_length <= RI_OUTPUT_LINE)
			continue;
		/* it does not end inside a UTF-8 sequence, which has at most 4 bytes */
		piece = RI_OUTPUT_LINE;
		while (piece > RI_OUTPUT_LINE - 3 &&
			((unsigned char)lines->held[piece] & 0xc0) == 0x80)
			piece--;
		out = add(add_prefix(lines, out), lines->held, piece);
		*out++ = '\n';
		lines->held_length -= piece;
		memmove(lines->held, lines->held + piece, lines->held_length);
		lines->inside = true;
	}
	return (size_t)(out - begin);
}

size_t ri_lines_finish(struct ri_lines *lines, char *out)
{
	char *end = out;

	if (lines->held_length > 0)
		add_line(lines, "\n", 1, &end);
	return (size_t)(end - out);
}

enum { MAX_PREFIX = 512 };	/* bytes before a traceback's first words that are kept with them */

static char *ring_of(const struct ri_tail *tail)
{
	return tail->bytes + RI_OUTPUT_HEAD;
}

/* Of what came last, counted from behind; it is in the ring. */
static char at_back(const struct ri_tail *tail, size_t back)
{
	return ring_of(tail)[(tail->next + RI_OUTPUT_TAIL - back) % RI_OUTPUT_TAIL];
}

void ri_tail_mark(struct ri_tail *tail)
{
	size_t back = 1;

	if (tail->marked && tail->total - tail->mark < RI_OUTPUT_HEAD / 2)
		return;
	while (back < tail->length && back < MAX_PREFIX && at_back(tail, back) != '\n')
		back++;
	if (at_back(tail, back) == '\n')
		back--;
	tail->mark = tail->total - back;
	tail->marked = true;
	tail->has_head = false;
}

void ri_tail_add(struct ri_tail *tail, const char *bytes, size_t length)
{
	size_t part, there, count;

	/* the ring has no room for all that came since the mark: keep how that began */
	if (tail->marked && !tail->has_head &&
		tail->total + length - tail->mark > RI_OUTPUT_TAIL) {
		there = (size_t)(tail->total - tail->mark);
		count = there < RI_OUTPUT_HEAD ? there : RI_OUTPUT_HEAD;
		for (size_t i = 0; i < count; i++)
			tail->bytes[i] = at_back(tail, there - i);
		memcpy(tail->bytes + count, bytes, RI_OUTPUT_HEAD - count);
		tail->has_head = true;
	}
	tail->total += length;
	if (length > RI_OUTPUT_TAIL) {
		bytes += length - RI_OUTPUT_TAIL;
		length = RI_OUTPUT_TAIL;
	}
	for (; length > 0; bytes += part, length -= part) {
		part = RI_OUTPUT_TAIL - tail->next;
		if (part > length)
			part = length;
		memcpy(ring_of(tail) + tail->next, bytes, part);
		tail->next = (tail->next + part) % RI_OUTPUT_TAIL;
		tail->length += part;
	}
	if (tail->length > RI_OUTPUT_TAIL)
		tail->length = RI_OUTPUT_TAIL;
}

static void reverse(char *begin, char *end)
{
	while (begin < end) {
		char byte = *begin;

		*begin++ = *--end;
		*end = byte;
	}
}

struct ri_tail_text ri_tail_read(struct ri_tail *tail)
{
	const size_t most = RI_OUTPUT_TAIL - RI_OUTPUT_HEAD;
	char *ring = ring_of(tail), *end;
	size_t gone;

	/* once it is full, the oldest byte is the one to be overwritten next: it comes first */
	if (tail->length == RI_OUTPUT_TAIL && tail->next != 0) {
		reverse(ring, ring + tail->next);
		reverse(ring + tail->next, ring + RI_OUTPUT_TAIL);
		reverse(ring, ring + RI_OUTPUT_TAIL);
		tail->next = 0;
	}
	if (!tail->has_head)
		return (struct ri_tail_text){
			.bytes = ring, .length = tail->length,
			.cut = tail->total > tail->length, .total = tail->total,
		};
	/*
	 * The ring keeps what the head leaves it. Of the line in which the head breaks off, and of
	 * that in which the rest begins, nothing is left but its end.
	 */
	gone = tail->length > most ? tail->length - most : 0;
	end = memchr(ring + gone, '\n', tail->length - gone);
	gone = end == NULL ? tail->length : (size_t)(end - ring);
	if (gone > 0) {
		tail->length -= gone;
		tail->next = tail->length;
		memmove(ring, ring + gone, tail->length);
	}
	return (struct ri_tail_text){
		.bytes = tail->bytes, .length = RI_OUTPUT_HEAD + tail->length,
		.head = RI_OUTPUT_HEAD, .head_at = tail->mark, .total = tail->total,
	};
}

struct ri_tail_text ri_tail_between(struct ri_tail_text text, uint64_t from, uint64_t to)
{
	uint64_t after = to < text.total ? text.total - to : 0, left;

	if (text.bytes == NULL)
		return text;
	if (text.head > 0 && (text.head_at < from || text.head_at >= to)) {
		text.bytes += text.head;
		text.length -= text.head;
		text.head = 0;
	}
	text.length -= after < text.length - text.head ? (size_t)after : text.length - text.head;
	text.total -= after;
	left = text.total > from ? text.total - from : 0;
	if (text.head > 0 || left > text.length)
		return text;
	text.bytes += text.length - left;
	text.length = (size_t)left;
	text.cut = false;
	return text;
}

/* The first letter comes but once, so what does not go on may only begin anew. */
size_t ri_watch_add(struct ri_watch *watch, const char *words, const char *bytes, size_t length,
	bool *found)
{
	const char *at = bytes, *end = bytes + length;

	*found = false;
	while (at < end && !*found) {
		if (watch->matched == 0) {
			at = memchr(at, words[0], (size_t)(end - at));
			if (at == NULL)
				return length;
		}
		if (*at == words[watch->matched])
			watch->matched++;
		else
			watch->matched = *at == words[0];
		at++;
		if (words[watch->matched] == '\0') {
			watch->matched = 0;
			*found = true;
		}
	}
	return (size_t)(at - bytes);
}

enum { LONGEST = 24 };		/* what a number or %% becomes, at most */

bool ri_pattern_read(const char *pattern, struct ri_pattern_use *use)
{
	*use = (struct ri_pattern_use){ .rank = false };
	while ((pattern = strchr(pattern, '%')) != NULL) {
		switch (pattern[1]) {
		case 'r':
		case 'l':
			use->rank = true;
			break;
		case 'n':
			use->node = true;
			break;
		case 'h':
			use->host = true;
			break;
		case '%':
			break;
		default:
			return false;
		}
		pattern += 2;
	}
	return true;
}

const char *ri_pattern_expand(const char *pattern, const struct ri_pattern_values *values,
	struct ri_arena *arena)
{
	size_t size = strlen(pattern) + 1, host = values->host == NULL ? 0 : strlen(values->host);
	struct ri_text out;
	char *bytes;

	for (const char *p = pattern; *p != '\0'; p++)
		size += *p == '%' ? LONGEST + host : 0;
	bytes = ri_arena_alloc(arena, size);
	if (bytes == NULL)
		return NULL;
	out = ri_text_of(bytes, size);
	for (const char *p = pattern; *p != '\0'; p++) {
		size_t begin = out.length;

		if (*p != '%')
			ri_text_add_bytes(&out, p, 1);
		else if (*++p == 'r')
			ri_text_addf(&out, "%" PRIu64, values->rank);
		else if (*p == 'l')
			ri_text_addf(&out, "%" PRIu64, values->local_rank);
		else if (*p == 'n')
			ri_text_addf(&out, "%" PRIu64, values->node);
		else if (*p == '%')
			ri_text_add(&out, "%");
		else
			for (ri_text_add(&out, values->host); begin < out.length; begin++)
				if (bytes[begin] == '/')
					bytes[begin] = '_';
	}
	return bytes;
}
