/* SPDX-License-Identifier: Apache-2.0 */
#include "options/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int ri_option_bad_value(struct ri_given given, const char *expected, struct ri_error *err)
{
	char quoted[RI_QUOTE_SIZE];

	return ri_fail(err, RI_CODE_OPTION_VALUE, given.subject, "%s: expected %s",
		ri_quote(quoted, sizeof(quoted), given.value), expected);
}

int ri_value_flag(bool *out, struct ri_given given, struct ri_error *err)
{
	*out = true;
	if (given.value == NULL || ri_bool_read(given.value, out))
		return 0;
	return ri_option_bad_value(given, "yes or no", err);
}

int ri_value_switch(enum ri_switch *out, const char *const words[3], struct ri_given given,
	struct ri_error *err)
{
	char expected[64];

	for (int i = 0; i < 3; i++) {
		if (strcmp(given.value, words[i]) == 0) {
			*out = (enum ri_switch)i;
			return 0;
		}
	}
	snprintf(expected, sizeof(expected), "%s, %s or %s", words[0], words[1], words[2]);
	return ri_option_bad_value(given, expected, err);
}

int ri_value_word(struct ri_given *word, struct ri_given given, int option)
{
	static char names[RI_OPTION_COUNT][RI_OPTION_NAME];

	if (given.twin)
		ri_option_twin_name(&ri_option_table[option], names[option]);
	else
		ri_option_long_name(&ri_option_table[option], names[option]);
	*word = (struct ri_given){
		.subject = names[option], .value = given.value, .twin = given.twin,
	};
	return 0;
}

int ri_value_choice(unsigned *out, const char *const words[], struct ri_given given,
	struct ri_error *err)
{
	char bytes[64];
	struct ri_text expected;

	ri_text_init(&expected, bytes, sizeof(bytes));
	for (unsigned i = 0; words[i] != NULL; i++) {
		if (strcmp(given.value, words[i]) == 0) {
			*out = i;
			return 0;
		}
		ri_text_addf(&expected, "%s%s", i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ",
			words[i]);
	}
	return ri_option_bad_value(given, bytes, err);
}

struct ri_given ri_value_stated(struct ri_given given, const char *option, const char *twin)
{
	given.subject = given.twin ? twin : option;
	return given;
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

int ri_value_seconds(uint64_t *out_ms, struct ri_given given, struct ri_error *err)
{
	const struct ri_range range = { 0, RI_MAX_GRACE_S };
	char expected[64];

	if (ri_seconds_read(given.value, range, out_ms, NULL) == RI_NUMBER_OK)
		return 0;
	snprintf(expected, sizeof(expected), "seconds from 0 to %d, like 25 or 2.5",
		RI_MAX_GRACE_S);
	return ri_option_bad_value(given, expected, err);
}
