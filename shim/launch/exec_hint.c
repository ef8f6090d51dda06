/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/exec_hint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "command/words.h"
#include "options/options.h"
#include "system/apart.h"

enum {
	SHOWN = 80,
	SHOWN_SIZE = 4 * SHOWN + 4,
	MAX_ENTRIES = 65536,	/* of all folders of PATH that are looked at */
	MAX_SCRIPT_WORDS = 16,	/* of a command, among which its script is looked for */
	SCRIPT = 1 << 20,	/* bytes of one that is read */
	SCRIPT_MS = 500,
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

static bool ends_with(const char *word, const char *end)
{
	size_t length = strlen(word), wanted = strlen(end);

	return length > wanted && strcmp(word + length - wanted, end) == 0;
}

/* What a search for an option in scripts works from, and what it finds. */
struct search {
	const struct ri_command *command;
	const char *option;
	char *text;
	bool some;		/* there is a script */
	bool mentions;		/* the option; also in doubt */
};

/* A script that hands its arguments on may have whatever others have. */
static bool mentions(const char *text, size_t length, const char *option)
{
	static const char *const all[] = { "$@", "$*", "${@", "${*", "sys.argv" };
	size_t size = strlen(option);

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (memmem(text, length, all[i], strlen(all[i])) != NULL)
			return true;
	for (; length >= size; text++, length--)
		if (ri_word_is_name(text, option, size))
			return true;
	return false;
}

/* False: it is not there. */
static bool search_script(struct search *search, const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	bool absent = fd < 0 && errno == ENOENT;
	struct stat info;
	ssize_t length = -1;

	if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= SCRIPT)
		length = read(fd, search->text, SCRIPT);
	if (fd >= 0)
		close(fd);
	if (!absent && (length < 0 || mentions(search->text, (size_t)length,
					      search->option + strlen("--"))))
		search->mentions = true;
	return !absent;
}

/* "pkg.train", which Python looks for in this folder first; we look in no other folder. */
static void search_module(struct search *search, const char *module)
{
	static const char *const ends[] = { ".py", "/__main__.py" };
	char path[PATH_MAX];
	bool found = false;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", module, ends[i]);
		for (size_t at = 0; at < strlen(module) && at < sizeof(path) - 1; at++)
			if (path[at] == '.')
				path[at] = '/';
		found = search_script(search, path) || found;
	}
	search->some = search->some || found;
	/* that of a known launcher, whose options are known */
	if (!found && search->command->launcher == NULL)
		search->mentions = true;
}

static int search_scripts(void *argument)
{
	struct search *search = argument;
	char *const *words = search->command->argv;

	for (size_t i = 0; i < MAX_SCRIPT_WORDS && words[i] != NULL; i++) {
		if ((strcmp(words[i], "-m") == 0 || strcmp(words[i], "--module") == 0) &&
			words[i + 1] != NULL)
			search_module(search, words[i + 1]);
		if (!ends_with(words[i], ".py") && !ends_with(words[i], ".sh"))
			continue;
		/* a shell's line is no script */
		if (strchr(words[i], ' ') != NULL)
			search->mentions = true;
		search->some = true;
		search_script(search, words[i]);
	}
	return 0;
}

bool ri_exec_hint_for_us(const struct ri_command *command, const char *option)
{
	struct search search = { .command = command, .option = option };
	const struct ri_apart searching = {
		.work = search_scripts, .argument = &search, .subject = option,
		.path = command->argv[0], .most_ms = SCRIPT_MS,
	};

	/* what another program makes of a script among its words is unknown */
	if (!command->is_python && command->launcher == NULL &&
		ri_word_shell(command->argv[0]) == NULL)
		return false;
	search.text = mmap(NULL, SCRIPT, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (search.text == MAP_FAILED || ri_apart(&searching) < 0)
		return false;
	munmap(search.text, SCRIPT);
	return search.some && !search.mentions;
}

bool ri_exec_hint_words(const char *command, struct ri_error *err)
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

bool ri_exec_hint_file(const char *command, struct ri_error *err)
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

bool ri_exec_hint_option(const char *command, struct ri_error *err)
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

bool ri_exec_hint_name(const char *command, const char *path, struct ri_error *err)
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

bool ri_exec_hint_script(const char *path, struct ri_error *err)
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
