/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <string.h>

bool ri_span_line(struct ri_span *rest, struct ri_span *line)
{
	const char *end;

	if (rest->length == 0)
		return false;
	end = memchr(rest->at, '\n', rest->length);
	line->at = rest->at;
	line->length = end == NULL ? rest->length : (size_t)(end - rest->at);
	*rest = ri_span_skip(*rest, line->length + 1);
	if (line->length > 0 && line->at[line->length - 1] == '\r')
		line->length--;
	return true;
}

bool ri_span_last_line(struct ri_span *rest, struct ri_span *line)
{
	const char *newline;

	if (rest->length > 0 && rest->at[rest->length - 1] == '\n')
		rest->length--;
	if (rest->length == 0)
		return false;
	newline = memrchr(rest->at, '\n', rest->length);
	line->at = newline == NULL ? rest->at : newline + 1;
	line->length = (size_t)(rest->at + rest->length - line->at);
	rest->length -= line->length;
	return true;
}

bool ri_span_same(struct ri_span a, struct ri_span b)
{
	return a.length == b.length && (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

bool ri_span_starts(struct ri_span span, const char *start)
{
	size_t length = strlen(start);

	return span.length >= length && memcmp(span.at, start, length) == 0;
}

bool ri_span_ends(struct ri_span span, const char *end)
{
	size_t length = strlen(end);

	return span.length >= length && memcmp(span.at + span.length - length, end, length) == 0;
}

bool ri_span_has(struct ri_span span, const char *word)
{
	return span.length > 0 && memmem(span.at, span.length, word, strlen(word)) != NULL;
}

bool ri_span_has_any(struct ri_span span, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ri_span_has(span, words[i]))
			return true;
	return false;
}

struct ri_span ri_span_skip(struct ri_span span, size_t count)
{
	if (count > span.length)
		count = span.length;
	return (struct ri_span){ span.at + count, span.length - count };
}

struct ri_span ri_span_after(struct ri_span span, const char *word)
{
	const char *found = span.length == 0 ? NULL
		: memmem(span.at, span.length, word, strlen(word));

	if (found == NULL)
		return (struct ri_span){ span.at, 0 };
	return ri_span_skip(span, (size_t)(found - span.at) + strlen(word));
}

struct ri_span ri_span_trim_start(struct ri_span span)
{
	while (span.length > 0 && ri_is_blank(span.at[0]))
		span = ri_span_skip(span, 1);
	return span;
}

struct ri_span ri_span_trim_end(struct ri_span span)
{
	while (span.length > 0 && ri_is_blank(span.at[span.length - 1]))
		span.length--;
	return span;
}
