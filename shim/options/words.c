/* SPDX-License-Identifier: Apache-2.0 */
/* Words that stand where rankinit does not take them for what they look like. */
#include <stdio.h>
#include <string.h>

#include "options/table.h"
#include "redact/redact.h"

enum { SHOWN = 160 };

/* The beginning of a word, which may be HF_TOKEN=x before a command. */
static const char *show(char out[SHOWN + 1], const char *word)
{
	ri_text_copy(out, SHOWN + 1, word);
	ri_redact_word_in_place(out, SHOWN + 1);
	return out;
}

void ri_option_judge_next(const struct ri_option *option, const char *word,
	struct ri_findings *findings)
{
	static const char text[] = "%s after it is taken as the command, not as its value";
	const char *name = ri_option_name(option);
	char shown[SHOWN + 1], quoted[RI_QUOTE_SIZE];
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

/*
 * The next option among the words of the command that is rankinit's own business; or NULL. Another
 * rankinit reads what stands behind it.
 */
static char *const *find_option(char *const *word, const struct ri_command *command)
{
	if (word == NULL || command->mode == RI_MODE_NONE)
		return NULL;
	for (; *word != NULL && strcmp(ri_path_name(*word), "rankinit") != 0; word++)
		if (strncmp(*word, "--", 2) == 0)
			return word;
	return NULL;
}

const char *ri_options_behind(const struct ri_options *options, const struct ri_command *command)
{
	char *const *word = find_option(options->command, command);

	for (; word != NULL; word = find_option(word + 1, command)) {
		const struct ri_option *option = find_among(own, *word);

		if (option != NULL && !ri_command_has(command, ri_option_name(option), NULL))
			return ri_option_name(option);
	}
	return NULL;
}

void ri_options_judge_behind(const struct ri_options *options, const char *name,
	struct ri_findings *findings)
{
	const struct ri_option *option = find_among(own, name);
	char shown[SHOWN + 1];

	ri_finding_hint(ri_findings_add(findings, RI_SEVERITY_NOTE, RI_CODE_OPTION_BEHIND, name,
		"stands after the command, so the command gets it and rankinit does not"),
		"put it before the command: rankinit %s%s%s -- %.80s", name,
		option->form == REQUIRED ? "=" : "", option->form == REQUIRED ? option->meta : "",
		show(shown, options->command[0]));
}

void ri_options_judge_empty(const struct ri_options *options, const struct ri_command *command,
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
		ri_finding_hint(ri_findings_add(findings, RI_SEVERITY_WARNING,
			RI_CODE_COMMAND_EMPTY, name, "its value is empty; if a variable stood "
			"there, the shell that started rankinit has none of that name"),
			"for the value that rankinit sets write '%s=$%s', in single quotes", name,
			ri_option_twin(option) + sizeof("RANKINIT_") - 1);
		return;
	}
}
