/* SPDX-License-Identifier: Apache-2.0 */
/* A name in a text, the sign behind it, and how far its value goes. */
#ifndef RI_REDACT_MEMBER_H
#define RI_REDACT_MEMBER_H

#include "redact/name.h"
#include "redact/scan.h"

struct ri_json_member {
	struct ri_span name;
	size_t start, end;	/* of the name */
	size_t begin;		/* of the value */
	enum ri_secrecy secrecy;
	char sign;		/* '=', ':', ',', '>' of a tag, '|', 'i' of "is", ' ' */
	bool quoted;		/* the name is */
	bool spaced;		/* "name = value" */
};

/* In any case of letters. */
bool ri_member_is(const struct ri_json_member *m, const char *word);

/*
 * Find the sign behind the name, and where its value begins. Returns false
 * where no value follows.
 */
bool ri_member_find_sign(struct ri_scan *in, struct ri_json_member *m);

/* What the sign, and what stands around the name, add to what the name says. */
void ri_member_judge(struct ri_scan *in, struct ri_json_member *m);

/* The end of the word at begin, without what ends a list or a sentence. */
size_t ri_member_word_end(struct ri_scan *in, size_t begin, size_t limit);

/* Is the value all that is left of its line, where it has no quotes? */
bool ri_member_is_rest(struct ri_scan *in, const struct ri_json_member *m);

/* The end of a value without quotes, or limit where that comes first. */
size_t ri_member_bare_end(struct ri_scan *in, const struct ri_json_member *m, size_t limit);

#endif
