/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/script_option.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/words.h"
#include "system/apart.h"

enum {
	MAX_SCRIPT_WORDS = 16,	/* of a command, among which its script is looked for */
	SCRIPT = 1 << 20,	/* bytes of one that is read */
	SCRIPT_MS = 500,
};

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

bool ri_script_option_is_for_us(const struct ri_command *command, const char *option)
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
