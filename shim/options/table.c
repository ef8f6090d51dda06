/* SPDX-License-Identifier: Apache-2.0 */
#include "options/value.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "from/from.h"
#include "to/to.h"

enum { MAX_NAMES = 64 };	/* sources or frameworks, and one more */

const char *ri_option_long_name(const struct ri_option *option, char out[RI_OPTION_NAME])
{
	snprintf(out, RI_OPTION_NAME, "--%s", option->symbol);
	for (char *p = out; *p != '\0'; p++)
		if (*p == '_')
			*p = '-';
	return out;
}

const char *ri_option_twin_name(const struct ri_option *option, char out[RI_OPTION_NAME])
{
	snprintf(out, RI_OPTION_NAME, "RANKINIT_%s", option->symbol);
	for (char *p = out; *p != '\0'; p++)
		if (*p >= 'a' && *p <= 'z')
			*p = (char)(*p - 'a' + 'A');
	return out;
}

static bool is_of_program(enum ri_action action)
{
	return action == RI_ACTION_HELP || action == RI_ACTION_VERSION;
}

/* The same once more is no other one: `--explain --dry-run`. */
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
	char name[RI_OPTION_NAME], other[RI_OPTION_NAME] = "";

	for (size_t i = 0; i < RI_OPTION_COUNT; i++)
		if (ri_option_table[i].kind == ACTION && (options->given >> i & 1) != 0 &&
			strcmp(ri_option_long_name(&ri_option_table[i], name), given.subject) != 0)
			memcpy(other, name, sizeof(other));
	/* nothing is answered: the error is said as that of a launch */
	options->action = RI_ACTION_LAUNCH;
	if (other[0] == '\0')
		return ri_fail(err, RI_CODE_OPTION_CONFLICT, given.subject,
			"is there twice, with different values");
	ri_fail(err, RI_CODE_OPTION_CONFLICT, given.subject, "does not go with %s before it: "
		"each prints something of its own and runs nothing", other);
	return ri_fail_hint(err, "leave one of them out");
}

/* Of --help and --version the first one wins, and over all others. */
static int set_action(struct ri_options *options, enum ri_action action, struct ri_given given,
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

int ri_read_help(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return set_action(options, RI_ACTION_HELP, given, err);
}

int ri_read_version(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return set_action(options, RI_ACTION_VERSION, given, err);
}

int ri_read_list(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return set_action(options, RI_ACTION_LIST, given, err);
}

int ri_read_explain(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	if (given.value != NULL && strcmp(given.value, "text") != 0 &&
		strcmp(given.value, "json") != 0)
		return ri_option_bad_value(given, "text or json", err);
	return set_action(options, RI_ACTION_EXPLAIN, given, err);
}

int ri_read_dry_run(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_read_explain(options, given, err);
}

int ri_read_check(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	if (given.value != NULL && strcmp(given.value, "text") != 0 &&
		strcmp(given.value, "json") != 0)
		return ri_option_bad_value(given, "text or json", err);
	return set_action(options, RI_ACTION_CHECK, given, err);
}

int ri_read_print_env(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return set_action(options, RI_ACTION_PRINT_ENV, given, err);
}

int ri_read_status(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	if (given.value != NULL && given.value[0] == '\0')
		return ri_option_bad_value(given, "the name of a file, or no =", err);
	return set_action(options, RI_ACTION_STATUS, given, err);
}

#define READ_FACT(symbol, FACT, option) \
	int ri_read_##symbol( \
		struct ri_options *options, struct ri_given given, struct ri_error *err) \
	{ \
		(void)err; \
		options->wishes.facts[RI_FACT_##FACT] = \
			ri_value_stated(given, option, "RANKINIT_" #FACT); \
		return 0; \
	}

READ_FACT(rank, RANK, "--rank")
READ_FACT(world_size, WORLD_SIZE, "--world-size")
READ_FACT(local_rank, LOCAL_RANK, "--local-rank")
READ_FACT(local_world_size, LOCAL_WORLD_SIZE, "--local-world-size")
READ_FACT(node_rank, NODE_RANK, "--node-rank")
READ_FACT(nnodes, NNODES, "--nnodes")
READ_FACT(master_addr, MASTER_ADDR, "--master-addr")
READ_FACT(master_port, MASTER_PORT, "--master-port")
READ_FACT(hosts, HOSTS, "--hosts")

int ri_read_hostfile(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)err;
	options->wishes.hostfile = ri_value_stated(given, "--hostfile", "RANKINIT_HOSTFILE");
	return 0;
}

/* An RI_CODE_OPTION_VALUE about a name, and the one that was perhaps meant. */
static int unknown_name(struct ri_given given, const char *word, const char *const names[],
	const char *table, struct ri_error *err)
{
	char quoted[RI_QUOTE_SIZE];
	const char *nearest;
	size_t count = 0;

	while (names[count] != NULL)
		count++;
	nearest = ri_text_nearest(word, names, count);
	ri_fail(err, RI_CODE_OPTION_VALUE, given.subject, "%s is none of rankinit's %s",
		ri_quote(quoted, sizeof(quoted), word), table);
	if (nearest != NULL)
		return ri_fail_hint(err, "did you mean %s?", nearest);
	return ri_fail_hint(err, "see rankinit --list=%s", table);
}

static bool is_in(const char *word, const char *const names[])
{
	for (; *names != NULL; names++)
		if (strcmp(*names, word) == 0)
			return true;
	return false;
}

int ri_read_source(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const char *names[MAX_NAMES] = { "none" };
	const struct ri_source *source;

	for (size_t i = 0; i < MAX_NAMES - 2 && (source = ri_source_at(i)) != NULL; i++)
		names[i + 1] = source->name;
	if (!is_in(given.value, names))
		return unknown_name(given, given.value, names, "sources", err);
	options->wishes.source = ri_value_stated(given, "--source", "RANKINIT_SOURCE");
	return 0;
}

int ri_read_frameworks(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const char *names[MAX_NAMES] = { NULL };
	const struct ri_framework *framework;
	char word[RI_OPTION_NAME];
	size_t length;

	options->wishes.frameworks = NULL;
	if (strcmp(given.value, "auto") == 0)
		return 0;
	options->wishes.frameworks = given.value;
	if (strcmp(given.value, "none") == 0)
		return 0;
	for (size_t i = 0; i < MAX_NAMES - 1 && (framework = ri_framework_at(i)) != NULL; i++)
		names[i] = framework->name;
	for (const char *item = given.value;; item += length + 1) {
		length = strcspn(item, ",");
		snprintf(word, sizeof(word), "%.*s", (int)length, item);
		if (!is_in(word, names))
			return unknown_name(given, word, names, "frameworks", err);
		if (item[length] == '\0')
			return 0;
	}
}

int ri_read_tf_ps(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const struct ri_range range = { 0, RI_MAX_RANKS };

	options->wishes.tf_ps = ri_value_stated(given, "--tf-ps", "RANKINIT_TF_PS");
	return ri_value_number(&options->wishes.tf_ps_count, range, given, err);
}

int ri_read_tf_chief(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	bool yes;

	if (ri_value_flag(&yes, given, err) < 0)
		return -1;
	options->wishes.tf_chief = ri_value_stated(given, "--tf-chief", "RANKINIT_TF_CHIEF");
	options->wishes.tf_chief.value = yes ? "yes" : NULL;
	return 0;
}

int ri_read_tf_port(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const struct ri_range range = { 1, 65535 };

	options->wishes.tf_port = ri_value_stated(given, "--tf-port", "RANKINIT_TF_PORT");
	return ri_value_number(&options->wishes.tf_port_number, range, given, err);
}

int ri_read_override_env(
	struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_value_flag(&options->wishes.override_env, given, err);
}

int ri_read_azure_batch_port(
	struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_value_flag(&options->wishes.azure_batch_port, given, err);
}

const struct ri_option ri_option_table[RI_OPTION_COUNT] = {
#define RI_OPTION(symbol_, letter_, kind_, form_, meta_, fallback_, help_) \
	[RI_OPTION_##symbol_] = { .symbol = #symbol_, .letter = letter_, .kind = kind_, \
		.form = form_, .meta = meta_, .fallback = fallback_, .help = help_, \
		.read = ri_read_##symbol_ },
#include "options/options.def"
#undef RI_OPTION
};
