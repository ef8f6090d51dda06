/* SPDX-License-Identifier: Apache-2.0 */
/* What the program makes of a command line, for tests of what it is for. */
#ifndef RI_TESTS_OPTIONS_OF_H
#define RI_TESTS_OPTIONS_OF_H

#include "command/command.h"
#include "model/context.h"
#include "node/place.h"
#include "options/options.h"

struct options_of {
	struct ri_options read;
	struct ri_wishes wishes;
	struct ri_place_wish place;
	enum ri_mode launch;
	char *const *command;
	char *argv[256];	/* "rankinit", the options, "--", the command */
};

/* Fails as ri_options_read does. */
static inline int options_of_words(struct options_of *out, char *const *words,
	char *const *command, const struct ri_env *env, struct ri_findings *findings,
	struct ri_error *err)
{
	static char name[] = "rankinit", end[] = "--";
	enum { ROOM = sizeof(out->argv) / sizeof(out->argv[0]) - 2 };
	struct ri_options options;
	size_t count = 0;

	out->argv[count++] = name;
	while (count < ROOM && *words != NULL)
		out->argv[count++] = *words++;
	out->argv[count++] = end;
	while (count < ROOM && *command != NULL)
		out->argv[count++] = *command++;
	assert_null(*words);
	assert_null(*command);
	out->argv[count] = NULL;
	if (ri_options_read(&options, out->argv, env, findings, err) < 0)
		return -1;
	out->read = options;
	out->wishes = options.wishes;
	out->place = options.place;
	out->launch = options.launch;
	out->command = options.command;
	return 0;
}

#endif
