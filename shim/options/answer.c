/* SPDX-License-Identifier: Apache-2.0 */
/* Options that answer instead of a launch. */
#include <string.h>

#include "options/table.h"
#include "options/value.h"

static bool is_of_program(enum ri_action action)
{
	return action == RI_ACTION_HELP || action == RI_ACTION_VERSION;
}

/* The same once more is no other one: `--check --check`. */
static bool is_same_action(
	const struct ri_options *options, enum ri_action action, const char *value)
{
	const char *before = options->action_value;

	return options->action == action && (before == NULL || value == NULL
		? before == value : strcmp(before, value) == 0);
}

/* Two answers cannot both be given, and neither is left out in silence. */
static int refuse_action(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const char *other = NULL;

	for (size_t i = 0; i < RI_OPTION_COUNT; i++)
		if (ri_option_table[i].kind == ACTION && options->given.at[i].subject != NULL &&
			options->given.at[i].subject != given.subject)
			other = options->given.at[i].subject;
	/* nothing is answered: the error is said as that of a launch */
	options->action = RI_ACTION_LAUNCH;
	if (other == NULL)
		return ri_fail(err, RI_CODE_OPTION_CONFLICT, given.subject,
			"is given twice, with different values");
	ri_fail(err, RI_CODE_OPTION_CONFLICT, given.subject, "cannot be combined with %s: each "
		"prints its own answer and runs nothing", other);
	return ri_fail_hint(err, "leave one of them out");
}

int ri_option_answer(struct ri_options *options, enum ri_action action, struct ri_given given,
	struct ri_error *err)
{
	if (is_of_program(options->action) || is_same_action(options, action, given.value))
		return 0;
	if (options->action != RI_ACTION_LAUNCH && !is_of_program(action))
		return refuse_action(options, given, err);
	options->action = action;
	options->action_value = given.value;
	return 0;
}

int ri_read_status(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	if (given.value != NULL && given.value[0] == '\0')
		return ri_option_bad_value(given, "a file name, or no =", err);
	return ri_option_answer(options, RI_ACTION_STATUS, given, err);
}

int ri_read_blame(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	/* of version 0.1, and the page for now: say/blame_reports.c warns */
	bool gone = given.value != NULL && strcmp(given.value, "trace") == 0;

	if (given.value != NULL && !gone && ri_value_choice(NULL, "text|json", given, err) < 0)
		return -1;
	return ri_option_answer(options, RI_ACTION_BLAME, given, err);
}
