/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a command that is not ours: the names of shells, and options. Which
 * of these take a value in a word of their own is said by lists as in
 * launchers.def.
 */
#ifndef RI_COMMAND_WORDS_H
#define RI_COMMAND_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* The name of the shell that this is a path or the name of: "bash"; NULL: of none. */
const char *ri_word_shell(const char *word);

/* "-" alone is none. */
bool ri_word_is_option(const char *word);

/*
 * Are the first length bytes of the word this name, which '\0' or a blank
 * ends, with '_' for '-' or not?
 */
bool ri_word_is_name(const char *word, const char *name, size_t length);

/* Does the name begin with the first length bytes of the word, likewise? */
bool ri_word_begins(const char *name, const char *word, size_t length);

/* Is the name in a list with blanks between, or where it may be cut short the beginning of one? */
bool ri_word_is_listed(const char *list, const char *name, bool shortens);

/* The first letter of "abc" (of the word "-abc") that takes a value, or NULL. */
const char *ri_word_find_valued(const char *letters, const char *cluster);

/* What follows the option at words, and its value. shortens: long names may be cut short. */
char *const *ri_word_skip_option(const char *letters, const char *longs, bool shortens,
	char *const *words);

#endif
