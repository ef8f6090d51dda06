/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of our own, not getopt_long(3): that one accepts abbreviations (a
 * new option would break a baked ENTRYPOINT), prints its own messages, and
 * permutes or not depending on the C library.
 */
#include "options/options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/host.h"
#include "command/command.h"
#include "options/table.h"
#include "redact/redact.h"
#include "report/restarts.h"

enum {
	DASHES = sizeof("--") - 1,
	WORD = 48,	/* bytes of an option that is not ours, as it is named */
};

static const struct ri_option *find_long(const char *word)
{
	for (size_t i = 0; i < RI_OPTION_COUNT; i++)
		if (ri_option_is_named(&ri_option_table[i], word))
			return &ri_option_table[i];
	return NULL;
}

static const struct ri_option *find_letter(char letter)
{
	for (size_t i = 0; i < RI_OPTION_COUNT; i++)
		if (ri_option_table[i].letter == letter)
			return &ri_option_table[i];
	return NULL;
}

/*
 * Note an option that is gone where it is given under this name, with "--" and perhaps "=" and more
 * behind it; subject, which lasts: what gives it, up to its '='. NULL: it is none of them.
 */
static const struct ri_option_gone *take_gone(struct ri_options *options, const char *name,
	const char *value, const char *subject)
{
	for (size_t i = 0; i < RI_OPTION_GONE_COUNT; i++) {
		const struct ri_option_gone *gone = &ri_options_gone[i];

		if (!ri_word_is_name(name, gone->name, strcspn(name, "=")) ||
			(gone->value != NULL && (value == NULL || strcmp(value, gone->value) != 0)))
			continue;
		options->gone[i] = subject;
		return gone;
	}
	return NULL;
}

void ri_options_judge_gone(const struct ri_options *options, struct ri_findings *findings)
{
	for (size_t i = 0; i < RI_OPTION_GONE_COUNT; i++) {
		const char *value = ri_options_gone[i].value, *subject = options->gone[i];
		char name[WORD];

		if (subject == NULL)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(subject, "="), subject);
		ri_finding_hint(ri_warn(findings, RI_CODE_OPTION_GONE, name,
			"%s%sis gone, and rankinit goes on without it", value == NULL ? "" : value,
			value == NULL ? "" : " "), "%s", ri_options_gone[i].hint);
	}
}

/*
 * Options of mpirun and torchrun that people put here by habit, and options that rankinit
 * had, whose variables get the hint, too; '_' is '-' in them.
 */
static const struct {
	const char *word;
	const char *hint;
} habits[] = {
	{ "-it", "it belongs to docker: docker run -it IMAGE ..." },
	{ "--gpus", "it belongs to docker: docker run --gpus all IMAGE ...; one rank for each GPU: "
		"--nproc-per-node=gpu" },
	{ "-e", "put it into the command: rankinit -- env NAME=VALUE COMMAND; or docker run -e" },
	{ "--env", "put it into the command: rankinit -- env NAME=VALUE COMMAND; or docker run "
		"--env" },
	{ "--timeout", "for the whole job: rankinit -- timeout SECONDS COMMAND; --grace=SECONDS "
		"limits a stop" },
	{ "-x", "the command inherits all variables: -x belongs to mpirun" },
	{ "-g", "--signal-group sends signals to the process group" },
	{ "-s", "rankinit becomes a subreaper without being asked" },
	{ "-c", "put the shell into the command: rankinit -- sh -c '...'" },
	{ "-m", "put python into the command: rankinit -- python3 -m MODULE" },
	{ "--module", "put python into the command: rankinit -- python3 -m MODULE" },
	{ "--use-env", "leave it out: ranks always find LOCAL_RANK in their environment" },
	{ "--standalone", "leave it out: without an orchestrator all ranks are on this node; for "
		"torchrun's own: rankinit -- torchrun --standalone ..." },
	{ "--max-restarts", "--restarts=N starts the ranks again; for torchrun's own: rankinit -- "
		"torchrun --max-restarts=N ..." },
	{ "--rdzv-backend", "ranks meet at --master-addr and --master-port; for torchrun's own: "
		"rankinit -- torchrun --rdzv-backend=... ..." },
	{ "--dry-run", "--explain does it" },
	{ "--capture", "for a bug report: --explain=json and --check=json" },
	{ "--deep", "--expect=deep does it, --require=deep also refuses a node with a problem" },
	{ "--azure-size", "--expect=azure=SIZE does it, --require=azure=SIZE refuses a node that "
		"has less" },
	{ "--check-level", "ID=off is --checks=default,^ID, ID=warn is --expect=ID, ID=fail is "
		"--require=ID" },
	{ "--log-dir", "--log-file=DIR/rank_%r.log does it" },
	{ "--rdzv-endpoint", "ranks meet at --master-addr and --master-port; for torchrun's own: "
		"rankinit -- torchrun --rdzv-endpoint=... ..." },
};

static const char *find_habit(const char *word)
{
	for (size_t i = 0; i < RI_ARRAY_SIZE(habits); i++)
		if (ri_word_is_name(word, habits[i].word, strlen(word)))
			return habits[i].hint;
	return NULL;
}

/* How others say how many ranks start; the number may follow at once, behind '=' or a blank. */
static const char *const counts[] = {
	"-n", "-np", "--np", "--nprocs", "--num-processes", "--num-procs", "--ntasks-per-node",
};

/* "-n 2", "-n2", "--nprocs=2": the same in our words. False: it is none of them. */
static bool hint_count(const char *word, const char *next, struct ri_error *err)
{
	size_t length = strcspn(word, "=0123456789");
	const char *value = word[length] == '=' ? word + length + 1 : word + length;
	uint64_t number;

	if (*value == '\0' && next != NULL)
		value = next;
	for (size_t i = 0; i < RI_ARRAY_SIZE(counts); i++) {
		if (!ri_word_is_name(word, counts[i], length))
			continue;
		if (ri_digits_read(value, &number) != strlen(value) || *value == '\0')
			value = "N";
		ri_fail_hint(err, "to start %s ranks on this node: --nproc-per-node=%s; to start a "
			"job of several nodes put mpirun or srun into the command", value, value);
		return true;
	}
	return false;
}

/* next: the word behind it, or NULL. */
static int unknown_option(const char *word, const char *next, struct ri_error *err)
{
	char name[WORD], shown[4 * RI_MAX_QUOTE];
	const char *list[RI_OPTION_COUNT], *nearest, *habit;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	for (size_t i = 0; i < RI_OPTION_COUNT; i++)
		list[i] = ri_option_name(&ri_option_table[i]) + DASHES;
	nearest = ri_text_nearest(name + (name[1] == '-' ? DASHES : 1), list, RI_OPTION_COUNT);
	/* it may be the command's, as --hf-token=x */
	ri_text_copy(shown, sizeof(shown), word);
	ri_redact_word_in_place(shown, sizeof(shown));
	ri_fail(err, RI_CODE_OPTION_UNKNOWN, name, "%s is not an option of rankinit",
		RI_QUOTED(shown));
	habit = find_habit(name);
	if (habit != NULL)
		return ri_fail_hint(err, "%s", habit);
	if (hint_count(word, next, err))
		return -1;
	if (nearest != NULL)
		return ri_fail_hint(err, "did you mean --%s?", nearest);
	return ri_fail_hint(err, "see rankinit --help; put -- before a command that starts with -");
}

/* Apply one option of the command line; *used counts the words it took. */
static int apply_word(struct ri_options *options, const struct ri_option *option, char *const *word,
	int *used, struct ri_error *err)
{
	struct ri_given given = { .subject = ri_option_name(option) };
	const char *equals = word[0][1] == '-' ? strchr(word[0], '=') : NULL;

	*used = 1;
	if (equals != NULL) {
		given.value = equals + 1;
	} else if (option->form == REQUIRED) {
		given.value = word[1];
		*used = 2;
	}
	if (option->form == REQUIRED && given.value == NULL) {
		ri_fail(err, RI_CODE_OPTION_MISSING, given.subject, "needs a value");
		return ri_fail_hint(err, "write %s=%s", given.subject, option->meta);
	}
	if (option->form == REQUIRED && given.value[0] == '\0') {
		ri_fail(err, RI_CODE_OPTION_MISSING, given.subject, "its value is empty; if a "
			"variable stood there, as in %s=$NAME, it is not set", given.subject);
		return ri_fail_hint(err, "set it, write %s=%s, or leave the option out",
			given.subject, option->meta);
	}
	if (option->form == NONE && equals != NULL)
		return ri_option_bad_value(given, "no value", err);
	if (take_gone(options, given.subject, given.value, given.subject) != NULL)
		return 0;
	return ri_option_take(options, option, given, err);
}

/* Letters may stand together, as -vq; none of them takes a value. */
static int apply_letters(struct ri_options *options, char *const *word, struct ri_error *err)
{
	int used;

	for (const char *p = word[0] + 1; *p != '\0'; p++)
		if (find_letter(*p) == NULL)
			return unknown_option(word[0], word[1], err);
	for (const char *p = word[0] + 1; *p != '\0'; p++)
		if (apply_word(options, find_letter(*p), word, &used, err) < 0)
			return -1;
	return 0;
}

enum { SHOWN = 160 };

/* The beginning of a word, which may be HF_TOKEN=x before a command. */
static const char *show(char out[SHOWN + 1], const char *word)
{
	ri_text_copy(out, SHOWN + 1, word);
	ri_redact_word_in_place(out, SHOWN + 1);
	return out;
}

/*
 * Warn where the word behind this option, which was given no value, is the command and looks like
 * its value: "--check json".
 */
static void judge_next(const struct ri_option *option, const char *word,
	struct ri_findings *findings)
{
	static const char text[] = "%s after it is taken as the command, not as its value";
	const char *name = ri_option_name(option);
	char shown[SHOWN + 1];
	struct ri_error *finding;
	bool is_value;

	if (word == NULL || word[0] == '-' || word[0] == '\0' || option->form == NONE)
		return;
	/* is it one of "text|json", or anything where a FILE could stand? */
	is_value = option->form == OPTIONAL && strcmp(option->meta, "FILE") == 0;
	for (const char *meta = option->meta; *meta != '\0'; meta += *meta == '|') {
		size_t length = strcspn(meta, "|");

		is_value |= length == strlen(word) && memcmp(meta, word, length) == 0;
		meta += length;
	}
	if (!is_value && (option != &ri_option_table[RI_OPTION_check] || !ri_check_is_family(word)))
		return;
	finding = ri_warn(findings, RI_CODE_OPTION_APART, name, text, RI_QUOTED(show(shown, word)));
	if (is_value)
		ri_finding_hint(finding, "write %s=%s", name, shown);
	else
		ri_finding_hint(finding, "to run only those checks: --checks=%s.* --check", word);
}

static int read_words(struct ri_options *options, char *const *argv, struct ri_findings *findings,
	struct ri_error *err)
{
	char *const *word = argv[0] == NULL ? argv : argv + 1;
	const struct ri_option *option = NULL;
	const struct ri_option_gone *gone;
	int used = 1;

	for (; *word != NULL && (*word)[0] == '-' && (*word)[1] != '\0'; word += used) {
		used = 1;
		if (strcmp(*word, "--") == 0) {
			word++;
			break;
		}
		if ((*word)[1] != '-') {
			if (apply_letters(options, word, err) < 0)
				return -1;
			continue;
		}
		option = find_long(*word + DASHES);
		if (option == NULL) {
			gone = take_gone(options, *word, NULL, *word);
			if (gone == NULL)
				return unknown_option(*word, word[1], err);
			/* with the word behind it where that is its value */
			if (gone->form == REQUIRED && strchr(*word, '=') == NULL && word[1] != NULL)
				used = 2;
			continue;
		}
		if (apply_word(options, option, word, &used, err) < 0)
			return -1;
		if (option->form != REQUIRED && strchr(*word, '=') == NULL)
			judge_next(option, word[1], findings);
	}
	options->command = *word == NULL ? NULL : word;
	if (*word == NULL && used > 1 && option != NULL)
		options->took_last = &options->given.at[option - ri_option_table];
	return 0;
}

static const char prefix[] = "RANKINIT_";

enum { PREFIX_LENGTH = sizeof(prefix) - 1 };

static bool may_be_twin(const struct ri_env_entry *entry)
{
	return entry->name_length > PREFIX_LENGTH &&
		memcmp(entry->text, prefix, PREFIX_LENGTH) == 0;
}

/* Mostly there is none, and then no option has to be looked for. */
static bool has_twins(const struct ri_env *env)
{
	for (size_t i = 0; i < env->count; i++)
		if (may_be_twin(&env->entries[i]))
			return true;
	return false;
}

/* Who writes an option wins over who set its rival long before, in an image. */
static bool gives_way(const struct ri_options *options, size_t twin, struct ri_given given,
	struct ri_findings *findings)
{
	const struct ri_option *rival = ri_option_rival(options, twin, given.value);

	if (twin == RI_OPTION_exit_class && options->peer != RI_PEER_NONE) {
		ri_note(findings, RI_CODE_OPTION_YIELDS, given.subject,
			"is not used: under the name %s the exit status is the command's",
			options->called);
		return true;
	}
	if (rival == NULL)
		return false;
	ri_note(findings, RI_CODE_OPTION_YIELDS, given.subject,
		"is not used: %s on the command line overrides it", ri_option_name(rival));
	return true;
}

static int read_twins(struct ri_options *options, const struct ri_env *env,
	struct ri_findings *findings, struct ri_error *err)
{
	int status = 0;

	for (size_t i = 0; i < RI_OPTION_COUNT; i++) {
		const struct ri_option *option = &ri_option_table[i];
		struct ri_given given = { .twin = true };

		if (option->kind == ACTION ||
			(ri_option_stands(options, i) && option->kind != DEMAND))
			continue;
		given.subject = ri_option_twin(option);
		given.value = ri_env_get(env, given.subject);
		/* an empty twin is unset: how compose files switch one off */
		if (given.value == NULL || given.value[0] == '\0')
			continue;
		if (gives_way(options, i, given, findings) ||
			take_gone(options, ri_option_name(option), given.value,
				given.subject) != NULL)
			continue;
		/* go on: the others may say how the error is shown and mapped */
		if (ri_option_take(options, option, given, err) < 0)
			status = -1;
	}
	return status;
}

static void judge_unknown_twin(struct ri_options *options, const struct ri_env_entry *entry,
	const char *name, struct ri_findings *findings)
{
	const char *list[RI_OPTION_COUNT + 1], *nearest, *habit;
	const char *value = ri_env_entry_value(entry);
	struct ri_error *finding;
	char option[WORD];
	size_t count = 0;

	for (size_t i = 0; i < RI_OPTION_COUNT; i++) {
		if (ri_option_table[i].kind == ACTION)
			continue;
		list[count] = ri_option_twin(&ri_option_table[i]);
		if (strcmp(list[count], name) == 0)
			return;
		list[count++] += PREFIX_LENGTH;
	}
	snprintf(option, sizeof(option), "--%.*s", WORD - DASHES - 1, name + PREFIX_LENGTH);
	for (char *p = option; *p != '\0'; p++)
		*p = *p >= 'A' && *p <= 'Z' ? (char)(*p | 0x20) : *p;
	if (take_gone(options, option, NULL, value == NULL || value[0] == '\0' ? NULL
		: entry->text) != NULL)
		return;
	habit = find_habit(option);
	list[count++] = "DISABLE";
	nearest = ri_text_nearest(name + PREFIX_LENGTH, list, count);
	finding = ri_warn(findings, RI_CODE_OPTION_TWIN, name, "is not a variable of rankinit");
	if (habit != NULL)
		ri_finding_hint(finding, "%s", habit);
	else if (nearest != NULL)
		ri_finding_hint(finding, "did you mean %s%s?", prefix, nearest);
	else
		ri_finding_hint(finding, "see rankinit --help: each setting has such a variable");
}

static void judge_twins(struct ri_options *options, const struct ri_env *env,
	struct ri_findings *findings)
{
	/* RANKINIT_VERSION: what Dockerfiles call the release they fetch */
	static const char *const others[] = {
		"RANKINIT_DISABLE", "RANKINIT_VERSION", RI_OVERLAY_VARIABLE, RI_CARRIED_VARIABLE,
		RI_ATTEMPT_VARIABLE, RI_OUTER_VARIABLE,
	};
	char name[128];
	const char *rest;
	bool known;

	for (size_t i = 0; i < env->count; i++) {
		const struct ri_env_entry *entry = &env->entries[i];

		if (!may_be_twin(entry))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)entry->name_length, entry->text);
		/*
		 * What Kubernetes sets in every pod for a service called "rankinit"
		 * (kubernetes.io, "Accessing the Service", environment variables).
		 */
		rest = name + PREFIX_LENGTH;
		known = strncmp(rest, "SERVICE_HOST", 12) == 0 || strcmp(rest, "PORT") == 0 ||
			strncmp(rest, "SERVICE_PORT", 12) == 0 ||
			(strncmp(rest, "PORT_", 5) == 0 && rest[5] >= '0' && rest[5] <= '9');
		for (size_t k = 0; k < RI_ARRAY_SIZE(others); k++)
			known |= strcmp(name, others[k]) == 0;
		if (!known)
			judge_unknown_twin(options, entry, name, findings);
	}
}

int ri_options_read(struct ri_options *options, char *const *argv, const struct ri_env *env,
	struct ri_findings *findings, struct ri_error *err)
{
	const union ri_options_given *given = &options->given;
	const char *disable = ri_env_get(env, "RANKINIT_DISABLE");
	int status;

	*options = (struct ri_options){
		.disabled = disable != NULL && disable[0] != '\0', .peer = ri_peer_find(argv[0]),
		.called = "rankinit",
	};
	/* never an error, whatever it says: this is the way out */
	if (options->disabled)
		ri_bool_read(disable, &options->disabled);
	if (options->peer != RI_PEER_NONE)
		options->called = ri_path_name(argv[0]);
	ri_option_fall_back(options);
	ri_signal_map_init(&options->signal_map);
	ri_signal_map_init(&options->exit_map);
	status = options->peer == RI_PEER_NONE ? read_words(options, argv, findings, err)
					       : ri_peer_read(options, argv, env, err);
	/* after a broken word too: they may say how the error is shown and mapped */
	if (!options->disabled && options->action != RI_ACTION_HELP &&
		options->action != RI_ACTION_VERSION && options->action != RI_ACTION_LIST &&
		has_twins(env)) {
		if (read_twins(options, env, findings, err) < 0)
			status = -1;
		judge_twins(options, env, findings);
	}
	ri_check_judge_gone(&options->checks, findings);
	/* the library knows no options, and blames them by name */
	options->wishes.nproc = given->nproc_per_node;
	options->wishes.tf_ps = given->tf_ps;
	options->place.bind_subject = given->bind_to.subject;
	options->place.gpu_subject = given->gpu_bind.subject;
	options->place.omp_subject = given->omp_threads.subject;
	return status;
}

int ri_options_scrub(const struct ri_options *options, const struct ri_env *env, bool applied,
	struct ri_env_edits *edits, struct ri_arena *arena, struct ri_error *err)
{
	bool has_some = has_twins(env);

	for (size_t i = 0; !options->disabled && i < RI_OPTION_COUNT; i++) {
		const struct ri_option *option = &ri_option_table[i];
		const char *value = options->given.at[i].value;
		bool goes_on = option->kind >= POLICY && !applied;
		struct ri_env_edit edit = { .value = NULL };

		if (option->kind == ACTION || (goes_on ? !ri_option_stands(options, i) : !has_some))
			continue;
		edit.name = ri_option_twin(option);
		if (goes_on)
			edit.value = option->kind != DEMAND ? value
				: ri_check_join_demands(ri_env_get(env, edit.name), value, arena);
		if (goes_on && edit.value == NULL)
			return ri_fail(err, RI_CODE_MEMORY, edit.name, "no memory left to set it");
		if (!goes_on && ri_env_find(env, edit.name) == NULL)
			continue;
		if (ri_env_edits_add(edits, edit, arena, err) < 0)
			return -1;
	}
	/* variables of options that are gone: a rankinit below would tell of them once more */
	for (size_t i = 0; i < RI_OPTION_GONE_COUNT; i++) {
		const char *given = options->gone[i];
		struct ri_env_edit edit = { .value = NULL };

		if (given == NULL || given[0] == '-' || ri_options_gone[i].value != NULL)
			continue;
		edit.name = ri_arena_copy(arena, given, strcspn(given, "="));
		if (edit.name == NULL)
			return ri_fail(err, RI_CODE_MEMORY, prefix, "no memory left to remove it");
		if (ri_env_edits_add(edits, edit, arena, err) < 0)
			return -1;
	}
	return 0;
}

char **ri_options_words(const struct ri_options *options, const int *left_out,
	struct ri_arena *arena)
{
	char **words = ri_arena_array(arena, RI_OPTION_COUNT + 1, sizeof(*words));
	size_t count = 0;

	for (size_t i = 0; words != NULL && i < RI_OPTION_COUNT; i++) {
		const char *value = options->given.at[i].value;
		const int *out = left_out;

		while (*out >= 0 && (size_t)*out != i)
			out++;
		if (!ri_option_stands(options, i) || *out >= 0)
			continue;
		words[count] = ri_arena_format(arena, "%s%s%s",
			ri_option_name(&ri_option_table[i]), value == NULL ? "" : "=",
			value == NULL ? "" : value);
		if (words[count++] == NULL)
			return NULL;
	}
	if (words != NULL)
		words[count] = NULL;
	return words;
}

/* What a program has no option for; those with other names, as --rank, may be its own. */
static const int own[] = {
	RI_OPTION_nproc_per_node, RI_OPTION_log_prefix, RI_OPTION_bind_to, RI_OPTION_gpu_bind,
	RI_OPTION_omp_threads, RI_OPTION_wait_master, RI_OPTION_signal_map, RI_OPTION_exit_map,
	RI_OPTION_exit_class,
	RI_OPTION_cap_drop, RI_OPTION_cap_keep, RI_OPTION_no_new_privs,
	RI_OPTION_print_env, RI_OPTION_link_key, RI_OPTION_link_port,
	RI_OPTION_link_grace, RI_OPTION_autopsy_after, RI_OPTION_autopsy_signal, -1,
};

/* What a variable of the job says, and scripts have options for. */
static const int of_job[] = {
	RI_OPTION_rank, RI_OPTION_world_size, RI_OPTION_local_rank, RI_OPTION_local_world_size,
	RI_OPTION_node_rank, RI_OPTION_nnodes, RI_OPTION_master_addr, RI_OPTION_master_port, -1,
};

/* The one of these that the word "--name=..." names, or NULL. */
static const struct ri_option *find_among(const int *numbers, const char *word)
{
	for (; *numbers >= 0; numbers++)
		if (ri_option_is_named(&ri_option_table[*numbers], word + strlen("--")))
			return &ri_option_table[*numbers];
	return NULL;
}

/* The next option among the words of the command; or NULL. */
static char *const *find_option(char *const *word, const struct ri_command *command)
{
	if (word == NULL || command->mode == RI_MODE_NONE)
		return NULL;
	for (; *word != NULL && strcmp(ri_path_name(*word), "rankinit") != 0; word++)
		if (strncmp(*word, "--", 2) == 0)
			return word;
	return NULL;
}

/* What another rankinit reads, or a launcher knows, is its own. */
static void judge_behind(const struct ri_options *options, const struct ri_command *command,
	struct ri_findings *findings)
{
	char *const *word = find_option(options->command, command);
	const struct ri_option *option = NULL;
	char shown[SHOWN + 1];
	const char *name;

	for (; word != NULL && option == NULL; word = find_option(word + 1, command)) {
		option = find_among(own, *word);
		if (option != NULL && ri_command_has(command, ri_option_name(option), NULL))
			option = NULL;
	}
	if (option == NULL)
		return;
	name = ri_option_name(option);
	/* who types it reads the answer; a log would have the line at each start */
	ri_finding_hint(ri_findings_add(findings, isatty(STDERR_FILENO) ? RI_SEVERITY_WARNING
		: RI_SEVERITY_NOTE, RI_CODE_OPTION_BEHIND, name,
		"stands after the command, so the command gets it and rankinit does not"),
		"put it before the command: rankinit %s%s%s -- %.80s", name,
		option->form == REQUIRED ? "=" : "", option->form == REQUIRED ? option->meta : "",
		show(shown, options->command[0]));
}

void ri_options_judge_words(const struct ri_options *options, const struct ri_command *command,
	struct ri_findings *findings)
{
	char *const *word = find_option(options->command, command);

	for (; word != NULL; word = find_option(word + 1, command)) {
		const struct ri_option *option = find_among(of_job, *word);
		/* "--local-rank=", or an empty word behind "--local-rank" */
		const char *equals = strchr(*word, '=');
		const char *value = equals != NULL ? equals + 1 : word[1];
		char name[SHOWN + 1];

		if (option == NULL || value == NULL || value[0] != '\0')
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*word, "="), *word);
		ri_finding_hint(ri_warn(findings, RI_CODE_COMMAND_EMPTY, name, "its value is "
			"empty; if a variable stood there, the shell that started rankinit has "
			"none of that name"),
			"for the value that rankinit sets write '%s=$%s', in single quotes", name,
			ri_option_twin(option) + sizeof("RANKINIT_") - 1);
		break;
	}
	judge_behind(options, command, findings);
}
