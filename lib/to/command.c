/* SPDX-License-Identifier: Apache-2.0 */
#include "to/command.h"

#include <stddef.h>
#include <string.h>

#include "model/topology.h"

#define RI_LAUNCHER(symbol, name_, mode_, reads_pet_, keeps_, counts_, letters_, longs_) \
	static const struct ri_launcher launcher_##symbol = { \
		.name = name_, .mode = RI_MODE_##mode_, .reads_pet = reads_pet_, \
		.keeps = keeps_, .counts = counts_, .letters = letters_, .longs = longs_, \
	};
#define RI_STARTS(launcher, where, name, sub, option, cite)
#define RI_WRAPPER(program, sub, words, letters, longs, cite)
#include "to/launchers.def"
#undef RI_LAUNCHER
#undef RI_STARTS
#undef RI_WRAPPER

struct start {
	const struct ri_launcher *launcher;
	enum { PROGRAM, MODULE } where;
	const char *name, *sub, *option;
};

static const struct start starts[] = {
#define RI_LAUNCHER(symbol, name, mode, reads_pet, keeps, counts, letters, longs)
#define RI_STARTS(by_, where_, name_, sub_, option_, cite_) \
	{ .launcher = &launcher_##by_, .where = where_, .name = name_, .sub = sub_, \
	  .option = option_ },
#define RI_WRAPPER(program, sub, words, letters, longs, cite)
#include "to/launchers.def"
#undef RI_LAUNCHER
#undef RI_STARTS
#undef RI_WRAPPER
};

enum { ASSIGNS = -1, PYTHON = -2 };

struct wrapper {
	const char *program, *sub;
	int words;	/* to skip, or one of the above */
	const char *letters, *longs;
};

static const struct wrapper wrappers[] = {
#define RI_LAUNCHER(symbol, name, mode, reads_pet, keeps, counts, letters, longs)
#define RI_STARTS(launcher, where, name, sub, option, cite)
#define RI_WRAPPER(program_, sub_, words_, letters_, longs_, cite_) \
	{ .program = program_, .sub = sub_, .words = words_, .letters = letters_, \
	  .longs = longs_ },
#include "to/launchers.def"
#undef RI_LAUNCHER
#undef RI_STARTS
#undef RI_WRAPPER
};

enum {
	START_COUNT = sizeof(starts) / sizeof(starts[0]),
	WRAPPER_COUNT = sizeof(wrappers) / sizeof(wrappers[0]),
};

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
}

/* Are the first length bytes of word this name, with '_' for '-' or not? */
static bool is_name(const char *word, const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (name[i] != word[i] && !(name[i] == '-' && word[i] == '_'))
			return false;
	return name[length] == '\0' || name[length] == ' ';
}

/* Does the option of that long name, without "--", take its value from the next word? */
static bool long_takes_word(const char *longs, const char *name)
{
	bool listed = false, others = longs[0] == '!';
	const char *at = longs + others;

	if (strchr(name, '=') != NULL)
		return false;
	while (*at != '\0' && !listed) {
		at += strspn(at, " ");
		listed = *at != '\0' && is_name(name, at, strlen(name));
		at += strcspn(at, " ");
	}
	return listed != others;
}

/* The first letter of "-abc", without '-', that takes a value, or NULL. */
static const char *find_valued(const char *letters, const char *cluster)
{
	bool others = letters[0] == '!';

	for (; *cluster != '\0'; cluster++)
		if ((strchr(letters + others, *cluster) != NULL) != others)
			return cluster;
	return NULL;
}

/* What follows the option at words, and its value. */
static char *const *skip_option(const char *letters, const char *longs, char *const *words)
{
	const char *word = *words++, *valued;
	bool takes_word;

	if (word[1] == '-') {
		takes_word = long_takes_word(longs, word + 2);
	} else {
		valued = find_valued(letters, word + 1);
		takes_word = valued != NULL && valued[1] == '\0';
	}
	return takes_word && *words != NULL ? words + 1 : words;
}

/*
 * Python's own -m and -c, and uv's --module. Returns true where the option at
 * *words is one: *module is the module's name then, NULL after -c, and *words
 * what follows.
 */
static bool take_module(const char *letters, char *const **words, const char **module)
{
	const char *word = **words, *valued = NULL;

	*module = NULL;
	if (word[1] == '-') {
		if (strcmp(word, "--module") != 0)
			return false;
	} else {
		valued = find_valued(letters, word + 1);
		if (valued == NULL || (*valued != 'm' && *valued != 'c'))
			return false;
		if (*valued == 'c')
			return true;
	}
	++*words;
	if (valued != NULL && valued[1] != '\0')
		*module = valued + 1;
	else if (**words != NULL)
		*module = *(*words)++;
	return true;
}

/* Where a search stands. */
struct place {
	char *const *words;	/* the command, or what follows the module; NULL: no command */
	const char *module;	/* NULL: words[0] is a program or a script */
};

static struct place skip_options(const struct wrapper *row, char *const *words)
{
	struct place place = { .words = words };

	while (*place.words != NULL && is_option(*place.words)) {
		if (strcmp(*place.words, "--") == 0) {
			place.words++;
			break;
		}
		if (row->words == PYTHON &&
			take_module(row->letters, &place.words, &place.module)) {
			if (place.module == NULL)
				place.words = NULL;
			break;
		}
		place.words = skip_option(row->letters, row->longs, place.words);
	}
	return place;
}

/* "-" is env's -i. */
static bool is_assignment(const char *word)
{
	return strcmp(word, "-") == 0 || (word[0] != '=' && strchr(word, '=') != NULL);
}

/* The command behind the wrapper at words. */
static struct place unwrap(const struct wrapper *row, char *const *words)
{
	static const struct place nowhere = { .words = NULL };
	struct place place = skip_options(row, words + 1);

	if (row->sub[0] != '\0') {
		if (place.words == NULL || *place.words == NULL ||
			strcmp(*place.words, row->sub) != 0)
			return nowhere;
		place = skip_options(row, place.words + 1);
	}
	if (place.words == NULL || place.module != NULL)
		return place;
	for (int i = 0; i < row->words && *place.words != NULL; i++)
		place.words++;
	while (row->words == ASSIGNS && *place.words != NULL && is_assignment(*place.words))
		place.words++;
	return place;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* "python3.11" is python. */
static bool is_program(const struct wrapper *row, const char *path)
{
	const char *base = base_name(path);
	size_t length = strlen(row->program);

	if (strncmp(base, row->program, length) != 0)
		return false;
	if (strcmp(row->program, "python") == 0)
		return base[length + strspn(base + length, "0123456789.")] == '\0';
	return base[length] == '\0';
}

/* Is "/opt/torch/distributed/run.py" the file of "torch.distributed.run"? */
static bool is_file_of(const char *path, const char *module)
{
	size_t length = strlen(path), wanted = strlen(module);
	const char *at;

	if (length < wanted + 3 || strcmp(path + length - 3, ".py") != 0)
		return false;
	at = path + length - 3 - wanted;
	if (at != path && at[-1] != '/')
		return false;
	for (size_t i = 0; i < wanted; i++)
		if (at[i] != (module[i] == '.' ? '/' : module[i]))
			return false;
	return true;
}

/* Is it this launcher that stands at place? Then *rest is what follows its name. */
static bool is_start(const struct start *start, const struct place *place, char *const **rest)
{
	const char *word = *place->words;

	*rest = place->words + (place->module == NULL);
	if (start->where == PROGRAM)
		return place->module == NULL && strcmp(base_name(word), start->name) == 0;
	if (place->module != NULL)
		return strcmp(place->module, start->name) == 0;
	return is_file_of(word, start->name);
}

static bool find_launcher(struct ri_command *out, const struct place *place)
{
	for (size_t i = 0; i < START_COUNT; i++) {
		struct ri_command found = { .mode = out->mode, .launcher = starts[i].launcher };

		if (!is_start(&starts[i], place, &found.words))
			continue;
		if (starts[i].sub[0] != '\0') {
			if (*found.words == NULL || strcmp(*found.words, starts[i].sub) != 0)
				continue;
			found.words++;
		}
		if (starts[i].option[0] != '\0' && !ri_command_has(&found, starts[i].option, NULL))
			continue;
		*out = found;
		return true;
	}
	return false;
}

/* Go on behind the wrapper at place. Rows of one program differ by sub-command. */
static bool look_through(struct place *place)
{
	struct place behind;

	if (place->module != NULL)
		return false;
	for (size_t i = 0; i < WRAPPER_COUNT; i++) {
		if (!is_program(&wrappers[i], *place->words))
			continue;
		behind = unwrap(&wrappers[i], place->words);
		if (behind.words == NULL)
			continue;
		*place = behind;
		return true;
	}
	return false;
}

void ri_command_read(struct ri_command *out, char *const *argv, enum ri_mode asked)
{
	struct place place = { .words = argv };

	*out = (struct ri_command){ .mode = asked };
	while (place.words != NULL && (*place.words != NULL || place.module != NULL))
		if (find_launcher(out, &place) || !look_through(&place))
			break;
	if (out->mode == RI_MODE_AUTO)
		out->mode = out->launcher == NULL ? RI_MODE_PROCESS : out->launcher->mode;
}

bool ri_command_has(const struct ri_command *command, const char *option, const char **value)
{
	const struct ri_launcher *launcher = command->launcher;
	char *const *word = command->words;

	if (launcher == NULL || word == NULL)
		return false;
	while (*word != NULL && is_option(*word) && strcmp(*word, "--") != 0) {
		char *const *next = skip_option(launcher->letters, launcher->longs, word);
		size_t length = strcspn(*word, "=");

		if (is_name(*word, option, length)) {
			if (value != NULL && (*word)[length] == '=')
				*value = *word + length + 1;
			else if (value != NULL)
				*value = next - word == 2 ? word[1] : NULL;
			return true;
		}
		word = next;
	}
	return false;
}

bool ri_command_mentions(const struct ri_command *command, const char *option)
{
	enum { SHORTEST = sizeof("--ma") - 1 };

	for (char *const *word = command->words; word != NULL && *word != NULL; word++) {
		size_t length = strcspn(*word, "=");
		char cut[64];

		if (length < SHORTEST || length > strlen(option) || length >= sizeof(cut))
			continue;
		memcpy(cut, option, length);
		cut[length] = '\0';
		if (is_name(*word, cut, length))
			return true;
	}
	return false;
}

const char *ri_mode_name(enum ri_mode mode)
{
	static const char *const names[] = {
		[RI_MODE_AUTO] = "auto",
		[RI_MODE_PROCESS] = "process",
		[RI_MODE_NODE] = "node",
		[RI_MODE_NONE] = "none",
	};

	return names[mode];
}
