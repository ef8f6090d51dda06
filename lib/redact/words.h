/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets out of a command's words, where they are shown: NAME=value and
 * --name=value up to the end of the word, the word after --name, and in each
 * word what redact.h finds in any text. The name decides, by the same rule.
 */
#ifndef RI_REDACT_WORDS_H
#define RI_REDACT_WORDS_H

#include "base/arena.h"
#include "base/text.h"

/* Append the value that a name has, whole: an environment variable's, say. */
void ri_redact_value(struct ri_text *out, const char *name, const char *value);

/* Append a word alone: what stood before it is not known. */
void ri_redact_word(struct ri_text *out, const char *word);

/* The same in the place of the word, which is cut where it does not fit. */
void ri_redact_word_in_place(char *word, size_t size);

/* A copy of one word; NULL when out of memory. */
char *ri_redact_copy(const char *word, struct ri_arena *arena);

/* A copy of a list that ends in NULL; NULL when out of memory. */
char **ri_redact_words(char *const *words, struct ri_arena *arena);

#endif
