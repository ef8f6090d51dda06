/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/starts_ranks.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pages.h"
#include "command/words.h"
#include "system/apart.h"

enum {
	SCRIPT = 65536,		/* bytes of one that are read */
	SCRIPT_MS = 500,
	MODULE = 1024,		/* bytes of the name of one */
};

struct script {
	const char *path;
	bool is_module;		/* path is a module's name */
	bool (*holds)(struct ri_span text);
	char *text;		/* as long as it is read */
	bool found;
};

static void read_script(struct script *script, const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat info;
	ssize_t length = -1;

	if (fd < 0)
		return;
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
		length = read(fd, script->text, SCRIPT);
	close(fd);
	script->found = script->found || (length > 2 &&
		script->holds((struct ri_span){ script->text, (size_t)length }));
}

/* "pkg.train", which Python looks for in this folder first. */
static void read_module(struct script *script, const char *name)
{
	static const char *const ends[] = { ".py", "/__main__.py" };
	char path[PATH_MAX];
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]) && length < MODULE; i++) {
		snprintf(path, sizeof(path), "%s%s", name, ends[i]);
		for (size_t at = 0; at < length; at++)
			if (path[at] == '.')
				path[at] = '/';
		read_script(script, path);
	}
}

static int look_in(void *argument)
{
	struct script *script = argument;

	if (script->is_module)
		read_module(script, script->path);
	else
		read_script(script, script->path);
	return 0;
}

static bool script_holds(struct script script)
{
	const struct ri_apart reading = {
		.work = look_in, .argument = &script, .subject = "COMMAND", .path = script.path,
		.most_ms = SCRIPT_MS,
	};

	script.text = ri_pages(SCRIPT);
	return script.text != NULL && ri_apart(&reading) == 0 && script.found;
}

static bool script_names_launcher(const char *path)
{
	return script_holds((struct script){
		.path = path, .holds = ri_command_text_names_launcher,
	});
}

static bool imports_ray(struct ri_span text)
{
	return ri_command_text_imports(text, "ray");
}

static bool is_driver_of_ray(const struct ri_command *command)
{
	if (command->module != NULL)
		return ri_command_module_uses_ray(command->module) ||
			script_holds((struct script){
				.path = command->module, .is_module = true, .holds = imports_ray,
			});
	return command->script != NULL &&
		script_holds((struct script){ .path = command->script, .holds = imports_ray });
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
	return script_names_launcher(*words);
}

static bool starts_launcher(const struct ri_command *command)
{
	char *const *words = command->argv;

	if (command->mode != RI_MODE_PROCESS || words == NULL || words[0] == NULL)
		return command->mode != RI_MODE_PROCESS;
	if (command->stated)
		return false;
	if (ri_word_shell(words[0]) != NULL)
		return shell_names_launcher(words + 1);
	return is_script(words[0]) && script_names_launcher(words[0]);
}

enum ri_starter ri_starts_ranks(const struct ri_command *command)
{
	bool is_process = command->stated && command->mode == RI_MODE_PROCESS;

	if (!is_process && is_driver_of_ray(command))
		return RI_STARTER_RAY;
	return starts_launcher(command) ? RI_STARTER_LAUNCHER : RI_STARTER_NONE;
}
