/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/meant.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "command/command.h"
#include "options/options.h"

enum {
	SHOWN = 80,
	SHOWN_SIZE = 4 * SHOWN + 4,
	MAX_ENTRIES = 65536,	/* of all folders of PATH that are looked at */
};

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

bool ri_meant_option(const char *command, struct ri_error *err)
{
	const char *option = ri_option_meant(command);

	if (option == NULL)
		return false;
	ri_fail(err, RI_CODE_EXEC_NOT_FOUND, command, "there is no such command");
	ri_fail_hint(err, "did you mean rankinit %s?", option);
	return true;
}

/* A program nearer to the command than *limit changes. */
static bool is_nearer(const char *command, int folder, const char *name, unsigned *limit)
{
	unsigned distance = ri_text_distance(command, name);
	struct stat info;

	if (distance > *limit || fstatat(folder, name, &info, 0) < 0 || !S_ISREG(info.st_mode) ||
		faccessat(folder, name, X_OK, 0) < 0)
		return false;
	*limit = distance - 1;
	return true;
}

/* The same for all of a folder of PATH; *left: how many entries are still looked at. */
static void find_nearest(const char *command, const char *folder, unsigned *limit, size_t *left,
	char nearest[NAME_MAX + 1])
{
	DIR *entries = opendir(folder);
	struct dirent *entry;

	if (entries == NULL)
		return;
	for (; *left > 0 && (entry = readdir(entries)) != NULL; --*left)
		if (is_nearer(command, dirfd(entries), entry->d_name, limit))
			ri_text_copy(nearest, NAME_MAX + 1, entry->d_name);
	closedir(entries);
}

bool ri_meant_name(const char *command, const char *path, struct ri_error *err)
{
	/* a quarter of it may be wrong: in four letters there are too many commands */
	unsigned limit = strlen(command) < 5 ? 0 : (unsigned)strlen(command) / 4;
	char nearest[NAME_MAX + 1] = "", folder[PATH_MAX];
	size_t left = MAX_ENTRIES, length;
	const char *launcher;

	if (strchr(command, '/') != NULL)
		return false;
	for (limit = limit > 2 ? 2 : limit; limit > 0; path += length + 1) {
		length = strcspn(path, ":");
		if (length > 0 && length < sizeof(folder)) {
			memcpy(folder, path, length);
			folder[length] = '\0';
			find_nearest(command, folder, &limit, &left, nearest);
		}
		if (path[length] == '\0')
			break;
	}
	launcher = nearest[0] == '\0' ? ri_launcher_nearest(command) : NULL;
	if (nearest[0] == '\0' && launcher == NULL)
		return false;
	ri_fail(err, RI_CODE_EXEC_NOT_FOUND, command, "there is no such command");
	if (launcher == NULL)
		ri_fail_hint(err, "did you mean %s?", nearest);
	else
		ri_fail_hint(err, "did you mean %s? PATH has no %s either", launcher, launcher);
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
