/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets out of somebody else's text, before it is shown or stored. Secret is
 * the value of a name that redact.def lists, in every usual spelling: NAME=value,
 * "name": "value", {"name": "NAME", "value": "value"}, ('NAME', 'value'), YAML
 * with the value below its name, <name>value</name>, --name value, in a
 * connection string, in an URL; the user and password of an URL; what follows
 * "Bearer"; what has the form of a known kind of token; a private key between its
 * BEGIN and END. A number, None, True, what stands for a secret ($NAME, <name>,
 * ***), a path and an ordinary sentence stay (tests/unit/redact.hidden and
 * redact.kept). In doubt the value of an unmistakable name goes.
 */
#ifndef RI_REDACT_REDACT_H
#define RI_REDACT_REDACT_H

#include "base/arena.h"
#include "base/text.h"

/* What stands in the place of a secret. */
#define RI_REDACTED "***"

/*
 * Append text without its secrets, which is at most twice as long. Give it whole
 * lines, and all of them at once: a quoted value may go on in the next one.
 * Returns how often it looked at a byte: at most RI_REDACT_LOOKS times as many as
 * the text has, whatever the text is.
 */
size_t ri_redact(struct ri_text *out, struct ri_span text);

#define RI_REDACT_LOOKS 400

/* Is there a secret in it? */
bool ri_redact_finds(const char *text);

/* A star for each byte of a secret, in its place: what stands behind it stays where it is. */
void ri_redact_mask(char *text);

/* Append the value that a name has, whole: an environment variable's, say. */
void ri_redact_value(struct ri_text *out, const char *name, const char *value);

/*
 * Secrets out of a command's words, where they are shown: NAME=value and
 * --name=value up to the end of the word, and what ri_redact() finds.
 * What stood before the word is not known.
 */
void ri_redact_word(struct ri_text *out, const char *word);

/* The same in the place of the word, which is cut where it does not fit. */
void ri_redact_word_in_place(char *word, size_t size);

/* A copy of a list that ends in NULL, also without the word after --name; NULL: no memory. */
char **ri_redact_words(char *const *words, struct ri_arena *arena);

#endif
