/* SPDX-License-Identifier: Apache-2.0 */
#include "redact/scan.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

enum {
	MAX_VALUE = 16384,	/* how far the end of a value is looked for */
	MANY_LOOKS = 48,	/* for a byte of the text: then a few bytes ahead must do */
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Of URLs (RFC 3986), of XML and HTML, of JSON that holds no quotes (RFC 8259) */
static const char *const spellings[] = { "", "%22", "&quot;", "&#34;", "\\u0022" };

bool ri_is_one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

char ri_scan_byte(struct ri_scan *in, size_t at)
{
	in->looks++;
	return at < in->length ? in->text[at] : '\n';
}

bool ri_scan_is(struct ri_scan *in, size_t at, const char *set)
{
	return ri_is_one_of(ri_scan_byte(in, at), set);
}

bool ri_scan_follows(struct ri_scan *in, size_t at, const char *word)
{
	size_t length = strlen(word);

	in->looks++;
	return at < in->length && length <= in->length - at &&
		strncasecmp(in->text + at, word, length) == 0;
}

bool ri_scan_precedes(struct ri_scan *in, size_t at, const char *word)
{
	return at >= strlen(word) && ri_scan_follows(in, at - strlen(word), word);
}

struct ri_span ri_scan_span(const struct ri_scan *in, size_t begin, size_t end)
{
	end = end < in->length ? end : in->length;
	return (struct ri_span){ in->text + begin, end > begin ? end - begin : 0 };
}

size_t ri_scan_skip_colour(struct ri_scan *in, size_t at)
{
	size_t start = at;

	if (ri_scan_byte(in, at) != '\x1b' || ri_scan_byte(in, at + 1) != '[')
		return at;
	for (at += 2; at < start + 32 && ri_scan_is(in, at, "0123456789;:?");)
		at++;
	return at + (ri_scan_byte(in, at) != '\n');
}

size_t ri_scan_skip_blanks(struct ri_scan *in, size_t at)
{
	size_t end = at + RI_SCAN_AHEAD;

	while (at < end) {
		size_t next = ri_is_blank(ri_scan_byte(in, at)) ? at + 1
								: ri_scan_skip_colour(in, at);

		if (next == at && ri_scan_follows(in, at, "\\\n"))
			next = at + 2;
		if (next == at)
			break;
		at = next;
	}
	return at;
}

size_t ri_scan_find(struct ri_scan *in, size_t at, size_t limit, const char *set)
{
	while (at < limit && ri_scan_byte(in, at) != '\n' && !ri_scan_is(in, at, set))
		at++;
	return at < in->length ? at : in->length;
}

size_t ri_scan_reach(const struct ri_scan *in, size_t most)
{
	const size_t few = RI_SCAN_AHEAD / 2;

	return most > few && in->looks / MANY_LOOKS > in->length ? few : most;
}

size_t ri_scan_horizon(const struct ri_scan *in, size_t at)
{
	size_t most = ri_scan_reach(in, MAX_VALUE);

	return at + most < in->length ? at + most : in->length;
}

struct ri_scan_quote ri_scan_quote_at(struct ri_scan *in, size_t at)
{
	struct ri_scan_quote quote = { .mark = 0 };

	if (!ri_scan_is(in, at, "\"'`\\%&"))
		return quote;
	for (size_t i = 1; i < COUNT(spellings); i++)
		if (ri_scan_follows(in, at, spellings[i]))
			return (struct ri_scan_quote){ (char)i, true, 0, strlen(spellings[i]) };
	while (quote.depth < 16 && ri_scan_byte(in, at + quote.depth) == '\\')
		quote.depth++;
	quote.mark = ri_scan_byte(in, at + quote.depth);
	quote.width = quote.depth + 1;
	return ri_is_one_of(quote.mark, "\"'`") ? quote : (struct ri_scan_quote){ .mark = 0 };
}

struct ri_scan_quote ri_scan_quote_before(struct ri_scan *in, size_t at)
{
	struct ri_scan_quote found = { .mark = 0 };

	for (size_t width = 1; width <= 8 && width <= at; width++) {
		struct ri_scan_quote quote = ri_scan_quote_at(in, at - width);

		if (quote.mark != 0 && quote.width == width)
			found = quote;
	}
	return found;
}

size_t ri_scan_skip_prefix(struct ri_scan *in, size_t at)
{
	size_t start = at;

	while (at < start + 2 && ri_scan_is(in, at, "bBrRuUfF"))
		at++;
	return ri_scan_quote_at(in, at).mark != 0 ? at : start;
}

size_t ri_scan_closing(struct ri_scan *in, size_t at, struct ri_scan_quote quote)
{
	for (size_t end = ri_scan_horizon(in, at), slashes; at < end; at += slashes + 1) {
		slashes = 0;
		if (quote.spelled && ri_scan_follows(in, at, spellings[(size_t)quote.mark]))
			return at;
		while (!quote.spelled && ri_scan_byte(in, at + slashes) == '\\')
			slashes++;
		if (quote.spelled || slashes > quote.depth ||
			ri_scan_byte(in, at + slashes) != quote.mark)
			continue;
		if (slashes > 0 || ri_scan_byte(in, at + 1) != quote.mark)
			return at;
		slashes = 1;
	}
	return SIZE_MAX;
}

size_t ri_scan_quoted_end(struct ri_scan *in, size_t at, struct ri_scan_quote quote)
{
	size_t end = ri_scan_closing(in, at, quote);

	return end == SIZE_MAX ? ri_scan_find(in, at, in->length, "") : end;
}

size_t ri_scan_brackets_end(struct ri_scan *in, size_t at)
{
	size_t end = ri_scan_horizon(in, at), depth = 0, closing;

	for (; at < end; at++) {
		struct ri_scan_quote quote = ri_scan_quote_at(in, at);

		if (quote.mark != 0 && !ri_is_letter(ri_scan_byte(in, at - 1))) {
			closing = ri_scan_closing(in, at + quote.width, quote);
			at = closing == SIZE_MAX ? at : closing + quote.width - 1;
		} else if (ri_scan_is(in, at, "([{")) {
			depth++;
		} else if (ri_scan_is(in, at, ")]}") && --depth == 0) {
			return at + 1;
		}
	}
	return SIZE_MAX;
}

size_t ri_scan_skip_margin(struct ri_scan *in, size_t line)
{
	size_t end = ri_scan_byte(in, line) != '[' ? line : ri_scan_find(in, line, line + 24, "]");

	if (ri_scan_follows(in, end, "]: "))
		return end + 3;
	return ri_scan_follows(in, end, "] ") ? end + 2 : line;
}

size_t ri_scan_line(struct ri_scan *in, size_t at)
{
	size_t start = at, text;

	while (start > 0 && at - start < RI_SCAN_AHEAD && ri_scan_byte(in, start - 1) != '\n')
		start--;
	text = ri_scan_skip_margin(in, start);
	/* the place may be in the margin */
	return text <= at ? text : start;
}

bool ri_scan_starts_line(struct ri_scan *in, size_t at)
{
	static const char *const words[] = {
		"export ", "declare ", "typeset ", "readonly ", "local ", "set ", "ENV ", "ARG ",
		"-x ", "-rx ", "-gx ",
	};
	size_t from = ri_scan_line(in, at), i;

	while (from < at) {
		size_t past = ri_scan_skip_colour(in, from);

		for (i = 0; i < COUNT(words) && !ri_scan_follows(in, from, words[i]);)
			i++;
		if (i < COUNT(words))
			from += strlen(words[i]);
		else if (past > from || ri_scan_is(in, from, " \t-+>|$#*\"'\\"))
			from = past > from ? past : from + 1;
		else
			return false;
	}
	return from == at;
}
