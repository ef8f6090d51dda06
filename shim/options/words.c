/* SPDX-License-Identifier: Apache-2.0 */
/* Words that stand where rankinit does not take them for what they look like. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "command/words.h"
#include "options/table.h"
#include "redact/words.h"

enum { SHOWN = 160 };

/* The beginning of a word, which may be HF_TOKEN=x before a command. */
static const char *show(char out[SHOWN + 1], const char *word)
{
	ri_text_copy(out, SHOWN + 1, word);
	ri_redact_word_in_place(out, SHOWN + 1);
	return out;
}

/* Is it one of "text|json", or anything where a FILE could stand? */
static bool looks_like_value(const struct ri_option *option, const char *word)
{
	size_t length = strlen(word), one;

	if (option->form == OPTIONAL && strcmp(option->meta, "FILE") == 0)
		return true;
	for (const char *meta = option->meta;; meta += one + 1) {
		one = strcspn(meta, "|");
		if (one == length && memcmp(meta, word, one) == 0)
			return true;
		if (meta[one] == '\0')
			return false;
	}
}

void ri_option_judge_next(const struct ri_option *option, const char *word,
	struct ri_findings *findings)
{
	static const char text[] = "%s after it is taken as the command, not as its value";
	const char *name = ri_option_name(option);
	char shown[SHOWN + 1], quoted[RI_QUOTE_SIZE];
	struct ri_finding *finding;
	bool is_value;

	if (word == NULL || word[0] == '-' || word[0] == '\0' || option->form == NONE)
		return;
	is_value = looks_like_value(option, word);
	if (!is_value && (option != &ri_option_table[RI_OPTION_check] || !ri_check_is_family(word)))
		return;
	ri_quote(quoted, sizeof(quoted), show(shown, word));
	finding = ri_findings_add(findings, RI_SEVERITY_WARNING, RI_CODE_OPTION_APART, name, text,
		quoted);
	if (is_value)
		ri_finding_hint(finding, "write %s=%s", name, shown);
	else
		ri_finding_hint(finding, "to run only those checks: --checks=%s.* --check", word);
}

/* What a program has no option for; those with other names, as --rank, may be its own. */
static const int own[] = {
	RI_OPTION_nproc_per_node, RI_OPTION_log_prefix, RI_OPTION_bind_to, RI_OPTION_gpu_bind,
	RI_OPTION_omp_threads, RI_OPTION_wait_master, RI_OPTION_check_level, RI_OPTION_azure_size,
	RI_OPTION_signal_map, RI_OPTION_exit_map, RI_OPTION_cap_drop, RI_OPTION_cap_keep,
	RI_OPTION_no_new_privs, RI_OPTION_override_env, RI_OPTION_print_env,
};

/* The one that the word names, or NULL. */
static const struct ri_option *find_own(const char *word)
{
	size_t length = strcspn(word, "=");

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		const struct ri_option *option = &ri_option_table[own[i]];

		if (ri_word_is_name(word, ri_option_name(option), length))
			return option;
	}
	return NULL;
}

/* Another rankinit, which reads what stands behind it. */
static bool is_rankinit(const char *word)
{
	return strcmp(ri_path_name(word), "rankinit") == 0;
}

void ri_options_judge_command(const struct ri_options *options, const struct ri_command *command,
	struct ri_findings *findings)
{
	char *const *word = options->command;
	const struct ri_option *option;
	const char *name;
	char shown[SHOWN + 1];

	if (word == NULL || command->mode == RI_MODE_NONE)
		return;
	for (; *word != NULL && !is_rankinit(*word); word++) {
		if (strncmp(*word, "--", 2) != 0)
			continue;
		option = find_own(*word);
		if (option == NULL)
			continue;
		name = ri_option_name(option);
		if (ri_command_has(command, name, NULL))
			continue;
		ri_finding_hint(ri_findings_add(findings, RI_SEVERITY_NOTE, RI_CODE_OPTION_BEHIND,
			name, "stands after the command, so the command gets it and rankinit does "
			"not"),
			"put it before the command: rankinit %s%s%s -- %.80s", name,
			option->form == REQUIRED ? "=" : "",
			option->form == REQUIRED ? option->meta : "",
			show(shown, options->command[0]));
		return;
	}
}
