/* SPDX-License-Identifier: Apache-2.0 */
/* Options that exclude each other. */
#include <string.h>

#include "options/table.h"

/* Two options, and the values with which they exclude each other. */
struct pair {
	size_t one;
	const char *one_is;
	size_t other;
	const char *other_is;
	const char *why;	/* the first one is blamed; NULL: not here, if at all */
	bool of_ranks;		/* only where ranks are started here */
	bool stays;		/* the first one does not give way to the other */
};

/* yes: in each spelling, or no value; !0: another number, or none; !NAME: a list without it */
#define PAIR(one_, one_is_, other_, other_is_) \
	.one = RI_OPTION_##one_, .one_is = one_is_, \
	.other = RI_OPTION_##other_, .other_is = other_is_

static const char any[] = "";
static const char no_output[] = "rankinit must stay to handle the output";
static const char no_writer[] = "rankinit must stay to write it";

static const struct pair pairs[] = {
	{ PAIR(supervise, "never", log_prefix, "yes"), .why = no_output },
	{ PAIR(supervise, "never", log_file, any), .why = no_output },
	{ PAIR(report, any, supervise, "never"), .why = no_writer },
	{ PAIR(state, any, supervise, "never"), .why = no_writer },
	{ PAIR(supervise, "never", exit_class, "yes"),
		.why = "rankinit must stay to see how the command ends" },
	{ PAIR(exit_map, any, exit_class, "yes"), .why = "each says what the exit status is" },
	{ PAIR(restarts, "!0", supervise, "never"),
		.why = "rankinit must stay to start the ranks again" },
	/* refused where hosts are read, ranks are counted, variables are written */
	{ PAIR(hosts, any, hostfile, any) },
	{ PAIR(source, "none", nproc_per_node, any), .of_ranks = true },
	/* "gpu" and the like may be several; we may become a single one */
	{ PAIR(nproc_per_node, "!1", supervise, "never"), .of_ranks = true, .stays = true },
	{ PAIR(frameworks, "!tensorflow", tf_ps, any) },
	/* together they are accepted */
	{ PAIR(quiet, "yes", verbose, "yes") },
};

enum { PAIRS = sizeof(pairs) / sizeof(pairs[0]) };

static bool holds(const char *is, const char *value)
{
	const struct ri_wishes wishes = { .frameworks = value };
	uint64_t wanted, number;
	bool yes = true;

	if (is == any)
		return true;
	if (strcmp(is, "yes") == 0)
		return value == NULL || !ri_bool_read(value, &yes) || yes;
	if (is[0] != '!')
		return strcmp(value, is) == 0;
	if (ri_digits_read(is + 1, &wanted) > 0)
		return ri_number_read(value, (struct ri_range){ wanted, wanted }, &number, NULL) !=
			RI_NUMBER_OK;
	return strcmp(value, "auto") != 0 && !ri_wishes_name_framework(&wishes, is + 1);
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

		if ((is_one ? pair->stays : pair->other != twin) ||
			!ri_option_stands(options, rival))
			continue;
		if (holds(pair->one_is, is_one ? value : given) &&
			holds(pair->other_is, is_one ? given : value) &&
			(!pair->of_ranks || starts_ranks(options)))
			return &ri_option_table[rival];
	}
	return NULL;
}

int ri_options_check(const struct ri_options *options, struct ri_error *err)
{
	const union ri_options_given *given = &options->given;
	char quoted[RI_QUOTE_SIZE] = "";

	for (size_t i = 0; i < PAIRS; i++) {
		const struct pair *pair = &pairs[i];
		struct ri_given one = given->at[pair->one], other = given->at[pair->other];
		bool shows = pair->other_is != any && other.value != NULL;

		if (pair->why == NULL || one.subject == NULL || other.subject == NULL ||
			!holds(pair->one_is, one.value) || !holds(pair->other_is, other.value))
			continue;
		/* both are named, with the values that matter */
		if (pair->one_is != any)
			ri_quote(quoted, sizeof(quoted), one.value);
		ri_fail(err, RI_CODE_OPTION_CONFLICT, one.subject,
			"%s%scannot be combined with %s%s%s: %s", quoted,
			quoted[0] == '\0' ? "" : " ", other.subject, shows ? "=" : "",
			shows ? other.value : "", pair->why);
		return ri_fail_hint(err, "leave one of them out");
	}
	return 0;
}
