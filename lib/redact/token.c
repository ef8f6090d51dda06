/* SPDX-License-Identifier: Apache-2.0 */
#include "redact/token.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

enum {
	MAX_SLASHES = 16, LONG, HEXADECIMAL, SPELLED,	/* forms of a quote */
	MANY_LOOKS = 48,	/* for a byte of the text: then a few bytes ahead must do */
};

static const struct {
	const char *text;
	char mark;
} spellings[] = {
#define RI_SPELLING(text, mark) { text, mark },
#include "redact/redact.def"
};

bool ri_is_one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

bool ri_is_quote(struct ri_token t)
{
	return ri_is_one_of(t.c, "\"'`");
}

char ri_token_byte(struct ri_tokens *in, size_t at)
{
	in->looks++;
	return at < in->length ? in->text[at] : '\n';
}

struct ri_span ri_token_span(const struct ri_tokens *in, size_t begin, size_t end)
{
	end = end < in->length ? end : in->length;
	return (struct ri_span){ in->text + begin, end > begin ? end - begin : 0 };
}

static bool is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* Behind one such label: "[rank0]: ", "[1] ", "[default0]:", "[1,0]<stderr>:"; or line. */
static size_t skip_label(struct ri_tokens *in, size_t line)
{
	size_t end = line;
	bool colon, number;

	if (ri_token_byte(in, line) != '[')
		return line;
	while (end < line + 24 && !ri_is_one_of(ri_token_byte(in, end), "]\n"))
		end++;
	if (!ri_span_starts(ri_token_span(in, end, in->length), "]"))
		return line;
	number = isdigit((unsigned char)ri_token_byte(in, end - 1)) != 0;
	end++;
	if (ri_span_starts(ri_token_span(in, end, in->length), "<std"))
		end += strlen("<stderr>");
	colon = ri_token_byte(in, end) == ':';
	end += colon;
	if (colon && number)
		return end;
	return ri_token_byte(in, end) == ' ' ? end + 1 : line;
}

size_t ri_token_margin(struct ri_tokens *in, size_t line)
{
	/* torchrun's label, and behind it that of the rank's own excepthook */
	return skip_label(in, skip_label(in, line));
}

/* Past blanks, colours (ECMA-48, control sequences), and a '\\' that goes on in the next line. */
static size_t skip_gap(struct ri_tokens *in, size_t at, bool *gap)
{
	for (;;) {
		char c = ri_token_byte(in, at), next = ri_token_byte(in, at + 1);

		if (c == '\\' && next == '\n' && at + 1 < in->length) {
			at += 2;
			continue;
		}
		if (c == '\x1b' && next == '[') {
			at += 2;
			while (ri_is_one_of(ri_token_byte(in, at), "0123456789;:?"))
				at++;
			at += ri_token_byte(in, at) != '\n';
		} else if (c != '\n' && ri_is_space(c) && (c != '\r' || next == '\n')) {
			at++;
		} else {
			return at;
		}
		*gap = true;
	}
}

/* A mark, in whatever spelling. */
static void read_mark(struct ri_tokens *in, struct ri_token *t)
{
	struct ri_span rest = ri_token_span(in, t->begin, in->length);
	char next = ri_token_byte(in, t->begin + 1), hexadecimal[3] = "";
	size_t slashes = 0;
	uint64_t value;

	/* %3D, and the like; anything else is a '%' of three bytes */
	if (t->c == '%' && rest.length >= 3)
		memcpy(hexadecimal, rest.at + 1, 2);
	if (ri_hex_read(hexadecimal, &value) == 2) {
		t->c = ri_is_one_of((char)value, "\"'`=:&?{}") ? (char)value : '%';
		t->form = HEXADECIMAL;
		t->end = t->begin + 3;
		return;
	}
	for (size_t i = 0; i < RI_ARRAY_SIZE(spellings); i++)
		if (t->c == spellings[i].text[0] && ri_span_starts(rest, spellings[i].text)) {
			t->c = spellings[i].mark;
			t->form = (unsigned char)(SPELLED + i);
			t->end = t->begin + strlen(spellings[i].text);
			return;
		}
	if (ri_is_one_of(t->c, "\"'`") && next == t->c && ri_token_byte(in, t->begin + 2) == t->c) {
		t->form = LONG;
		t->end = t->begin + 3;
	}
	while (slashes < MAX_SLASHES && ri_token_byte(in, t->begin + slashes) == '\\')
		slashes++;
	if (slashes > 0 && ri_is_one_of(ri_token_byte(in, t->begin + slashes), "\"'`")) {
		t->c = in->text[t->begin + slashes];
		t->form = (unsigned char)slashes;
		t->end = t->begin + slashes + 1;
	} else if (slashes == 1 && ri_is_one_of(next, "nrt")) {
		t->end++;
	}
}

struct ri_token ri_token_at(struct ri_tokens *in, size_t at)
{
	struct ri_token t = { .gap = false };

	t.begin = skip_gap(in, at, &t.gap);
	t.c = ri_token_byte(in, t.begin);
	t.end = t.begin + 1;
	if (is_name_byte(t.c)) {
		while (is_name_byte(ri_token_byte(in, t.end)))
			t.end++;
		t.c = RI_TOKEN_NAME;
	} else if (t.c == '\n' || t.c == '\r') {
		t.c = RI_TOKEN_LINE;
		t.end = ri_token_margin(in, t.end);
	} else {
		read_mark(in, &t);
	}
	return t;
}

size_t ri_horizon(const struct ri_tokens *in, size_t at, size_t most)
{
	const size_t few = RI_AHEAD / 2;

	if (most > few && in->looks / MANY_LOOKS > in->length)
		most = few;
	return at + most < in->length ? at + most : in->length;
}

size_t ri_tokens_end(struct ri_tokens *in, size_t begin, size_t limit, const char *stops,
	bool gap)
{
	struct ri_token t = ri_token_at(in, begin);
	size_t end = begin;

	for (; t.begin < limit && t.c != RI_TOKEN_LINE && !ri_is_one_of(t.c, stops) &&
		!(gap && t.gap && end > begin) &&
		!ri_span_starts(ri_token_span(in, t.begin, in->length), "\\r\\n");
		t = ri_token_at(in, t.end))
		end = t.end;
	return end < limit ? end : limit;
}

/* Does b end the string that a begins? */
static bool closes(struct ri_token b, struct ri_token a)
{
	return b.c == a.c && (a.form > MAX_SLASHES ? b.form == a.form : b.form <= a.form);
}

size_t ri_string_end(struct ri_tokens *in, struct ri_token open, size_t from)
{
	size_t limit = ri_horizon(in, from, RI_MAX_VALUE);
	struct ri_token t = ri_token_at(in, from);

	for (; t.begin < limit; t = ri_token_at(in, t.end)) {
		if (!closes(t, open))
			continue;
		if (t.form > 0 || ri_token_byte(in, t.end) != t.c)
			return t.begin;
		t.end++;
	}
	return ri_tokens_end(in, from, in->length, "", false);
}

size_t ri_brackets_end(struct ri_tokens *in, size_t at)
{
	size_t limit = ri_horizon(in, at, RI_MAX_VALUE), depth = 0;
	struct ri_token t = ri_token_at(in, at), last = t, end;

	for (; t.begin < limit; last = t, t = ri_token_at(in, t.end)) {
		/* not that of "it's" */
		if (ri_is_quote(t) && (last.c != RI_TOKEN_NAME || t.gap)) {
			end = ri_token_at(in, ri_string_end(in, t, t.end));
			t.end = end.c == t.c ? end.end : t.end;
		} else if (ri_is_one_of(t.c, "([{")) {
			depth++;
		} else if (ri_is_one_of(t.c, ")]}") && --depth == 0) {
			return t.begin;
		}
	}
	return SIZE_MAX;
}

struct ri_token ri_token_unprefixed(struct ri_tokens *in, struct ri_token t)
{
	struct ri_token next = ri_token_at(in, t.end);

	return t.end - t.begin <= 2 && ri_is_quote(next) && !next.gap &&
		ri_is_one_of(ri_token_byte(in, t.begin), "bBrRuUfF") ? next : t;
}

/* Without what ends a sentence or a list, though not what closes its own bracket. */
static size_t trim(const struct ri_tokens *in, size_t begin, size_t end)
{
	static const char closers[] = ")]}>", openers[] = "([{<";

	for (; end > begin; end--) {
		char c = in->text[end - 1];
		const char *closes = strchr(closers, c);

		if (c == '\0' || (closes == NULL && !ri_is_one_of(c, ",;:\"'`")) ||
			(closes != NULL && memchr(in->text + begin, openers[closes - closers],
				end - begin) != NULL))
			break;
	}
	return end;
}

size_t ri_word_end(struct ri_tokens *in, size_t begin, size_t limit)
{
	struct ri_token t = ri_token_at(in, begin), next;
	bool assigned = false;
	size_t end = begin;

	for (; t.begin < limit && t.c != RI_TOKEN_LINE && (!t.gap || end == begin); t = next) {
		next = ri_token_at(in, t.end);
		/* ",name=" */
		if ((ri_is_one_of(t.c, ",;") || (t.c == '&' && !assigned)) && !next.gap &&
			next.c == RI_TOKEN_NAME && ri_token_at(in, next.end).c == '=')
			break;
		if (ri_is_quote(t) && (next.gap || ri_is_one_of(next.c, "\n,:)]}")))
			break;
		assigned = assigned || t.c == '=';
		end = t.end;
	}
	return end >= limit && limit < in->length ? limit : trim(in, begin, end);
}

size_t ri_private_key_end(struct ri_tokens *in, struct ri_token t)
{
	size_t start = t.begin, limit = ri_horizon(in, start, RI_MAX_VALUE), end = limit;
	bool head = true, whole = true, last = false;

	if (!ri_span_starts(ri_token_span(in, start, t.end), "-----BEGIN") ||
		!ri_span_has(ri_token_span(in, start, start + RI_AHEAD), " PRIVATE KEY"))
		return 0;
	for (; t.begin < limit; t = ri_token_at(in, t.end)) {
		struct ri_span word = ri_token_span(in, t.begin, t.end);

		if (last && ri_span_has(word, "-----"))
			return t.end;
		last = last || ri_span_starts(word, "-----END");
		whole = whole && (head || (!t.gap &&
			(t.c == RI_TOKEN_NAME || ri_is_one_of(t.c, "+/=\n"))));
		if (t.c == RI_TOKEN_LINE) {
			head = false;
			end = whole ? t.begin : end;
		}
	}
	return whole ? limit : end;
}

size_t ri_authority_end(struct ri_tokens *in, size_t begin)
{
	size_t limit = ri_horizon(in, begin, RI_MAX_VALUE), last = begin;
	bool password = false;

	for (size_t at = begin; at < limit; at++) {
		char c = ri_token_byte(in, at);

		if (ri_is_space(c) || ri_is_one_of(c, password ? "\"'`<>" : "\"'`<>/?#"))
			break;
		password = password || c == ':';
		last = c == '@' ? at : last;
	}
	return last;
}
