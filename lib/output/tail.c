/* SPDX-License-Identifier: Apache-2.0 */
#include "output/output.h"

#include <string.h>

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
