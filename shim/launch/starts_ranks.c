/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/starts_ranks.h"

#include <string.h>

#include "command/words.h"
#include "launch/script_text.h"

static bool imports_ray(struct ri_span text)
{
	return ri_command_text_imports(text, "ray");
}

static bool is_driver_of_ray(const struct ri_command *command)
{
	if (command->module != NULL)
		return ri_command_module_uses_ray(command->module) ||
			ri_module_holds(command->module, imports_ray);
	return command->script != NULL && ri_script_holds(command->script, imports_ray);
}

static bool is_script(const char *word)
{
	size_t length = strlen(word);

	return length > 3 && strcmp(word + length - 3, ".sh") == 0;
}

/* POSIX sh(1): options, which "-c" may end, as in "-lc"; then its line, or the script. */
static bool shell_names_launcher(char *const *words)
{
	bool is_line = false;

	for (; *words != NULL && ri_word_is_option(*words); words++)
		if ((*words)[1] != '-')
			is_line = is_line || strchr(*words, 'c') != NULL;
	if (*words == NULL)
		return false;
	if (is_line)
		return ri_command_text_names_launcher((struct ri_span){ *words, strlen(*words) });
	return ri_script_holds(*words, ri_command_text_names_launcher);
}

static bool starts_launcher(const struct ri_command *command)
{
	char *const *words = command->argv;

	/* a plain init that was asked to be one has not read its command */
	if (words == NULL || words[0] == NULL)
		return false;
	if (command->mode != RI_MODE_PROCESS)
		return true;
	if (command->stated)
		return false;
	if (ri_word_shell(words[0]) != NULL)
		return shell_names_launcher(words + 1);
	return is_script(words[0]) && ri_script_holds(words[0], ri_command_text_names_launcher);
}

enum ri_starter ri_starts_ranks(const struct ri_command *command)
{
	bool is_process = command->stated && command->mode == RI_MODE_PROCESS;

	if (!is_process && is_driver_of_ray(command))
		return RI_STARTER_RAY;
	return starts_launcher(command) ? RI_STARTER_LAUNCHER : RI_STARTER_NONE;
}
