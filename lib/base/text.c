/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { DISTANCE_MAX = 32, PREFIX_MIN = 3 };

void ri_text_add_bytes(struct ri_text *text, const char *bytes, size_t count)
{
	size_t room = text->size - 1 - text->length;

	if (count > room) {
		count = room;
		text->cut = true;
	}
	memcpy(text->bytes + text->length, bytes, count);
	text->length += count;
	text->bytes[text->length] = '\0';
}

void ri_text_add(struct ri_text *text, const char *string)
{
	ri_text_add_bytes(text, string, strlen(string));
}

void ri_text_addf(struct ri_text *text, const char *format, ...)
{
	size_t room = text->size - text->length;
	va_list args;
	int count;

	va_start(args, format);
	count = vsnprintf(text->bytes + text->length, room, format, args);
	va_end(args);
	if (count < 0) {
		text->bytes[text->length] = '\0';
		text->cut = true;
	} else if ((size_t)count >= room) {
		text->length = text->size - 1;
		text->cut = true;
	} else {
		text->length += (size_t)count;
	}
}

/* RFC 3629 */
size_t ri_utf8_length(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf && (p[1] & 0xc0) == 0x80)
		return 2;
	if (p[0] >= 0xe0 && p[0] <= 0xef && (p[1] & 0xc0) == 0x80 && (p[2] & 0xc0) == 0x80) {
		bool overlong = p[0] == 0xe0 && p[1] < 0xa0;
		bool surrogate = p[0] == 0xed && p[1] > 0x9f;

		return overlong || surrogate ? 0 : 3;
	}
	if (p[0] >= 0xf0 && p[0] <= 0xf4 && (p[1] & 0xc0) == 0x80 && (p[2] & 0xc0) == 0x80 &&
		(p[3] & 0xc0) == 0x80) {
		bool overlong = p[0] == 0xf0 && p[1] < 0x90;
		bool beyond = p[0] == 0xf4 && p[1] > 0x8f;

		return overlong || beyond ? 0 : 4;
	}
	return 0;
}

/*
 * C1 controls (U+0080 to U+009F) are escape sequences to some terminals. Characters without width
 * (U+200B to U+200F, U+2060 to U+206F, U+FEFF) hide, or show what follows in another order, as do
 * marks of direction (U+061C, U+202A to U+202E; Unicode Standard Annex 9); U+2028 and U+2029 end a
 * line.
 */
static bool is_control(const unsigned char *p)
{
	if (p[0] == 0xe2 && p[1] == 0x80)
		return (p[2] >= 0x8b && p[2] <= 0x8f) || (p[2] >= 0xa8 && p[2] <= 0xae);
	if (p[0] == 0xe2 && p[1] == 0x81)
		return p[2] >= 0xa0 && p[2] <= 0xaf;
	return (p[0] == 0xc2 && p[1] < 0xa0) || (p[0] == 0xd8 && p[1] == 0x9c) ||
		(p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf);
}

static void add_escape(struct ri_text *text, unsigned char byte)
{
	static const char bytes[] = "\n\t\r\"\\", letters[] = "ntr\"\\";
	const char *at = memchr(bytes, byte, sizeof(bytes) - 1);

	if (at == NULL)
		ri_text_addf(text, "\\x%02x", byte);
	else
		ri_text_addf(text, "\\%c", letters[at - bytes]);
}

/* The next character as it is shown: its bytes and its columns. */
static size_t measure(const unsigned char *p, size_t *columns, bool *escape)
{
	size_t length = ri_utf8_length((const char *)p);

	*escape = length == 0 || *p < ' ' || *p == 0x7f || is_control(p);
	if (!*escape) {
		*columns = length < 3 ? 1 : 2;
		return length;
	}
	*columns = *p == '\n' || *p == '\t' || *p == '\r' ? 2 : 4;
	return 1;
}

void ri_text_add_quoted(struct ri_text *text, const char *value)
{
	const unsigned char *p = (const unsigned char *)value;
	size_t left = RI_MAX_QUOTE, length, columns;
	bool escape;

	ri_text_add(text, "\"");
	for (; *p != '\0' && left > 0; p += length, left -= length) {
		length = measure(p, &columns, &escape);
		if (length > left)
			break;
		if (escape || *p == '"' || *p == '\\')
			add_escape(text, *p);
		else
			ri_text_add_bytes(text, (const char *)p, length);
	}
	ri_text_add(text, *p == '\0' ? "\"" : "...\"");
}

void ri_text_replace_controls(char *text)
{
	size_t columns, length;
	bool escape;

	for (; *text != '\0'; text += length) {
		length = measure((const unsigned char *)text, &columns, &escape);
		if (escape)
			*text = '?';
	}
}

size_t ri_text_add_shown(struct ri_text *text, const char *value, size_t columns)
{
	/* of what fits, and of what leaves room for "..." */
	size_t end = 0, used = 0, short_end = 0, short_used = 0, width, length;
	bool escape, cut;

	for (; value[end] != '\0'; end += length, used += width) {
		length = measure((const unsigned char *)value + end, &width, &escape);
		if (used + 3 <= columns) {
			short_end = end;
			short_used = used;
		}
		if (used + width > columns)
			break;
	}
	cut = value[end] != '\0';
	if (cut) {
		end = short_end;
		used = short_used;
	}
	for (size_t i = 0; i < end; i += length) {
		length = measure((const unsigned char *)value + i, &width, &escape);
		if (escape)
			add_escape(text, (unsigned char)value[i]);
		else
			ri_text_add_bytes(text, value + i, length);
	}
	if (!cut || columns < 3)
		return used;
	ri_text_add(text, "...");
	return used + 3;
}

const char *ri_quote(char *buffer, size_t size, const char *value)
{
	struct ri_text text = ri_text_of(buffer, size);

	ri_text_add_quoted(&text, value);
	return buffer;
}

bool ri_text_is_clean(const char *text, size_t size, bool lines)
{
	size_t length;

	for (size_t i = 0; i < size; i += length) {
		const unsigned char *p = (const unsigned char *)text + i;

		length = ri_utf8_length(text + i);
		if (length == 0 || (*p < ' ' && !(lines && *p == '\n')) || *p == 0x7f ||
			(*p == 0xc2 && p[1] < 0xa0))
			return false;
	}
	return true;
}

void ri_text_copy(char *buffer, size_t size, const char *string)
{
	struct ri_text text = ri_text_of(buffer, size);

	if (string != NULL)
		ri_text_add(&text, string);
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

unsigned ri_text_distance(const char *a, const char *b)
{
	size_t a_length = strlen(a), b_length = strlen(b);
	unsigned char rows[3][DISTANCE_MAX];
	unsigned char *before = rows[0], *last = rows[1], *row = rows[2], *spare;

	if (a_length >= DISTANCE_MAX || b_length >= DISTANCE_MAX)
		return DISTANCE_MAX;
	memset(before, 0, DISTANCE_MAX);
	for (size_t j = 0; j <= b_length; j++)
		last[j] = (unsigned char)j;
	for (size_t i = 1; i <= a_length; i++) {
		row[0] = (unsigned char)i;
		for (size_t j = 1; j <= b_length; j++) {
			unsigned cost = min3(last[j] + 1u, row[j - 1] + 1u,
				last[j - 1] + (a[i - 1] != b[j - 1] ? 1u : 0u));

			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				cost = min3(cost, before[j - 2] + 1u, cost);
			row[j] = (unsigned char)cost;
		}
		spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[b_length];
}

/* The one name that begins like this; NULL: none does, or several. */
static const char *find_begun(const char *word, size_t length, const char *const names[],
	size_t count)
{
	const char *found = NULL;

	if (length < PREFIX_MIN)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (strncasecmp(word, names[i], length) != 0)
			continue;
		if (found != NULL)
			return NULL;
		found = names[i];
	}
	return found;
}

const char *ri_text_nearest(const char *word, const char *const names[], size_t count)
{
	size_t length = strlen(word);
	unsigned limit = length / 3 > 3 ? 3 : (unsigned)(length / 3);
	const char *nearest;

	for (size_t i = 0; i < count; i++)
		if (strcasecmp(word, names[i]) == 0)
			return names[i];
	nearest = find_begun(word, length, names, count);
	if (nearest != NULL)
		return nearest;
	for (size_t i = 0; i < count; i++) {
		unsigned distance = ri_text_distance(word, names[i]);

		if (distance <= limit) {
			limit = distance - 1;
			nearest = names[i];
		}
	}
	return nearest;
}

void ri_ranges_end(struct ri_ranges *ranges)
{
	if (ranges->count == 0 || (ranges->most > 0 && ranges->count > ranges->most + 1))
		return;
	if (ranges->count > 1)
		ri_text_add(ranges->out, ranges->between);
	if (ranges->most > 0 && ranges->count > ranges->most) {
		ri_text_add(ranges->out, "...");
		return;
	}
	ri_text_addf(ranges->out, "%llu", (unsigned long long)ranges->first);
	if (ranges->last > ranges->first)
		ri_text_addf(ranges->out, "-%llu", (unsigned long long)ranges->last);
}

void ri_ranges_add(struct ri_ranges *ranges, uint64_t number)
{
	if (ranges->count > 0 && number == ranges->last)
		return;
	if (ranges->count > 0 && number == ranges->last + 1) {
		ranges->last = number;
		return;
	}
	ri_ranges_end(ranges);
	ranges->first = ranges->last = number;
	ranges->count++;
}

struct ri_span ri_span_of(const char *text)
{
	return (struct ri_span){ text, strlen(text) };
}

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

struct ri_span ri_span_skip_colours(struct ri_span span)
{
	while (ri_span_starts(span, "\x1b[")) {
		size_t end = strlen("\x1b[");

		while (end < span.length && (ri_is_digit(span.at[end]) || span.at[end] == ';'))
			end++;
		if (end == span.length || span.at[end] != 'm')
			break;
		span = ri_span_skip(span, end + 1);
	}
	return span;
}

struct ri_span ri_span_trim_end(struct ri_span span)
{
	while (span.length > 0 && ri_is_blank(span.at[span.length - 1]))
		span.length--;
	return span;
}

bool ri_list_has(const char *list, size_t length, const char *name)
{
	size_t wanted = strlen(name);

	for (const char *end = list + length, *comma; list < end; list = comma + 1) {
		comma = memchr(list, ',', (size_t)(end - list));
		if (comma == NULL)
			comma = end;
		if ((size_t)(comma - list) == wanted && memcmp(list, name, wanted) == 0)
			return true;
	}
	return false;
}
