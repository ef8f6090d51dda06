/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options by their type, and those that have a reader of their own. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/number.h"
#include "from/sources.h"
#include "link/seal.h"
#include "link/secret.h"
#include "options/table.h"
#include "output/pattern.h"
#include "redact/redact.h"
#include "to/to.h"

enum {
	CHOICES = 16, CHOICE_BYTES = 128,	/* of one option */
	MAX_NAMES = 64,	/* sources or frameworks, and one more */
};

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

static bool is_of_program(enum ri_action action)
{
	return action == RI_ACTION_HELP || action == RI_ACTION_VERSION;
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
	const char *before = options->action_value;
	/* the same once more is no other one: `--check --check` */
	bool is_same = options->action == action && (before == NULL || given.value == NULL
		? before == given.value : strcmp(before, given.value) == 0);

	if (is_of_program(options->action) || is_same)
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

/* One of the names, else an RI_CODE_OPTION_VALUE with the one that was perhaps meant. */
static int check_name(struct ri_given given, const char *word, const char *const names[],
	const char *table, struct ri_error *err)
{
	char quoted[RI_QUOTE_SIZE];
	const char *nearest;
	size_t count;

	for (count = 0; names[count] != NULL; count++)
		if (strcmp(names[count], word) == 0)
			return 0;
	nearest = ri_text_nearest(word, names, count);
	ri_fail(err, RI_CODE_OPTION_VALUE, given.subject, "%s is not among rankinit's %s",
		ri_quote(quoted, sizeof(quoted), word), table);
	if (nearest != NULL)
		return ri_fail_hint(err, "did you mean %s?", nearest);
	return ri_fail_hint(err, "see rankinit --list=%s", table);
}

int ri_read_source(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const char *names[MAX_NAMES] = { "none" };
	const struct ri_source *source;

	for (size_t i = 0; i < MAX_NAMES - 2 && (source = ri_source_at(i)) != NULL; i++)
		names[i + 1] = source->name;
	if (check_name(given, given.value, names, "sources", err) < 0)
		return -1;
	options->wishes.source = given;
	return 0;
}

int ri_read_frameworks(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const char *names[MAX_NAMES] = { NULL };
	const struct ri_framework *framework;
	char word[64];
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
		if (check_name(given, word, names, "frameworks", err) < 0)
			return -1;
		if (item[length] == '\0')
			return 0;
	}
}

int ri_read_tf_ps(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const struct ri_range range = { 0, RI_MAX_RANKS };

	options->wishes.tf_ps = given;
	return ri_value_number(&options->wishes.tf_ps_count, range, given, err);
}

int ri_read_nproc_per_node(
	struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	static const char *const words[] = {
		[RI_NPROC_GPU] = "gpu", [RI_NPROC_CPU] = "cpu", [RI_NPROC_AUTO] = "auto",
	};
	const struct ri_range range = { 1, RI_MAX_LOCAL };
	struct ri_wishes *wishes = &options->wishes;
	char expected[64];

	wishes->nproc = given;
	wishes->nproc_count = 0;
	for (options->nproc = RI_NPROC_GPU; options->nproc <= RI_NPROC_AUTO; options->nproc++)
		if (strcmp(words[options->nproc], given.value) == 0)
			return 0;
	options->nproc = RI_NPROC_STATED;
	if (ri_number_read(given.value, range, &wishes->nproc_count, NULL) == RI_NUMBER_OK)
		return 0;
	snprintf(expected, sizeof(expected), "a number from 1 to %d, gpu, cpu or auto",
		RI_MAX_LOCAL);
	return ri_option_bad_value(given, expected, err);
}

int ri_read_require(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_check_read_demands(&options->checks, RI_ASKER_REQUIRE, given, err);
}

int ri_read_expect(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_check_read_demands(&options->checks, RI_ASKER_EXPECT, given, err);
}

int ri_read_checks(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_check_read_pick(&options->checks, given, err);
}

int ri_read_simulate(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_simulation_read(&options->simulation, &given, err);
}

int ri_read_omp_threads(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const struct ri_range range = { 1, RI_MAX_CPUS };
	struct ri_place_wish *place = &options->place;
	char expected[64];

	place->omp = RI_OMP_STATED;
	if (strcmp(given.value, "auto") == 0)
		place->omp = RI_OMP_AUTO;
	else if (strcmp(given.value, "keep") == 0)
		place->omp = RI_OMP_KEEP;
	else if (ri_number_read(given.value, range, &place->threads, NULL) != RI_NUMBER_OK) {
		snprintf(expected, sizeof(expected), "auto, keep or a number from 1 to %d",
			RI_MAX_CPUS);
		return ri_option_bad_value(given, expected, err);
	}
	return 0;
}

int ri_read_restarts(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const struct ri_range range = { 0, RI_MAX_RESTARTS };

	return ri_value_number(&options->restarts, range, given, err);
}

int ri_read_link(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	bool yes = true, tell = given.value != NULL && strcmp(given.value, "tell") == 0;

	if (given.value != NULL && !tell && !ri_bool_read(given.value, &yes))
		return ri_option_bad_value(given, "yes, no or tell", err);
	options->link = tell ? RI_LINK_MODE_TELL : yes ? RI_LINK_MODE_STOP : RI_LINK_MODE_NO;
	return 0;
}

/* The twin is the secret itself, which no message shows. */
int ri_read_link_key(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	size_t length = given.twin ? strlen(given.value) : 0;
	const char *flaw = ri_secret_flaw(given.value, length);

	(void)options;
	if (!given.twin || (length >= RI_SEAL_SECRET && flaw == NULL))
		return 0;
	if (length < RI_SEAL_SECRET)
		ri_fail(err, RI_CODE_LINK_KEY, given.subject, "it has %zu bytes; expected %d or "
			"more", length, RI_SEAL_SECRET);
	else
		ri_fail(err, RI_CODE_LINK_KEY, given.subject, "it is no random secret: it %s",
			flaw);
	return ri_fail_hint(err, "make one: head -c 32 /dev/urandom | base64; to name a file use "
		"--link-key=FILE");
}

int ri_read_link_port(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const struct ri_range range = { 1, 65535 };
	uint64_t port;

	if (ri_number_read(given.value, range, &port, NULL) != RI_NUMBER_OK)
		return ri_option_bad_value(given, "a port from 1 to 65535", err);
	options->link_port = (uint16_t)port;
	return 0;
}

/* Not one that means something else to rankinit, or never reaches it. */
int ri_read_autopsy_signal(struct ri_options *options, struct ri_given given,
	struct ri_error *err)
{
	static const int taken[] = {
		SIGTERM, SIGINT, SIGKILL, SIGSTOP, SIGCHLD, SIGIO, SIGTSTP, SIGCONT,
	};
	int number = ri_signal_read(given.value);

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (number == taken[i])
			number = -1;
	if (number < 0)
		return ri_option_bad_value(given, "a signal that has no other meaning, as USR1",
			err);
	options->autopsy_signal = number;
	return 0;
}

int ri_read_signal_map(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	ri_signal_map_init(&options->signal_map);
	return ri_signal_map_read(&options->signal_map, given.value, given.subject, err);
}

int ri_read_exit_map(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	ri_exit_map_init(&options->exit_map);
	return ri_exit_map_read(&options->exit_map, given.value, given.subject, err);
}

int ri_read_log_prefix(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	bool yes = true, node = given.value != NULL && strcmp(given.value, "node") == 0;

	if (given.value != NULL && !node && !ri_bool_read(given.value, &yes))
		return ri_option_bad_value(given, "yes, no or node", err);
	options->log_prefix = yes;
	options->log_prefix_node = node;
	return 0;
}
