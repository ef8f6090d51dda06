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

static bool begins_traceback(const struct ri_watch *watch)
{
	static const char words[] = RI_TRACEBACK;
	const char *line = watch->line, *end = line + watch->length, *after;

	if (watch->length > 5 && memcmp(line, "[rank", 5) == 0) {
		after = memchr(line, ']', watch->length);
		if (after != NULL && end - after > 3 && memcmp(after, "]: ", 3) == 0)
			line = after + 3;
	}
	return end - line >= (ptrdiff_t)sizeof(words) - 1 &&
		memcmp(line, words, sizeof(words) - 1) == 0;
}

bool ri_watch_add(struct ri_watch *watch, const char *bytes, size_t length)
{
	const char *end = bytes + length, *newline;
	bool found = false;
	size_t part;

	while (bytes < end) {
		newline = memchr(bytes, '\n', (size_t)(end - bytes));
		part = (size_t)((newline == NULL ? end : newline) - bytes);
		if (part > sizeof(watch->line) - watch->length)
			part = sizeof(watch->line) - watch->length;
		memcpy(watch->line + watch->length, bytes, part);
		watch->length += part;
		if (!watch->judged && begins_traceback(watch)) {
			watch->judged = true;
			found = true;
		}
		if (newline == NULL)
			break;
		*watch = (struct ri_watch){ .length = 0 };
		bytes = newline + 1;
	}
	return found;
}
