/* SPDX-License-Identifier: Apache-2.0 */
#include "options/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "output/pattern.h"
#include "redact/redact.h"

int ri_option_bad_value(struct ri_given given, const char *expected, struct ri_error *err)
{
	char quoted[RI_QUOTE_SIZE], shown[4 * RI_MAX_QUOTE];

	/* what was meant for the command */
	ri_text_copy(shown, sizeof(shown), given.value);
	ri_redact_word_in_place(shown, sizeof(shown));
	return ri_fail(err, RI_CODE_OPTION_VALUE, given.subject, "%s: expected %s",
		ri_quote(quoted, sizeof(quoted), shown), expected);
}

int ri_value_flag(bool *out, struct ri_given given, struct ri_error *err)
{
	bool yes = true;

	if (given.value != NULL && !ri_bool_read(given.value, &yes))
		return ri_option_bad_value(given, "yes or no", err);
	*out = yes;
	return 0;
}

enum { CHOICES = 16, CHOICE_BYTES = 128 };	/* of one option */

int ri_value_choice(unsigned *out, const char *words, struct ri_given given,
	struct ri_error *err)
{
	char copy[CHOICE_BYTES], bytes[CHOICE_BYTES], *rest = copy;
	const char *names[CHOICES], *nearest;
	struct ri_text expected;
	unsigned count = 0;

	ri_text_init(&expected, bytes, sizeof(bytes));
	ri_text_copy(copy, sizeof(copy), words);
	for (; rest != NULL && count < CHOICES; count++) {
		names[count] = strsep(&rest, "|");
		if (strcmp(given.value, names[count]) == 0) {
			if (out != NULL)
				*out = count;
			return 0;
		}
		ri_text_add(&expected, count == 0 ? "" : rest == NULL ? " or " : ", ");
		ri_text_add(&expected, names[count]);
	}
	ri_option_bad_value(given, bytes, err);
	nearest = ri_text_nearest(given.value, names, count);
	return nearest == NULL ? -1 : ri_fail_hint(err, "did you mean %s?", nearest);
}

int ri_value_pattern(struct ri_given given, struct ri_error *err)
{
	struct ri_pattern_use use;

	if (ri_pattern_read(given.value, &use))
		return 0;
	return ri_option_bad_value(given, "a name in which % stands only before r, l, n, h or "
		"%", err);
}

int ri_value_number(uint64_t *out, struct ri_range range, struct ri_given given,
	struct ri_error *err)
{
	char expected[64];

	if (ri_number_read(given.value, range, out, NULL) == RI_NUMBER_OK)
		return 0;
	snprintf(expected, sizeof(expected), "a whole number from %" PRIu64 " to %" PRIu64,
		range.min, range.max);
	return ri_option_bad_value(given, expected, err);
}

/* "5m", where seconds are meant: hint at 300. */
static void hint_seconds(const char *value, uint64_t most, struct ri_error *err)
{
	static const struct {
		const char *name;
		uint64_t seconds;
	} units[] = {
		{ "s", 1 }, { "sec", 1 }, { "m", 60 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 },
	};
	uint64_t number;
	size_t length = ri_digits_read(value, &number);

	for (size_t i = 0; length > 0 && i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(value + length, units[i].name) == 0 && number <= most / units[i].seconds)
			ri_fail_hint(err, "write %" PRIu64 ": seconds stand without a unit",
				number * units[i].seconds);
}

int ri_value_seconds(uint64_t *out_ms, struct ri_given given, struct ri_error *err)
{
	const struct ri_range range = { 0, RI_MAX_GRACE_S };
	char expected[64];

	if (ri_seconds_read(given.value, range, out_ms, NULL) == RI_NUMBER_OK)
		return 0;
	snprintf(expected, sizeof(expected), "seconds from 0 to %d, like 25 or 2.5",
		RI_MAX_GRACE_S);
	ri_option_bad_value(given, expected, err);
	hint_seconds(given.value, range.max, err);
	return -1;
}
