/* SPDX-License-Identifier: Apache-2.0 */
/* What the name of a value, and the value itself, say of each other (redact.def). */
#ifndef RI_REDACT_SECRECY_H
#define RI_REDACT_SECRECY_H

#include "base/span.h"

/* How much a name makes a secret of its value; then the other kinds of words of redact.def. */
enum ri_secrecy {
	RI_SECRECY_NONE, RI_SECRECY_WEAK, RI_SECRECY_TOKEN, RI_SECRECY_PHRASE, RI_SECRECY_HEADER,
	RI_SECRECY_MANY, RI_SECRECY_PART, RI_SECRECY_NOTHING, RI_SECRECY_NEUTRAL,
	RI_SECRECY_HARMLESS, RI_SECRECY_SENTENCE, RI_SECRECY_SETTER, RI_SECRECY_TYPE,
};

/* One of the first five. */
enum ri_secrecy ri_secrecy_of(struct ri_span name);

/* Does it speak of a secret, whatever its last words make of it: current_token? */
bool ri_name_mentions(struct ri_span name);

/* Small letters are missing, and a letter is there: HF_TOKEN. */
bool ri_name_is_upper(struct ri_span name);

/* Do the rows of this kind have the word, in any case of letters? */
bool ri_word_is(enum ri_secrecy kind, struct ri_span word);

/*
 * Is the value of such a name a secret, where it is known to be all of it? A number, a word
 * as None, a path, what refers to a value ($HF_TOKEN) and stars in its place are none.
 */
bool ri_secrecy_hides(enum ri_secrecy secrecy, struct ri_span value);

/* Letters alone, as in words of a language. */
bool ri_value_is_plain(struct ri_span value);

/* Digits among letters, as no person would write. */
bool ri_value_is_random(struct ri_span value);

/* Several words, at least so many of those in redact.def that make a sentence. */
bool ri_value_is_sentence(struct ri_span value, size_t least);

/* Bytes at the start of text that are a secret by their form, or 0: they are none. */
size_t ri_secret_form(struct ri_span text);

#endif
