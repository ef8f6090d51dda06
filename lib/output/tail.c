/* SPDX-License-Identifier: Apache-2.0 */
#include "output/tail.h"

#include <string.h>

void ri_tail_add(struct ri_tail *tail, const char *bytes, size_t length)
{
	size_t part;

	if (length > RI_OUTPUT_TAIL) {
		bytes += length - RI_OUTPUT_TAIL;
		length = RI_OUTPUT_TAIL;
	}
	for (; length > 0; bytes += part, length -= part) {
		part = RI_OUTPUT_TAIL - tail->next;
		if (part > length)
			part = length;
		memcpy(tail->bytes + tail->next, bytes, part);
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

const char *ri_tail_read(struct ri_tail *tail, size_t *length)
{
	/* once it is full, the oldest byte is the one to be overwritten next */
	if (tail->length == RI_OUTPUT_TAIL && tail->next > 0) {
		reverse(tail->bytes, tail->bytes + tail->next);
		reverse(tail->bytes + tail->next, tail->bytes + RI_OUTPUT_TAIL);
		reverse(tail->bytes, tail->bytes + RI_OUTPUT_TAIL);
		tail->next = 0;
	}
	*length = tail->length;
	return tail->bytes;
}

/* Its first letter comes but once in it, so what does not go on may only begin anew. */
bool ri_watch_add(struct ri_watch *watch, const char *bytes, size_t length)
{
	static const char words[] = RI_TRACEBACK;
	const char *end = bytes + length;
	bool found = false;

	while (bytes < end) {
		if (watch->matched == 0) {
			bytes = memchr(bytes, words[0], (size_t)(end - bytes));
			if (bytes == NULL)
				break;
		}
		if (*bytes == words[watch->matched])
			watch->matched++;
		else
			watch->matched = *bytes == words[0];
		bytes++;
		if (watch->matched == sizeof(words) - 1) {
			watch->matched = 0;
			found = true;
		}
	}
	return found;
}
