/* SPDX-License-Identifier: Apache-2.0 */
/* The lines below a name that are its value, as in YAML 1.2.2, chapters 6 (indentation) to 8. */
#ifndef RI_REDACT_BELOW_H
#define RI_REDACT_BELOW_H

#include "redact/token.h"

/* How lines follow: below "|" or ">", below a name alone, or as more of a plain value. */
enum ri_below_kind { RI_BELOW_TEXT, RI_BELOW_NODE, RI_BELOW_PLAIN };

/* Where a name stands. */
struct ri_head {
	size_t line;		/* begins, behind its margin */
	size_t name;		/* begins, or the quote around it */
};

struct ri_below {
	enum ri_below_kind kind;
	size_t first;		/* behind the line of the name: its LINE ends here */
	size_t begin, end;	/* from the first byte that is no blank to the last; equal: none */
};

/*
 * Behind the ':' of a name at at: are there only tags and anchors ("!vault &a"), "|" or ">-" and a
 * comment? Then out gets the kind and first. It gets begin and end by ri_below_find.
 */
bool ri_below_begins(struct ri_tokens *in, size_t at, struct ri_below *out);

/*
 * The lines from out->first on that stand further right than the name does, and those of a list
 * below it. Other text may stand before the name ("ValueError: "): then they stand further right
 * than that. What all the lines have in front of them ("[default1]:", "3: ") does not count.
 * Returns false where there are none, up to RI_MAX_VALUE.
 */
bool ri_below_find(struct ri_tokens *in, struct ri_head head, struct ri_below *out);

#endif
