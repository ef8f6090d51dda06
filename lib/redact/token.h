/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text as tokens, and where strings, brackets, words and keys of it end. This alone knows
 * colours, the spellings of marks, the margins of lines, and lines that go on in the next one.
 */
#ifndef RI_REDACT_TOKEN_H
#define RI_REDACT_TOKEN_H

#include "base/text.h"

enum {
	RI_TOKEN_NAME = 'a', RI_TOKEN_LINE = '\n',
	RI_AHEAD = 128,		/* bytes of a value that tell what it is */
	RI_MAX_VALUE = 16384,	/* how far the end of a value is looked for */
};

struct ri_tokens {
	const char *text;
	size_t length;
	size_t looks;		/* at bytes, those twice that were looked at twice */
};

struct ri_token {
	size_t begin, end;
	char c;			/* NAME, LINE (also at the end), or the mark that it stands for */
	bool gap;		/* a blank or a colour stands before it */
	unsigned char form;	/* of a quote: backslashes before it, or another spelling */
};

bool ri_is_one_of(char c, const char *set);
bool ri_is_quote(struct ri_token t);

/* The byte at a place, '\n' before the start and past the end. */
char ri_token_byte(struct ri_tokens *in, size_t at);

struct ri_span ri_token_span(const struct ri_tokens *in, size_t begin, size_t end);

/* The next token from a place on. */
struct ri_token ri_token_at(struct ri_tokens *in, size_t at);

/*
 * Behind "[rank0]: ", "[default0]:" (torch 2.13, elastic/multiprocessing/tail_log.py),
 * "[1,0]<stderr>:" (mpirun(1), --tag-output) or two of them, where a line starts with that.
 */
size_t ri_token_margin(struct ri_tokens *in, size_t line);

/* The quote behind the letters of b'...' and rb"...", or the token itself. */
struct ri_token ri_token_unprefixed(struct ri_tokens *in, struct ri_token t);

/* So far, within the text; less where the text has cost much by now. */
size_t ri_horizon(const struct ri_tokens *in, size_t at, size_t most);

/* The end of the tokens before one of stops, before the end of the line, or before a gap. */
size_t ri_tokens_end(struct ri_tokens *in, size_t begin, size_t limit, const char *stops,
	bool gap);

/* Where a quote is matched, or the end of the line. One that is doubled, as in YAML, goes on. */
size_t ri_string_end(struct ri_tokens *in, struct ri_token open, size_t from);

/* Where the bracket is that closes the one at at, quotes left out; SIZE_MAX: there is none. */
size_t ri_brackets_end(struct ri_tokens *in, size_t at);

/* The end of the word at begin, without what ends a list or a sentence. */
size_t ri_word_end(struct ri_tokens *in, size_t begin, size_t limit);

/*
 * Of "-----BEGIN ... PRIVATE KEY-----" (RFC 7468) at the name t the end of the mark of its end, or
 * of its last line; 0: there is none.
 */
size_t ri_private_key_end(struct ri_tokens *in, struct ri_token t);

/*
 * The end of "user:password" in "scheme://user:password@host"; begin: there is none. A password may
 * have '/', '?', '#' and '@' in it: behind a ':' the last '@' of the word ends it.
 */
size_t ri_authority_end(struct ri_tokens *in, size_t begin);

/* What the name of a value, and the value itself, say of each other (redact.def). */

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
