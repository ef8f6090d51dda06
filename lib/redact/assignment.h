/* SPDX-License-Identifier: Apache-2.0 */
/* A name in a text, the sign behind it, and how far its value goes. */
#ifndef RI_REDACT_ASSIGNMENT_H
#define RI_REDACT_ASSIGNMENT_H

#include "redact/name.h"
#include "redact/scan.h"

struct ri_assignment {
	struct ri_span name;
	size_t start, end;	/* of the name */
	size_t begin;		/* of the value */
	enum ri_secrecy secrecy;
	char sign;		/* '=', ':', ',', '>' of a tag, '|', 'i' of "is", ' ' */
	bool quoted;		/* the name is */
	bool spaced;		/* "name = value" */
};

/* In any case of letters. */
bool ri_assignment_is(const struct ri_assignment *m, const char *word);

/*
 * Find the sign behind the name, and where its value begins. Returns false
 * where no value follows.
 */
bool ri_assignment_find_sign(struct ri_scan *in, struct ri_assignment *m);

/* What the sign, and what stands around the name, add to what the name says. */
void ri_assignment_judge(struct ri_scan *in, struct ri_assignment *m);

/* The end of the word at begin, without what ends a list or a sentence. */
size_t ri_assignment_word_end(struct ri_scan *in, size_t begin, size_t limit);

/* Is the value all that is left of its line, where it has no quotes? */
bool ri_assignment_is_rest(struct ri_scan *in, const struct ri_assignment *m);

/* The end of a value without quotes, or limit where that comes first. */
size_t ri_assignment_bare_end(struct ri_scan *in, const struct ri_assignment *m, size_t limit);

#endif
