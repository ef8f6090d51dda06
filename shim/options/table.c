/* SPDX-License-Identifier: Apache-2.0 */
#include "options/table.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum { NAME = 48 };	/* bytes of any "--name" or "RANKINIT_NAME" */

/* Made when they are needed, which on most starts none is. */
static struct {
	char option[NAME], twin[NAME];
} names[RI_OPTION_COUNT];

const char *ri_option_name(const struct ri_option *option)
{
	char *out = names[option - ri_option_table].option;

	snprintf(out, NAME, "--%s", option->symbol);
	for (char *p = out; *p != '\0'; p++)
		if (*p == '_')
			*p = '-';
	return out;
}

const char *ri_option_twin(const struct ri_option *option)
{
	char *out = names[option - ri_option_table].twin;

	snprintf(out, NAME, "RANKINIT_%s", option->symbol);
	for (char *p = out; *p != '\0'; p++)
		if (*p >= 'a' && *p <= 'z')
			*p = (char)(*p - 'a' + 'A');
	return out;
}

bool ri_option_is_named(const struct ri_option *option, const char *word)
{
	const char *symbol = option->symbol;

	for (; *symbol != '\0'; symbol++, word++)
		if (*word != *symbol && !(*symbol == '_' && *word == '-'))
			return false;
	return *word == '\0' || *word == '=';
}

bool ri_option_stands(const struct ri_options *options, size_t number)
{
	const struct ri_given *given = &options->given.at[number];

	return given->subject != NULL && !given->twin;
}

void ri_option_fall_back(struct ri_options *options)
{
	for (size_t i = 0; i < RI_OPTION_COUNT; i++) {
		const struct ri_option *option = &ri_option_table[i];
		uint64_t *ms = (uint64_t *)((char *)options + option->field);

		if (option->type == RI_OPTION_SECONDS && ri_digits_read(option->fallback, ms) > 0)
			*ms *= 1000;
	}
}

int ri_option_take(struct ri_options *options, const struct ri_option *option,
	struct ri_given given, struct ri_error *err)
{
	void *field = (char *)options + option->field;

	options->given.at[option - ri_option_table] = given;
	switch (option->type) {
	case RI_OPTION_ANSWER:
		if (given.value != NULL && strchr(option->meta, '|') != NULL &&
			ri_value_choice(NULL, option->meta, given, err) < 0)
			return -1;
		return ri_option_answer(options, option->action, given, err);
	case RI_OPTION_TEXT:
		return 0;
	case RI_OPTION_PATTERN:
		return ri_value_pattern(given, err);
	case RI_OPTION_GIVEN:
		*(struct ri_given *)field = given;
		return 0;
	case RI_OPTION_YES:
		return ri_value_flag(field, given, err);
	case RI_OPTION_CHOICE:
		return ri_value_choice(field, option->meta, given, err);
	case RI_OPTION_SECONDS:
		return ri_value_seconds(field, given, err);
	case RI_OPTION_OWN:
		break;
	}
	return option->read(options, given, err);
}

/* The place of a field, which must have this type. */
#define PLACE(name, type_) \
	.field = offsetof(struct ri_options, name) + 0 * sizeof( \
		_Generic(&((struct ri_options *)NULL)->name, type_ *: 0))

#define ANSWER(action_) .type = RI_OPTION_ANSWER, .action = action_
#define TEXT .type = RI_OPTION_TEXT
#define PATTERN .type = RI_OPTION_PATTERN
#define GIVEN(name) .type = RI_OPTION_GIVEN, PLACE(name, struct ri_given)
#define YES(name) .type = RI_OPTION_YES, PLACE(name, bool)
#define CHOICE(enum_, name) .type = RI_OPTION_CHOICE, PLACE(name, enum enum_)
#define SECONDS(name) .type = RI_OPTION_SECONDS, PLACE(name, uint64_t)
#define OWN(function, ...) .type = RI_OPTION_OWN, .read = function
#define IN(type_) type_
#define ADDS(function) OWN(function), .adds = true

const struct ri_option ri_option_table[RI_OPTION_COUNT] = {
#define RI_OPTION(symbol_, letter_, kind_, form_, meta_, fallback_, type_, help_, group_, \
		brief_) \
	[RI_OPTION_##symbol_] = { .symbol = #symbol_, .letter = letter_, .kind = kind_, \
		.form = form_, .meta = meta_, .fallback = fallback_, .help = help_, \
		.group = RI_OPTIONS_##group_, .brief = brief_, type_ },
#include "options/options.def"
};
