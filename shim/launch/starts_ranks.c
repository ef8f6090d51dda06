/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/starts_ranks.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pages.h"
#include "command/words.h"
#include "system/apart.h"

enum {
	SCRIPT = 65536,		/* bytes of one that are read */
	SCRIPT_MS = 500,
};

struct script {
	const char *path;
	char *text;		/* as long as it is read */
	bool names;		/* a launcher */
};

static int read_script(void *argument)
{
	struct script *script = argument;
	int fd = open(script->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat info;
	ssize_t length = -1;

	if (fd < 0)
		return 0;
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
		length = read(fd, script->text, SCRIPT);
	close(fd);
	script->names = length > 2 &&
		ri_command_text_names_launcher((struct ri_span){ script->text, (size_t)length });
	return 0;
}

static bool script_names_launcher(const char *path)
{
	struct script script = { .path = path, .text = ri_pages(SCRIPT) };
	const struct ri_apart reading = {
		.work = read_script, .argument = &script, .subject = "COMMAND", .path = path,
		.most_ms = SCRIPT_MS,
	};

	return script.text != NULL && ri_apart(&reading) == 0 && script.names;
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

bool ri_starts_ranks(const struct ri_command *command)
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
