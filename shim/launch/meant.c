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
		"it is one word that contains a space, and no command has that name");
	show(shown, command);
	if (strpbrk(command, "&|;<>$`\n") != NULL)
		ri_fail_hint(err, "to run a shell line, use a shell: rankinit -- sh -c '%s'",
			shown);
	else
		ri_fail_hint(err, "write each word separately, without quotes around them: "
			"rankinit -- %s; in a list (CMD of a Dockerfile, command: of Kubernetes) "
			"each word is a string of its own",
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
		"PATH has no such command, but this folder has a file of that name");
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
	ri_fail_hint(err, "did you mean %s %s? A command needs the execute permission (chmod +x) "
		"and a first line such as #!/usr/bin/env %s", runner, show(shown, path),
		runner);
	return true;
}
