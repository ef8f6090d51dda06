/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text that secrets are looked for in: bytes, quotes, brackets, lines. Each look at a
 * byte is counted. No function but the ones with a limit goes further than RI_SCAN_AHEAD, or
 * than ri_scan_horizon where it looks for the end of a value.
 */
#ifndef RI_REDACT_SCAN_H
#define RI_REDACT_SCAN_H

#include "base/span.h"
#include "base/text.h"

enum { RI_SCAN_AHEAD = 128 };

struct ri_scan {
	const char *text;
	size_t length;
	size_t at;		/* of what is next */
	size_t looks;		/* at bytes, those twice that were looked at twice */
	size_t begin, end;	/* of the secret that was found */
	size_t no_login;	/* an URL that begins before has no '@' up to here */
};

/* A quote as it stands in the text: behind backslashes, or in another spelling. */
struct ri_scan_quote {
	char mark;		/* or which spelling; 0: there is none */
	bool spelled;		/* %22, &quot; */
	size_t depth;		/* backslashes before it */
	size_t width;
};

static inline bool ri_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool ri_is_name_byte(char c)
{
	return ri_is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

bool ri_is_one_of(char c, const char *set);

/* The byte at a place, '\n' before the start and past the end; is it one of a set? */
char ri_scan_byte(struct ri_scan *in, size_t at);
bool ri_scan_is(struct ri_scan *in, size_t at, const char *set);

/* Does the word, in any case of letters, begin at a place? Does it end before it? */
bool ri_scan_follows(struct ri_scan *in, size_t at, const char *word);
bool ri_scan_precedes(struct ri_scan *in, size_t at, const char *word);

struct ri_span ri_scan_span(const struct ri_scan *in, size_t begin, size_t end);

/* Past a colour (ECMA-48, control sequences). */
size_t ri_scan_skip_colour(struct ri_scan *in, size_t at);

/* Past blanks, colours, and a backslash that goes on in the next line. */
size_t ri_scan_skip_blanks(struct ri_scan *in, size_t at);

/* The next byte of set, or the end of the line or limit before it. */
size_t ri_scan_find(struct ri_scan *in, size_t at, size_t limit, const char *set);

/* How far the end of a quote, a bracket or a block is looked for. */
size_t ri_scan_horizon(const struct ri_scan *in, size_t at);

/* So many bytes, or a few where the text has cost much by now. */
size_t ri_scan_reach(const struct ri_scan *in, size_t most);

/* The quote that begins at a place; the one that ends just before it. */
struct ri_scan_quote ri_scan_quote_at(struct ri_scan *in, size_t at);
struct ri_scan_quote ri_scan_quote_before(struct ri_scan *in, size_t at);

/* Past the letters of b'...' and rb"...". */
size_t ri_scan_skip_prefix(struct ri_scan *in, size_t at);

/* Where the quote before at is matched, or SIZE_MAX. One that is doubled, as in YAML, goes on. */
size_t ri_scan_closing(struct ri_scan *in, size_t at, struct ri_scan_quote quote);

/* The same, and where that is nowhere, the end of the line. */
size_t ri_scan_quoted_end(struct ri_scan *in, size_t at, struct ri_scan_quote quote);

/* Past the bracket that closes the one at at, quotes left out; SIZE_MAX: there is none. */
size_t ri_scan_brackets_end(struct ri_scan *in, size_t at);

/* Behind "[rank0]: " where a line starts with that; and so for the line of a place. */
size_t ri_scan_skip_margin(struct ri_scan *in, size_t line);
size_t ri_scan_line(struct ri_scan *in, size_t at);

/* Is it the first name of its line? Marks and what sets a variable may precede. */
bool ri_scan_starts_line(struct ri_scan *in, size_t at);

#endif
