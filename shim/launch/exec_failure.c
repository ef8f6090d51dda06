/* SPDX-License-Identifier: Apache-2.0 */
/* Why a command could not be executed, and what to do. */
#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/command.h"
#include "image/image.h"
#include "options/table.h"

static int too_big(const struct ri_launch *launch, struct ri_error *err)
{
	char *const *const lists[] = { launch->argv, launch->envp };
	const char *largest = "";
	size_t total = 0;
	char name[64];

	for (int i = 0; i < 2; i++)
		for (char *const *p = lists[i]; *p != NULL; p++) {
			total += strlen(*p) + 1 + sizeof(char *);
			if (strlen(*p) > strlen(largest))
				largest = *p;
		}
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(largest, "="), largest);
	ri_fail(err, RI_CODE_EXEC_TOO_BIG, launch->argv[0],
		"the arguments and the environment (%zu bytes) exceed the kernel's limit; the "
		"largest string has %zu bytes: %s",
		total, strlen(largest) + 1, name);
	return ri_fail_hint(err, "a single string may have 131071 bytes: shorten or unset it");
}

/* It is there, and what would run it is not: the kernel tells no difference. */
static int cannot_be_run(const char *path, const char *command, struct ri_error *err)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char head[RI_SCRIPT_HEAD];
	struct ri_script script;
	ssize_t length = -1;

	if (fd >= 0) {
		length = read(fd, head, sizeof(head));
		close(fd);
	}
	if (length <= 0 || !ri_script_read(&script, head, (size_t)length)) {
		ri_fail(err, RI_CODE_EXEC_DENIED, command,
			"%s exists, but its interpreter or dynamic loader is missing", path);
		return ri_fail_hint(err, "check the dynamic loader that it was linked for (readelf "
					 "-l)");
	}
	if (script.has_return) {
		ri_fail(err, RI_CODE_EXEC_DENIED, command,
			"the #! line of %s names %s with a carriage return at its end: the file "
			"has Windows line endings",
			path, script.interpreter);
		return ri_fail_hint(err, "remove them with dos2unix, or sed -i 's/\\r$//' %s",
			path);
	}
	ri_fail(err, RI_CODE_EXEC_DENIED, command,
		"%s exists, but %s, named in its #! line, cannot be executed", path,
		script.interpreter);
	return ri_fail_hint(err, "check that line, and that the image contains this file");
}

static bool is_in_path(const char *path, const char *name)
{
	char file[PATH_MAX];
	size_t length;

	for (;; path += length + 1) {
		length = strcspn(path, ":");
		snprintf(file, sizeof(file), "%.*s/%s", (int)length, path, name);
		if (faccessat(AT_FDCWD, file, X_OK, 0) == 0)
			return true;
		if (path[length] == '\0')
			return false;
	}
}

/* What was meant by a word that no program has for its name: "check", "pyhton3". Or NULL. */
static const char *find_meant(const struct ri_launch *launch)
{
	const char *command = launch->argv[0], *nearest = ri_command_nearest(command);

	for (size_t i = 0; i < RI_OPTION_COUNT; i++)
		if (ri_option_table[i].kind == ACTION &&
			ri_option_is_named(&ri_option_table[i], command))
			return ri_option_name(&ri_option_table[i]);
	return nearest != NULL && is_in_path(launch->path, nearest) ? nearest : NULL;
}

static int not_found(const struct ri_launch *launch, struct ri_error *err)
{
	const char *command = launch->argv[0], *meant;
	RI_TEXT(shown, RI_QUOTE_SIZE);

	if (command[0] == '\0') {
		ri_fail(err, RI_CODE_EXEC_NOT_FOUND, "COMMAND", "it is an empty string");
		return ri_fail_hint(err, "is a variable in the command not set?");
	}
	/* a whole line that came as one word, since somebody quoted it */
	if (strpbrk(command, " \t\n") != NULL) {
		ri_text_add_shown(&shown, command, RI_QUOTE_SIZE / 4 - 1);
		ri_fail(err, RI_CODE_EXEC_NOT_FOUND, command,
			"it is one word that contains a space, and no command has that name");
		return strpbrk(command, "&|;<>$`\n") != NULL
			? ri_fail_hint(err, "to run a shell line, use a shell: rankinit -- sh -c "
				"'%s'", shown.bytes)
			: ri_fail_hint(err, "write each word separately, without quotes around "
				"them: rankinit -- %s; in a list (CMD of a Dockerfile, command: of "
				"Kubernetes) each word is a string of its own", shown.bytes);
	}
	ri_fail(err, RI_CODE_EXEC_NOT_FOUND, command, "there is no such command");
	if (command[0] == '-')
		return ri_fail_hint(err, "options of rankinit go before --");
	if (strchr(command, '/') != NULL)
		return ri_fail_hint(err, "check the path, and that the image contains it");
	if (faccessat(AT_FDCWD, command, F_OK, 0) == 0)
		return ri_fail_hint(err, "this folder has a file of that name: write ./%s, or the "
			"program that runs it before it: python3 %s", command, command);
	meant = find_meant(launch);
	if (meant != NULL)
		return ri_fail_hint(err, "did you mean %s?", meant);
	return ri_fail_hint(err, "searched in PATH=%s", RI_QUOTED(launch->path));
}

int ri_exec_explain(const struct ri_launch *launch, int error, struct ri_error *err)
{
	const char *command = launch->argv[0], *path = launch->candidates, *present;
	struct stat info;

	/* the first path that is there, whatever execve said of it */
	while (*path != '\0' && faccessat(AT_FDCWD, path, F_OK, 0) < 0)
		path += strlen(path) + 1;
	present = *path == '\0' ? NULL : path;
	if (error == E2BIG)
		return too_big(launch, err);
	if (error == ENOENT || error == ENOTDIR)
		return present == NULL ? not_found(launch, err)
			: cannot_be_run(present, command, err);
	if (error == EACCES && present != NULL && stat(present, &info) == 0 &&
		S_ISDIR(info.st_mode))
		return ri_fail(err, RI_CODE_EXEC_DENIED, command, "%s is a directory", present);
	ri_fail(err, RI_CODE_EXEC_DENIED, command, "cannot be executed: %s", strerror(error));
	if (error == ENOEXEC)
		return ri_fail_hint(err, "a script needs a first line such as #!/bin/sh, a program "
			"must be built for this processor");
	if (error == EACCES && ri_word_ends(command, ".py"))
		return ri_fail_hint(err, "write python3 %s, or make it executable: chmod +x",
			command);
	if (error == EACCES)
		return ri_fail_hint(err, "it must be a file with execute permission (chmod +x), on "
			"a file system not mounted noexec");
	return -1;
}
