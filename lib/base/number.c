/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <string.h>
#include <strings.h>

static const char *skip_blanks(const char *p)
{
	while (ri_is_space(*p))
		p++;
	return p;
}

/* Reads all digits; *fits tells whether *value could hold them. */
static const char *read_digits(const char *p, uint64_t *value, bool *fits)
{
	*value = 0;
	*fits = true;
	for (; ri_is_digit(*p); p++) {
		if (__builtin_mul_overflow(*value, 10, value) ||
			__builtin_add_overflow(*value, (uint64_t)(*p - '0'), value))
			*fits = false;
	}
	return p;
}

size_t ri_digits_read(const char *text, uint64_t *out)
{
	uint64_t value;
	bool fits;
	const char *end = read_digits(text, &value, &fits);

	if (end == text || !fits)
		return 0;
	*out = value;
	return (size_t)(end - text);
}

size_t ri_digits_of(struct ri_span span, uint64_t *out)
{
	char text[24];	/* more digits than a number has */
	size_t length = span.length < sizeof(text) ? span.length : sizeof(text) - 1;

	memcpy(text, span.length == 0 ? "" : span.at, length);
	text[length] = '\0';
	return ri_digits_read(text, out);
}

static unsigned hex_of(char c)
{
	if (ri_is_digit(c))
		return (unsigned)(c - '0');
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
		: c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 16;
}

size_t ri_hex_read(const char *text, uint64_t *out)
{
	uint64_t value = 0;
	bool fits = true;
	const char *p = text;

	for (; hex_of(*p) < 16; p++) {
		fits = fits && value >> 60 == 0;
		value = value << 4 | hex_of(*p);
	}
	if (p == text || !fits)
		return 0;
	*out = value;
	return (size_t)(p - text);
}

/* in_ms: with decimals, as thousandths. */
/* Take the next number off; 0 past the last one. */
static uint64_t next_number(const char **rest)
{
	uint64_t number = 0;
	size_t digits = ri_digits_read(*rest, &number);

	*rest += digits;
	if (digits > 0 && **rest == '.')
		(*rest)++;
	else
		*rest = "";
	return number;
}

int ri_version_compare(const char *a, const char *b)
{
	while (*a != '\0' || *b != '\0') {
		uint64_t left = next_number(&a), right = next_number(&b);

		if (left != right)
			return left < right ? -1 : 1;
	}
	return 0;
}

static enum ri_number_fault read_value(const char *text, struct ri_range range, bool in_ms,
	uint64_t *out, size_t *fault_at)
{
	const char *start = skip_blanks(text), *at = start, *end, *tail;
	enum ri_number_fault fault;
	uint64_t value, ms = 0, unit = 100;
	bool fits;

	end = read_digits(start, &value, &fits);
	if (in_ms && end != start && *end == '.' && ri_is_digit(end[1]))
		for (end++; ri_is_digit(*end) && unit > 0; end++, unit /= 10)
			ms += unit * (uint64_t)(*end - '0');
	tail = skip_blanks(end);
	if (*start == '\0') {
		fault = RI_NUMBER_EMPTY;
		at = text;
	} else if (end == start || *tail != '\0') {
		fault = RI_NUMBER_SYNTAX;
		at = end == start ? start : tail;
	} else if (!fits || value < range.min || value > range.max ||
		(value == range.max && ms > 0) || (in_ms && range.max > UINT64_MAX / 1000)) {
		fault = RI_NUMBER_RANGE;
	} else {
		*out = in_ms ? value * 1000 + ms : value;
		return RI_NUMBER_OK;
	}
	if (fault_at != NULL)
		*fault_at = (size_t)(at - text);
	return fault;
}

enum ri_number_fault ri_number_read(
	const char *text, struct ri_range range, uint64_t *out, size_t *fault_at)
{
	return read_value(text, range, false, out, fault_at);
}

enum ri_number_fault ri_seconds_read(
	const char *text, struct ri_range range, uint64_t *out_ms, size_t *fault_at)
{
	return read_value(text, range, true, out_ms, fault_at);
}

bool ri_bool_read(const char *text, bool *out)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {
		{ "1", true }, { "yes", true }, { "true", true }, { "on", true },
		{ "0", false }, { "no", false }, { "false", false }, { "off", false },
	};

	for (size_t i = 0; i < RI_ARRAY_SIZE(words); i++) {
		if (strcasecmp(text, words[i].word) == 0) {
			*out = words[i].value;
			return true;
		}
	}
	return false;
}

bool ri_is_service_link(const char *text)
{
	static const char *const schemes[] = { "tcp://", "udp://", "sctp://" };

	for (size_t i = 0; i < RI_ARRAY_SIZE(schemes); i++)
		if (strncmp(text, schemes[i], strlen(schemes[i])) == 0)
			return true;
	return false;
}
