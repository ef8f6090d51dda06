/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of foreign text, strict numbers, and bounded text in a buffer that the caller owns. */
#ifndef RI_BASE_TEXT_H
#define RI_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

/* It need not end in '\0'. */
struct ri_span {
	const char *at;
	size_t length;
};

/* All of a text that ends in '\0'. */
struct ri_span ri_span_of(const char *text);

/*
 * Take the next line off *rest, without its '\n' and the '\r' before that, or the last one. A last
 * line without an end counts. Returns false when nothing is left.
 */
bool ri_span_line(struct ri_span *rest, struct ri_span *line);
bool ri_span_last_line(struct ri_span *rest, struct ri_span *line);

bool ri_span_same(struct ri_span a, struct ri_span b);

bool ri_span_starts(struct ri_span span, const char *start);
bool ri_span_ends(struct ri_span span, const char *end);

/* Is name one of the words of a list separated by commas? */
bool ri_list_has(const char *list, size_t length, const char *name);

/* Does the word, or any of count words, stand anywhere in it? No word is empty. */
bool ri_span_has(struct ri_span span, const char *word);
bool ri_span_has_any(struct ri_span span, const char *const *words, size_t count);

/* Without its first count bytes, of which it may have fewer. */
struct ri_span ri_span_skip(struct ri_span span, size_t count);

/* What stands behind the first place of the word; empty where it does not stand there. */
struct ri_span ri_span_after(struct ri_span span, const char *word);

/* Without blanks at its start; at its end. */
struct ri_span ri_span_trim_start(struct ri_span span);
struct ri_span ri_span_trim_end(struct ri_span span);

/* Without the colours at its start: "\x1b[36m", "\x1b[1;31m" (ECMA-48, SGR). */
struct ri_span ri_span_skip_colours(struct ri_span span);

/*
 * Text becomes a number here alone. Blanks around it are allowed, since Python's int() takes them
 * and schedulers write them. A sign, hexadecimal, digits too many, or anything after the number is
 * an error: a rank read wrong is worse than none.
 */

enum ri_number_fault {
	RI_NUMBER_OK,
	RI_NUMBER_EMPTY,	/* nothing, or blanks alone */
	RI_NUMBER_SYNTAX,	/* not a decimal number from end to end */
	RI_NUMBER_RANGE,	/* a number, but outside min..max */
};

struct ri_range {
	uint64_t min;
	uint64_t max;
};

/*
 * Read text as a whole number within range. fault_at, where not NULL, gets the offset of the byte
 * at fault (the first digit, where the number is out of range).
 */
enum ri_number_fault ri_number_read(
	const char *text, struct ri_range range, uint64_t *out, size_t *fault_at);

/* The same of seconds, "10" or "0.25", as ms; range is in seconds. A fourth decimal is refused. */
enum ri_number_fault ri_seconds_read(
	const char *text, struct ri_range range, uint64_t *out_ms, size_t *fault_at);

/*
 * Read the digits that text starts with, decimal ones, or hexadecimal ones without a "0x". Returns
 * how many there are; 0, and *out as it was, where there are none or more than a number holds.
 */
size_t ri_digits_read(const char *text, uint64_t *out);
size_t ri_digits_of(struct ri_span span, uint64_t *out);
size_t ri_hex_read(const char *text, uint64_t *out);

/*
 * Versions of numbers with dots between them, "580.95.05": below 0, 0, or above 0, as a is older
 * than b, the same, or newer. A number that one of them lacks is 0; what follows the last number
 * does not count.
 */
int ri_version_compare(const char *a, const char *b);

/* yes/no, true/false, on/off, 1/0, any case. False: text is none of them. */
bool ri_bool_read(const char *text, bool *out);

/*
 * Kubernetes gives every pod NAME_PORT=tcp://ADDRESS:PORT for each service of its namespace
 * (kubernetes.io, "Discovering services", environment variables), so a service called "master"
 * overwrites MASTER_PORT. Such a value means that the variable is absent.
 */
bool ri_is_service_link(const char *text);

/* Of ASCII, whatever the locale: a digit. */
static inline bool ri_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A letter, a digit or '_'. */
static inline bool ri_is_word(char c)
{
	return ri_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static inline bool ri_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* As isspace(3) in the C locale. */
static inline bool ri_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* It always ends in '\0', and never runs over. */
struct ri_text {
	char *bytes;
	size_t size;	/* of the buffer, the '\0' included; at least 1 */
	size_t length;	/* without the '\0' */
	bool cut;	/* something did not fit */
};

static inline struct ri_text ri_text_of(char *buffer, size_t size)
{
	buffer[0] = '\0';
	return (struct ri_text){ .bytes = buffer, .size = size };
}

/* Declares a text in so many bytes of its own, as DECLARE_SEQ_BUF of linux/seq_buf.h does. */
#define RI_TEXT(name, size_) \
	char name##_bytes[size_]; \
	struct ri_text name = ri_text_of(name##_bytes, sizeof(name##_bytes))

void ri_text_add(struct ri_text *text, const char *string);
void ri_text_add_bytes(struct ri_text *text, const char *bytes, size_t count);
void ri_text_addf(struct ri_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Append a foreign value between double quotes. Control characters, quotes, backslashes and bytes
 * that are not UTF-8 become escapes, so that none commands a terminal, and past RI_MAX_QUOTE bytes
 * it is cut with "...".
 */
void ri_text_add_quoted(struct ri_text *text, const char *value);

/* The same into a buffer of the caller's, which holds any value if it has this size. */
const char *ri_quote(char *buffer, size_t size, const char *value);

#define RI_QUOTE_SIZE (4 * RI_MAX_QUOTE + 8)

/* The same as a string that lasts as long as the block that it stands in. */
#define RI_QUOTED(value) ri_quote((char[RI_QUOTE_SIZE]){ "" }, RI_QUOTE_SIZE, value)

/*
 * The same without quotes, in at most so many columns of a terminal. Characters of three bytes and
 * more count as two columns, which is never too few. Returns the columns used.
 */
size_t ri_text_add_shown(struct ri_text *text, const char *value, size_t columns);

/* In place: '?' for each byte of a control character (C0, DEL, C1), and for what is not UTF-8. */
void ri_text_replace_controls(char *text);

/*
 * Is all of it UTF-8 without control characters (C0, DEL, C1), but for '\n' where that is allowed?
 * A '\0' stands behind it, or no character goes beyond it.
 */
bool ri_text_is_clean(const char *text, size_t size, bool lines);

/* Bytes of the well-formed UTF-8 sequence at p, ASCII included; 0: it is none. */
size_t ri_utf8_length(const char *p);

/* strlcpy: copy what fits, always end in '\0'. NULL copies as "". */
void ri_text_copy(char *buffer, size_t size, const char *string);

/*
 * How many insertions, deletions, substitutions and swaps of neighbours turn one word into the
 * other; more than 31 bytes count as far away (32).
 */
unsigned ri_text_distance(const char *a, const char *b);

/*
 * The one of the names that was meant: the same but for capitals, or the only one that begins with
 * the word (of three bytes or more), or the nearest, few changes away (a third of the word's
 * length, 3 at most); else NULL. Leave out what all names begin with, as "--".
 */
const char *ri_text_nearest(const char *word, const char *const names[], size_t count);

/* Numbers of ranks or nodes as ranges: "0-3, 7". Begin with out and between. */
struct ri_ranges {
	struct ri_text *out;
	const char *between;	/* two of them */
	size_t most;		/* of them are written, and "..." for the others; 0: all are */
	size_t count;		/* that have begun */
	uint64_t first, last;	/* of the one that has not been written yet */
};

/* The next number, which is not less than the one before; the same again changes nothing. */
void ri_ranges_add(struct ri_ranges *ranges, uint64_t number);

/* Behind the last number. */
void ri_ranges_end(struct ri_ranges *ranges);

#endif
