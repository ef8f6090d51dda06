/* SPDX-License-Identifier: Apache-2.0 */
#include "redact/token.h"

enum { MARKS = 4 };	/* tags and anchors before one value */

bool ri_below_begins(struct ri_tokens *in, size_t at, struct ri_below *out)
{
	struct ri_token t = ri_token_at(in, at);
	enum ri_below_kind kind = RI_BELOW_NODE;

	for (unsigned i = 0; i < MARKS && t.gap && ri_is_one_of(t.c, "!&"); i++)
		t = ri_token_at(in, ri_tokens_end(in, t.begin, in->length, "", true));
	if (ri_is_one_of(t.c, "|>")) {
		kind = RI_BELOW_TEXT;
		while (ri_is_one_of(ri_token_byte(in, t.end), "+-0123456789"))
			t.end++;
		t = ri_token_at(in, t.end);
	}
	if (t.gap && t.c == '#' && ri_is_space(ri_token_byte(in, t.end)))
		t = ri_token_at(in, ri_tokens_end(in, t.begin, in->length, "", false));
	if (t.c != RI_TOKEN_LINE)
		return false;
	out->kind = kind;
	out->first = t.end;
	return true;
}

/* What the lines of the name and the one at line begin with, up to a byte that is no blank. */
static size_t shared(struct ri_tokens *in, struct ri_head head, size_t line)
{
	size_t most = head.name - head.line, end = 0;

	for (size_t i = 0; i < most; i++) {
		char c = ri_token_byte(in, head.line + i);

		if (c != ri_token_byte(in, line + i))
			break;
		end = ri_is_space(c) ? end : i + 1;
	}
	return end;
}

/* The column of the name behind so many bytes of its line; of a name in a text that of the text. */
static size_t column(struct ri_tokens *in, struct ri_head head, size_t margin)
{
	size_t start = head.line + margin, at = start, text = start;

	while (ri_is_space(ri_token_byte(in, text)))
		text++;
	while (at < head.name && ri_is_one_of(ri_token_byte(in, at), " \t-?"))
		at++;
	return (at == head.name ? at : text) - start;
}

/* Does a plain value end before this line? A mapping, an item and a comment are none of it. */
static bool ends_plain(struct ri_tokens *in, struct ri_token t, size_t begin)
{
	struct ri_span line = ri_token_span(in, begin,
		ri_tokens_end(in, begin, in->length, "", false));

	return t.c == RI_TOKEN_LINE || t.c == '#' || ri_span_starts(line, "- ") ||
		ri_span_has(line, ": ") || ri_span_ends(line, ":");
}

bool ri_below_find(struct ri_tokens *in, struct ri_head head, struct ri_below *out)
{
	size_t limit = ri_horizon(in, out->first, RI_MAX_VALUE), line = out->first;
	size_t margin = shared(in, head, line), left = column(in, head, margin);
	bool tabs = ri_token_byte(in, head.line + margin) == '\t';

	out->begin = out->end = 0;
	while (line < limit) {
		size_t text = line + (shared(in, head, line) >= margin ? margin : 0);
		struct ri_token t = ri_token_at(in, text);
		bool item = out->kind == RI_BELOW_NODE && t.c == RI_TOKEN_NAME &&
			ri_token_byte(in, t.begin) == '-' &&
			ri_is_space(ri_token_byte(in, t.begin + 1));

		if (t.c != RI_TOKEN_LINE && (t.begin - text < left + !item ||
			(!tabs && ri_token_byte(in, text) == '\t') ||
			(margin > 0 && text == line)))
			break;
		if (out->kind == RI_BELOW_PLAIN && ends_plain(in, t, t.begin))
			break;
		if (out->begin == 0 && t.c != RI_TOKEN_LINE)
			out->begin = t.begin;
		for (; t.c != RI_TOKEN_LINE; t = ri_token_at(in, t.end))
			out->end = t.end;
		line = t.end;
	}
	return out->end > out->begin;
}
