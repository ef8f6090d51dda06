/* SPDX-License-Identifier: Apache-2.0 */
#include "options/table.h"

#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "from/sources.h"
#include "link/seal.h"
#include "link/secret.h"
#include "output/output.h"
#include "redact/redact.h"
#include "to/to.h"

enum {
	NAME = 48,	/* bytes of any "--name" or "RANKINIT_NAME" */
	CHOICES = 16, CHOICE_BYTES = 128,	/* of one option */
	MAX_NAMES = 64,	/* sources or frameworks, and one more */
};

/* Made when they are needed, which on most starts none is. */
static struct {
	char option[NAME], twin[NAME];
} spelled[RI_OPTION_COUNT];

const char *ri_option_name(const struct ri_option *option)
{
	char *out = spelled[option - ri_option_table].option;

	snprintf(out, NAME, "--%s", option->symbol);
	for (char *p = out; *p != '\0'; p++)
		if (*p == '_')
			*p = '-';
	return out;
}

const char *ri_option_twin(const struct ri_option *option)
{
	char *out = spelled[option - ri_option_table].twin;

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

int ri_option_bad_value(struct ri_given given, const char *expected, struct ri_error *err)
{
	char shown[4 * RI_MAX_QUOTE];

	/* what was meant for the command */
	ri_text_copy(shown, sizeof(shown), given.value);
	ri_redact_word_in_place(shown, sizeof(shown));
	return ri_fail(err, RI_CODE_OPTION_VALUE, given.subject, "%s: expected %s",
		RI_QUOTED(shown), expected);
}

/* "--launch=torchrun": which mode that is. */
static void hint_launcher(const char *value, struct ri_error *err)
{
	char name[NAME], *const words[] = { name, NULL };
	struct ri_command command;

	ri_text_copy(name, sizeof(name), value);
	ri_command_read(&command, words, RI_MODE_AUTO);
	if (command.launcher != NULL)
		ri_fail_hint(err, "leave it out: rankinit knows %s by its name; for a script that "
			"starts it, --launch=%s", name, ri_mode_name(command.mode));
}

/*
 * One of the words of meta, as its place among them. An N there is a number in this range, where
 * there is one; yes and no of a FLAG are 1 and 0, in each of their spellings.
 */
static int read_choice(unsigned *out, uint64_t *number, struct ri_range range,
	const struct ri_option *option, struct ri_given given, struct ri_error *err)
{
	char copy[CHOICE_BYTES], *rest = copy;
	bool is_flag = option->form == FLAG, yes = true;
	const char *words[CHOICES], *nearest;
	RI_TEXT(expected, CHOICE_BYTES);
	unsigned count = 0;

	if (is_flag && (given.value == NULL || ri_bool_read(given.value, &yes))) {
		*out = yes;
		return 0;
	}
	ri_text_copy(copy, sizeof(copy), option->meta);
	for (; rest != NULL && count < CHOICES; count++) {
		const char *word = words[count] = strsep(&rest, "|");
		bool counts = number != NULL && strcmp(word, "N") == 0;

		if (counts ? ri_number_read(given.value, range, number, NULL) == RI_NUMBER_OK
			: strcmp(given.value, word) == 0) {
			if (number != NULL && !counts)
				*number = 0;
			*out = count;
			return 0;
		}
		ri_text_add(&expected, count == 0 ? "" : rest == NULL ? " or " : ", ");
		if (counts)
			ri_text_addf(&expected, "a number from %" PRIu64 " to %" PRIu64,
				range.min, range.max);
		else
			ri_text_add(&expected, word);
	}
	ri_option_bad_value(given, expected.bytes, err);
	if (option == &ri_option_table[RI_OPTION_launch])
		hint_launcher(given.value, err);
	nearest = is_flag || number != NULL ? NULL : ri_text_nearest(given.value, words, count);
	return nearest == NULL ? -1 : ri_fail_hint(err, "did you mean %s?", nearest);
}

/* The same where no word of meta is a number. */
static int read_word(unsigned *out, const struct ri_option *option, struct ri_given given,
	struct ri_error *err)
{
	return read_choice(out, NULL, (struct ri_range){ 0, 0 }, option, given, err);
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

static int read_seconds(uint64_t *out_ms, struct ri_given given, struct ri_error *err)
{
	static const struct {
		const char *name;
		uint64_t seconds;
	} units[] = {
		{ "s", 1 }, { "sec", 1 }, { "m", 60 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 },
	};
	const struct ri_range range = { 0, RI_MAX_GRACE_S };
	char expected[64];
	uint64_t number;
	size_t length;

	if (ri_seconds_read(given.value, range, out_ms, NULL) == RI_NUMBER_OK)
		return 0;
	snprintf(expected, sizeof(expected), "seconds from 0 to %d, like 25 or 2.5",
		RI_MAX_GRACE_S);
	ri_option_bad_value(given, expected, err);
	/* "5m": hint at 300 */
	length = ri_digits_read(given.value, &number);
	for (size_t i = 0; length > 0 && i < RI_ARRAY_SIZE(units); i++)
		if (strcmp(given.value + length, units[i].name) == 0 &&
			number <= range.max / units[i].seconds)
			ri_fail_hint(err, "write %" PRIu64 ": seconds stand without a unit",
				number * units[i].seconds);
	return -1;
}

static bool is_of_program(enum ri_action action)
{
	return action == RI_ACTION_HELP || action == RI_ACTION_VERSION;
}

int ri_option_answer(struct ri_options *options, enum ri_action action, struct ri_given given,
	struct ri_error *err)
{
	const char *before = options->action_value, *other = NULL;
	/* the same once more is no other one: `--check --check` */
	bool is_same = options->action == action && (before == NULL || given.value == NULL
		? before == given.value : strcmp(before, given.value) == 0);

	if (is_of_program(options->action) || is_same)
		return 0;
	if (options->action == RI_ACTION_LAUNCH || is_of_program(action)) {
		options->action = action;
		options->action_value = given.value;
		return 0;
	}
	/* two answers cannot both be given, and neither is left out in silence */
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

static int read_status(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	if (given.value != NULL && given.value[0] == '\0')
		return ri_option_bad_value(given, "a file name, or no =", err);
	return ri_option_answer(options, RI_ACTION_STATUS, given, err);
}

static int read_blame(const struct ri_option *option, struct ri_options *options,
	struct ri_given given, struct ri_error *err)
{
	/* of version 0.1, and the page for now: say/print.c warns */
	bool gone = given.value != NULL && strcmp(given.value, "trace") == 0;
	unsigned word;

	if (given.value != NULL && !gone && read_word(&word, option, given, err) < 0)
		return -1;
	return ri_option_answer(options, RI_ACTION_BLAME, given, err);
}

/* One of the names, else an RI_CODE_OPTION_VALUE with the one that was perhaps meant. */
static int check_name(struct ri_given given, const char *word, const char *const names[],
	const char *table, struct ri_error *err)
{
	const char *nearest;
	size_t count;

	for (count = 0; names[count] != NULL; count++)
		if (strcmp(names[count], word) == 0)
			return 0;
	nearest = ri_text_nearest(word, names, count);
	ri_fail(err, RI_CODE_OPTION_VALUE, given.subject, "%s is not among rankinit's %s",
		RI_QUOTED(word), table);
	if (nearest != NULL)
		return ri_fail_hint(err, "did you mean %s?", nearest);
	return ri_fail_hint(err, "see rankinit --list=%s", table);
}

static int read_source(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const char *names[MAX_NAMES] = { "none" };
	const struct ri_source *source;

	for (size_t i = 0; i < MAX_NAMES - 2 && (source = ri_sources[i]) != NULL; i++)
		names[i + 1] = source->name;
	if (check_name(given, given.value, names, "sources", err) < 0)
		return -1;
	options->wishes.source = given;
	return 0;
}

static int read_frameworks(struct ri_options *options, struct ri_given given, struct ri_error *err)
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
	for (size_t i = 0; i < MAX_NAMES - 1 && (framework = ri_frameworks[i]) != NULL; i++)
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

/* The twin is the secret itself, which no message shows. */
static int read_link_key(struct ri_given given, struct ri_error *err)
{
	size_t length = given.twin ? ri_secret_length(given.value, strlen(given.value)) : 0;
	const char *flaw = ri_secret_flaw(given.value, length);

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

/* Not one that means something else to rankinit, or never reaches it. */
static int read_autopsy_signal(struct ri_options *options, struct ri_given given,
	struct ri_error *err)
{
	static const int taken[] = {
		SIGTERM, SIGINT, SIGKILL, SIGSTOP, SIGCHLD, SIGIO, SIGTSTP, SIGCONT,
	};
	int number = ri_signal_read(given.value);

	for (size_t i = 0; i < RI_ARRAY_SIZE(taken); i++)
		if (number == taken[i])
			number = -1;
	if (number < 0)
		return ri_option_bad_value(given, "a signal that has no other meaning, as USR1",
			err);
	options->autopsy_signal = number;
	return 0;
}

static int read_pattern(struct ri_given given, struct ri_error *err)
{
	struct ri_pattern_use use;

	return ri_pattern_read(given.value, &use) ? 0 : ri_option_bad_value(given,
		"a name in which % stands only before r, l, n, h or %", err);
}

#define TEXT 0
#define GIVEN(place) (options->place = given, 0)
#define CHOICE(enum_, place) (read_word(&word, option, given, err) < 0 ? -1 \
	: (options->place = (enum enum_)word, 0))
#define YES_OR(enum_, place) CHOICE(enum_, place)
#define YES(place) (read_word(&word, option, given, err) < 0 ? -1 : (options->place = word != 0, 0))
#define COUNTED(enum_, place, number, least, most) \
	(read_choice(&word, &options->number, (struct ri_range){ least, most }, option, given, \
		err) < 0 ? -1 : (options->place = (enum enum_)word, 0))
#define NUMBER(place, least, most) \
	ri_value_number(&options->place, (struct ri_range){ least, most }, given, err)
#define SECONDS(place) read_seconds(&options->place, given, err)
#define ANSWER(action) (given.value != NULL && read_word(&word, option, given, err) < 0 ? -1 \
	: ri_option_answer(options, action, given, err))

int ri_option_take(struct ri_options *options, const struct ri_option *option,
	struct ri_given given, struct ri_error *err)
{
	size_t number = (size_t)(option - ri_option_table);
	unsigned word;

	/* one that adds to the command line's is none of its own */
	if (!given.twin || !ri_option_stands(options, number))
		options->given.at[number] = given;
	switch (number) {
#define RI_OPTION(symbol, letter, kind, group, form, meta, fallback, reads, ...) \
	case RI_OPTION_##symbol: \
		return reads;
#include "options/options.def"
	}
	return 0;
}

void ri_option_fall_back(struct ri_options *options)
{
	char number[NAME];

	for (size_t i = 0; i < RI_OPTION_COUNT; i++) {
		const struct ri_option *option = &ri_option_table[i];
		const char *fallback = option->fallback;

		if (strcmp(option->meta, "SECONDS") != 0)
			continue;
		snprintf(number, sizeof(number), "%.*s", (int)strspn(fallback, "0123456789"),
			fallback);
		ri_option_take(options, option, (struct ri_given){ .value = number }, NULL);
		options->given.at[i].value = NULL;
	}
}

const struct ri_option ri_option_table[RI_OPTION_COUNT] = {
#define RI_OPTION(symbol_, letter_, kind_, group_, form_, meta_, fallback_, reads_, help_, brief_) \
	[RI_OPTION_##symbol_] = { .symbol = #symbol_, .letter = letter_, .kind = kind_, \
		.group = RI_OPTIONS_##group_, .form = form_, .meta = meta_, \
		.fallback = fallback_, .help = help_, .brief = brief_ },
#include "options/options.def"
};

const struct ri_option_gone ri_options_gone[RI_OPTION_GONE_COUNT] = {
#define RI_OPTION_GONE(...) { __VA_ARGS__ },
#include "options/options.def"
};

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
	for (size_t i = 0; i < RI_ARRAY_SIZE(pairs); i++) {
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

	for (size_t i = 0; i < RI_ARRAY_SIZE(pairs); i++) {
		const struct pair *pair = &pairs[i];
		struct ri_given one = given->at[pair->one], other = given->at[pair->other];
		bool named = pair->one_is != any;
		bool shows = pair->other_is != any && other.value != NULL;

		if (pair->why == NULL || one.subject == NULL || other.subject == NULL ||
			!holds(pair->one_is, one.value) || !holds(pair->other_is, other.value))
			continue;
		/* both are named, with the values that matter */
		ri_fail(err, RI_CODE_OPTION_CONFLICT, one.subject,
			"%s%scannot be combined with %s%s%s: %s",
			named ? RI_QUOTED(one.value) : "", named ? " " : "", other.subject,
			shows ? "=" : "", shows ? other.value : "", pair->why);
		return ri_fail_hint(err, "leave one of them out");
	}
	return 0;
}
