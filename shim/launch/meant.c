/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/meant.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

enum { SHOWN = 80, SHOWN_SIZE = 4 * SHOWN + 4 };

/* A foreign word in a hint, where quotes would be taken for a part of it. */
static const char *show(char out[SHOWN_SIZE], const char *word)
{
	struct ri_text text;

	ri_text_init(&text, out, SHOWN_SIZE);
	ri_text_add_shown(&text, word, SHOWN);
	return out;
}

static bool is_file(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* Who runs a file of this name; NULL: the name does not say. */
static const char *find_runner(const char *path)
{
	const char *end = strrchr(path, '.');

	if (end == NULL)
		return NULL;
	if (strcmp(end, ".py") == 0)
		return "python3";
	if (strcmp(end, ".sh") == 0)
		return is_file("/bin/bash") ? "bash" : "sh";
	return NULL;
}

bool ri_meant_words(const char *command, struct ri_error *err)
{
	char shown[SHOWN_SIZE];

	if (strpbrk(command, " \t\n") == NULL)
		return false;
	ri_fail(err, RI_CODE_EXEC_NOT_FOUND, command,
		"it is one word with a space in it, and there is no command of that name");
	show(shown, command);
	if (strpbrk(command, "&|;<>$`\n") != NULL)
		ri_fail_hint(err, "give a line for a shell to a shell: rankinit -- sh -c '%s'",
			shown);
	else
		ri_fail_hint(err, "write each word apart, without quotes around them: rankinit -- "
			"%s; in a list (CMD of a Dockerfile, command: of Kubernetes) each is a "
			"string of its own",
			shown);
	return true;
}

bool ri_meant_file(const char *command, struct ri_error *err)
{
	const char *runner = find_runner(command);
	char shown[SHOWN_SIZE];

	if (strchr(command, '/') != NULL || !is_file(command) ||
		(runner == NULL && access(command, X_OK) != 0))
		return false;
	ri_fail(err, RI_CODE_EXEC_NOT_FOUND, command,
		"there is no such command in PATH, but a file of that name is in this folder");
	show(shown, command);
	if (runner == NULL)
		ri_fail_hint(err, "did you mean ./%s?", shown);
	else
		ri_fail_hint(err, "did you mean %s %s?", runner, shown);
	return true;
}

bool ri_meant_script(const char *path, struct ri_error *err)
{
	const char *runner = find_runner(path);
	char shown[SHOWN_SIZE];

	if (runner == NULL || !is_file(path))
		return false;
	ri_fail_hint(err, "did you mean %s %s? To be a command it needs the execute permission "
		"(chmod +x) and a first line like #!/usr/bin/env %s", runner, show(shown, path),
		runner);
	return true;
}
