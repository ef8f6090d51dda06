/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict numbers: the only place where text becomes a number.
 *
 * Blanks around a number are allowed, since Python's int() takes them and
 * schedulers write them. A sign, hexadecimal, digits too many, or anything
 * after the number is an error: a rank read wrong is worse than none.
 */
#ifndef RI_BASE_NUMBER_H
#define RI_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

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
 * Read text as a whole number within range. *out is written only when the
 * answer is RI_NUMBER_OK. fault_at, where not NULL, gets the offset of the
 * byte at fault (the first digit, where the number is out of range).
 */
enum ri_number_fault ri_number_read(
	const char *text, struct ri_range range, uint64_t *out, size_t *fault_at);

/*
 * Read the digits that text starts with, for grammars that have numbers in
 * their midst. Returns how many there are; 0, and *out as it was, where there
 * are none or more than a number holds.
 */
size_t ri_digits_read(const char *text, uint64_t *out);

/* The same for text that need not end in '\0'. */
size_t ri_digits_of(struct ri_span span, uint64_t *out);

/* The same of hexadecimal digits in either case, without a "0x" before them. */
size_t ri_hex_read(const char *text, uint64_t *out);

/*
 * Read seconds, "10" or "0.25", as milliseconds; range is in seconds. Digits
 * past the third are refused, not rounded.
 */
enum ri_number_fault ri_seconds_read(
	const char *text, struct ri_range range, uint64_t *out_ms, size_t *fault_at);

/*
 * yes/no, true/false, on/off, 1/0, any case. Returns false, and leaves *out,
 * where text is none of them.
 */
bool ri_bool_read(const char *text, bool *out);

/*
 * Kubernetes gives every pod NAME_PORT=tcp://ADDRESS:PORT for each service of
 * its namespace (kubernetes.io, "Discovering services", environment
 * variables), so a service called "master" overwrites MASTER_PORT. Such a
 * value is no number gone wrong, it means that the variable is absent.
 */
bool ri_is_service_link(const char *text);

#endif
