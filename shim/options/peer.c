/* SPDX-License-Identifier: Apache-2.0 */
/* rankinit in the place of another init. */
#include "options/table.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	enum ri_peer peer;
} names[] = {
#define RI_PEER(peer_, name_) { name_, RI_PEER_##peer_ },
#define RI_PEER_OPTION(peer, letter, word, meta, variable, value, does, help)
#include "options/peers.def"
#undef RI_PEER
#undef RI_PEER_OPTION
};

/* The signals that dumb-init makes SIGSTOP of where it signals a group. */
static const int stops[] = { SIGTSTP, SIGTTIN, SIGTTOU };

enum { STOPS = RI_ARRAY_SIZE(stops), LAST_SIGNAL = 31 };

static int signal_child(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	for (size_t i = 0; i < STOPS; i++)
		if (options->signal_map.to[stops[i]] == SIGSTOP)
			options->signal_map.to[stops[i]] = (uint8_t)stops[i];
	given.value = "no";
	return ri_option_take(options, &ri_option_table[RI_OPTION_signal_group], given, err);
}

static int forgive(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const struct ri_range range = { 0, 255 };
	uint64_t status;

	if (ri_value_number(&status, range, given, err) < 0)
		return -1;
	options->exit_map.to[status] = 0;
	options->given.exit_map = given;
	return 0;
}

static int heed_parent(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	int number = ri_signal_read(given.value);

	if (number < 0)
		return ri_option_bad_value(given, "a signal, like SIGTERM", err);
	options->parent_signal = number;
	return 0;
}

static int tell_reaped(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)given;
	(void)err;
	options->tells_reaped = true;
	return 0;
}

/* What is no number counts as 0, as atoi(3) has it. */
static int be_verbose(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	uint64_t level = 0;

	(void)err;
	ri_digits_read(given.value, &level);
	options->quiet = level == 0;
	options->verbose = level > 1;
	return 0;
}

static bool is_signal(const char *text, size_t length, uint64_t least, uint64_t *out)
{
	return length > 0 && ri_digits_read(text, out) == length && *out >= least &&
		*out <= LAST_SIGNAL;
}

static int rewrite(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	size_t length = strcspn(given.value, ":");
	const char *to = given.value + length + 1;
	uint64_t from, becomes;

	if (given.value[length] == '\0' || !is_signal(given.value, length, 1, &from) ||
		!is_signal(to, strlen(to), 0, &becomes))
		return ri_option_bad_value(given, "two numbers of signals from 1 to 31, like "
			"15:2; the second one may be 0", err);
	options->signal_map.to[from] = (uint8_t)becomes;
	options->given.signal_map = given;
	return 0;
}

static int show_licence(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	given.value = "licence";
	return ri_option_answer(options, RI_ACTION_VERSION, given, err);
}

typedef int reader(struct ri_options *options, struct ri_given given, struct ri_error *err);

struct peer_option {
	const char *word;
	const char *meta;
	const char *variable;
	const char *value;
	const char *help;
	reader *by;
	const char *as;		/* without by: the value for this option of rankinit's own */
	size_t option;
	enum ri_peer peer;
	char letter;
	char name[3];	/* "-r", to blame */
};

#define AS(option_, value_) .option = RI_OPTION_##option_, .as = value_
#define BY(function) .by = function

static const struct peer_option table[] = {
#define RI_PEER(peer, name)
#define RI_PEER_OPTION(peer_, letter_, word_, meta_, variable_, value_, does_, help_) \
	{ .peer = RI_PEER_##peer_, .letter = letter_, .word = word_, .meta = meta_, \
		.variable = variable_, .value = value_, does_, .help = help_, \
		.name = { '-', letter_ == 0 ? '-' : letter_ } },
#include "options/peers.def"
#undef RI_PEER
#undef RI_PEER_OPTION
};

enum ri_peer ri_peer_find(const char *called)
{
	const char *name = called == NULL ? "" : ri_path_name(called);

	/* mostly it is not: one comparison is enough */
	for (size_t i = 0; i < RI_ARRAY_SIZE(names); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].peer;
	return RI_PEER_NONE;
}

/* By its letter, or where that is 0 by its word of so many bytes. */
static const struct peer_option *find(enum ri_peer peer, char letter, const char *word,
	size_t length)
{
	for (size_t i = 0; i < RI_ARRAY_SIZE(table); i++)
		if (table[i].peer == peer && (letter != 0 ? table[i].letter == letter
			: length > 0 && strlen(table[i].word) == length &&
				memcmp(table[i].word, word, length) == 0))
			return &table[i];
	return NULL;
}

static int unknown(const struct ri_options *options, const char *word, struct ri_error *err)
{
	char name[RI_QUOTE_SIZE];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	ri_fail(err, RI_CODE_OPTION_UNKNOWN, name, "%s is not an option of %s, by whose name "
		"rankinit is called", RI_QUOTED(name), options->called);
	return ri_fail_hint(err, "see %s -h; options of rankinit are variables here: --grace=25 "
		"is RANKINIT_GRACE=25", options->called);
}

static int take(struct ri_options *options, const struct peer_option *option,
	struct ri_given given, struct ri_error *err)
{
	if (option->by != NULL)
		return option->by(options, given, err);
	given.value = option->as;
	return ri_option_take(options, &ri_option_table[option->option], given, err);
}

/* The option that a word has at this place, and its value: the rest, or the next word. */
static int apply(struct ri_options *options, const struct peer_option *option, const char *rest,
	char *const *word, int *used, struct ri_error *err)
{
	struct ri_given given = { .subject = option->name, .value = rest };

	if (option->meta[0] == '\0') {
		given.value = NULL;
	} else if (rest == NULL) {
		given.value = word[1];
		*used = 2;
	}
	if (option->meta[0] != '\0' && (given.value == NULL || given.value[0] == '\0'))
		return ri_fail(err, RI_CODE_OPTION_MISSING, given.subject, "needs a value: %s",
			option->meta);
	return take(options, option, given, err);
}

/* As getopt(3) reads them: "-gve143" has three. */
static int apply_letters(struct ri_options *options, char *const *word, int *used,
	struct ri_error *err)
{
	for (const char *p = word[0] + 1; *p != '\0'; p++) {
		const struct peer_option *option = find(options->peer, *p, NULL, 0);

		if (option == NULL)
			return unknown(options, word[0], err);
		if (apply(options, option, p[1] == '\0' ? NULL : p + 1, word, used, err) < 0)
			return -1;
		if (option->meta[0] != '\0')
			break;
	}
	return 0;
}

static int read_words(struct ri_options *options, char *const *argv, struct ri_error *err)
{
	char *const *word = argv + 1;
	int used, status;

	for (; *word != NULL && (*word)[0] == '-' && (*word)[1] != '\0'; word += used) {
		used = 1;
		if (strcmp(*word, "--") == 0) {
			word++;
			break;
		}
		if ((*word)[1] != '-') {
			status = apply_letters(options, word, &used, err);
		} else {
			const char *name = *word + 2, *rest = strchr(name, '=');
			const struct peer_option *option =
				find(options->peer, 0, name, strcspn(name, "="));

			status = option == NULL || (rest != NULL && option->meta[0] == '\0')
				? unknown(options, *word, err)
				: apply(options, option, rest == NULL ? NULL : rest + 1, word,
					&used, err);
		}
		if (status < 0)
			return -1;
	}
	options->command = *word == NULL ? NULL : word;
	return 0;
}

int ri_peer_read(struct ri_options *options, char *const *argv, const struct ri_env *env,
	struct ri_error *err)
{
	if (options->peer == RI_PEER_DUMB_INIT) {
		options->signal_group = true;
		options->stops_too = true;
		for (size_t i = 0; i < STOPS; i++)
			options->signal_map.to[stops[i]] = SIGSTOP;
	}
	if (read_words(options, argv, err) < 0)
		return -1;
	/* variables come after the words, as in tini */
	for (size_t i = 0; i < RI_ARRAY_SIZE(table); i++) {
		const char *variable = table[i].variable, *only = table[i].value;
		struct ri_given given = { .subject = variable };

		if (table[i].peer != options->peer || variable[0] == '\0')
			continue;
		given.value = ri_env_get(env, variable);
		if (given.value != NULL && (only[0] == '\0' || strcmp(given.value, only) == 0) &&
			take(options, &table[i], given, err) < 0)
			return -1;
	}
	return 0;
}

int ri_peer_status(enum ri_peer peer, int status)
{
	if (peer != RI_PEER_NONE && status == 125)
		return 1;
	/* whatever keeps a command from being executed */
	if (peer == RI_PEER_DUMB_INIT && (status == 126 || status == 127))
		return 2;
	return status;
}

void ri_peer_help(struct ri_text *out, const struct ri_options *options)
{
	ri_text_addf(out, "usage: %s [OPTION]... [--] COMMAND [ARG]...\n\n"
		"rankinit in the place of %s; its own settings are variables: rankinit --help\n\n",
		options->called, options->called);
	for (const struct peer_option *one = table; one < table + RI_ARRAY_SIZE(table); one++) {
		if (one->peer != options->peer || (one->letter == 0 && one->word[0] == '\0'))
			continue;
		ri_text_add(out, "  ");
		if (one->letter != 0)
			ri_text_addf(out, "-%c%s", one->letter, one->word[0] == '\0' ? "" : ", ");
		if (one->word[0] != '\0')
			ri_text_addf(out, "--%s", one->word);
		ri_text_addf(out, "%s%s\n          %s\n", one->meta[0] == '\0' ? "" : " ",
			one->meta, one->help);
	}
	ri_text_add(out, "\nVariables:\n");
	for (size_t i = 0; i < RI_ARRAY_SIZE(table); i++)
		if (table[i].peer == options->peer && table[i].variable[0] != '\0')
			ri_text_addf(out, "  %s%s%s\n          %s\n", table[i].variable,
				table[i].value[0] == '\0' ? "" : "=", table[i].value,
				table[i].help);
}

/* docker info reads "tini version 0.19.0" (moby daemon/info_unix.go, parseInitVersion). */
void ri_peer_version(struct ri_text *out, const struct ri_options *options, const char *version)
{
	ri_text_addf(out, "%s (rankinit %s)\n", options->peer == RI_PEER_TINI
		? "tini version 0.19.0" : "dumb-init v1.2.5", version);
	if (options->action_value != NULL)
		ri_text_add(out, "Apache-2.0: https://www.apache.org/licenses/LICENSE-2.0\n");
}
