/* SPDX-License-Identifier: Apache-2.0 */
/* Options that exclude each other. */
#include <string.h>

#include "base/number.h"
#include "command/command.h"
#include "options/table.h"

static bool is_yes(const char *value)
{
	bool yes = true;

	if (value != NULL)
		ri_bool_read(value, &yes);
	return yes;
}

static bool is_never(const char *value)
{
	return strcmp(value, "never") == 0;
}

static bool is_none(const char *value)
{
	return strcmp(value, "none") == 0;
}

static bool is_some(const char *value)
{
	return strspn(value, "0") < strlen(value);
}

/* "gpu" and the like may be several; we may become a single one. */
static bool is_several(const char *value)
{
	const struct ri_range range = { 1, 1 };
	uint64_t one;

	return ri_number_read(value, range, &one, NULL) != RI_NUMBER_OK;
}

static bool is_without_tensorflow(const char *value)
{
	const struct ri_wishes wishes = { .frameworks = value };

	return strcmp(value, "auto") != 0 && !ri_wishes_name_framework(&wishes, "tensorflow");
}

/* Two options, and the values with which they exclude each other; NULL: any. */
struct pair {
	size_t one;
	bool (*one_is)(const char *value);
	size_t other;
	bool (*other_is)(const char *value);
	const char *why;	/* the first one is blamed; NULL: not here, if at all */
	bool of_ranks;		/* only where ranks are started here */
	bool stays;		/* the first one does not give way to the other */
};

#define PAIR(one_, one_is_, other_, other_is_) \
	.one = RI_OPTION_##one_, .one_is = one_is_, \
	.other = RI_OPTION_##other_, .other_is = other_is_

static const char no_output[] = "rankinit must stay to handle the output";
static const char no_writer[] = "rankinit must stay to write it";

static const struct pair pairs[] = {
	{ PAIR(supervise, is_never, log_prefix, is_yes), .why = no_output },
	{ PAIR(supervise, is_never, log_file, NULL), .why = no_output },
	{ PAIR(report, NULL, supervise, is_never), .why = no_writer },
	{ PAIR(state, NULL, supervise, is_never), .why = no_writer },
	{ PAIR(supervise, is_never, exit_class, is_yes),
		.why = "rankinit must stay to see how the command ends" },
	{ PAIR(exit_map, NULL, exit_class, is_yes), .why = "each says what the exit status is" },
	{ PAIR(restarts, is_some, supervise, is_never),
		.why = "rankinit must stay to start the ranks again" },
	/* refused where hosts are read, ranks are counted, variables are written */
	{ PAIR(hosts, NULL, hostfile, NULL) },
	{ PAIR(source, is_none, nproc_per_node, NULL), .of_ranks = true },
	{ PAIR(nproc_per_node, is_several, supervise, is_never), .of_ranks = true, .stays = true },
	{ PAIR(frameworks, is_without_tensorflow, tf_ps, NULL) },
	/* together they are accepted */
	{ PAIR(quiet, is_yes, verbose, is_yes) },
};

enum { PAIRS = sizeof(pairs) / sizeof(pairs[0]) };

static bool holds(bool (*is)(const char *value), const char *value)
{
	return is == NULL || is(value);
}

/* A launcher starts its ranks itself: then how many is no more than told to it. */
static bool starts_ranks(const struct ri_options *options)
{
	struct ri_command command;

	ri_command_read(&command, options->command, options->launch);
	return command.mode == RI_MODE_PROCESS;
}

const struct ri_option *ri_option_rival(const struct ri_options *options, size_t twin,
	const char *value)
{
	for (size_t i = 0; i < PAIRS; i++) {
		const struct pair *pair = &pairs[i];
		bool is_one = pair->one == twin;
		size_t rival = is_one ? pair->other : pair->one;
		const char *given = options->given.at[rival].value;

		if (is_one ? pair->stays : pair->other != twin)
			continue;
		if (!ri_option_stands(options, rival))
			continue;
		if (holds(pair->one_is, is_one ? value : given) &&
			holds(pair->other_is, is_one ? given : value) &&
			(!pair->of_ranks || starts_ranks(options)))
			return &ri_option_table[rival];
	}
	return NULL;
}

/* Both are named, with the values that matter. */
static int refuse(const struct pair *pair, struct ri_given one, struct ri_given other,
	struct ri_error *err)
{
	char quoted[RI_QUOTE_SIZE] = "";
	bool shows = pair->other_is != NULL && other.value != NULL;

	if (pair->one_is != NULL)
		ri_quote(quoted, sizeof(quoted), one.value);
	ri_fail(err, RI_CODE_OPTION_CONFLICT, one.subject, "%s%scannot be combined with %s%s%s: %s",
		quoted, quoted[0] == '\0' ? "" : " ", other.subject, shows ? "=" : "",
		shows ? other.value : "", pair->why);
	return ri_fail_hint(err, "leave one of them out");
}

int ri_options_check(const struct ri_options *options, struct ri_error *err)
{
	const union ri_options_given *given = &options->given;

	for (size_t i = 0; i < PAIRS; i++) {
		const struct pair *pair = &pairs[i];
		struct ri_given one = given->at[pair->one], other = given->at[pair->other];

		if (pair->why != NULL && one.subject != NULL && other.subject != NULL &&
			holds(pair->one_is, one.value) && holds(pair->other_is, other.value))
			return refuse(pair, one, other, err);
	}
	return 0;
}
