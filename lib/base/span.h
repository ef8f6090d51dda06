/* SPDX-License-Identifier: Apache-2.0 */
/* A piece of somebody else's text, which need not end in '\0'. */
#ifndef RI_BASE_SPAN_H
#define RI_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>

struct ri_span {
	const char *at;
	size_t length;
};

/*
 * Take the next line off *rest, without its '\n' and the '\r' before that. A
 * last line without an end counts. Returns false when nothing is left.
 */
bool ri_span_line(struct ri_span *rest, struct ri_span *line);

/* Take the last line off *rest. Returns false when nothing is left. */
bool ri_span_last_line(struct ri_span *rest, struct ri_span *line);

/* Are their bytes the same? */
bool ri_span_same(struct ri_span a, struct ri_span b);

bool ri_span_starts(struct ri_span span, const char *start);
bool ri_span_ends(struct ri_span span, const char *end);

/* Does the word, which is not empty, stand anywhere in it? */
bool ri_span_has(struct ri_span span, const char *word);

/* The same for any of count words. */
bool ri_span_has_any(struct ri_span span, const char *const *words, size_t count);

/* Without its first count bytes, of which it may have fewer. */
struct ri_span ri_span_skip(struct ri_span span, size_t count);

/* What stands behind the first place of the word; empty where it does not stand there. */
struct ri_span ri_span_after(struct ri_span span, const char *word);

/* Without blanks at its start; at its end. */
struct ri_span ri_span_trim_start(struct ri_span span);
struct ri_span ri_span_trim_end(struct ri_span span);

#endif
