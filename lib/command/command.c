/* SPDX-License-Identifier: Apache-2.0 */
#include "command/command.h"

#include <string.h>

#include "base/host.h"
#include "base/limits.h"

#define RI_LAUNCHER(symbol, name_, mode_, letters_, longs_, ...) \
	static const struct ri_launcher launcher_##symbol = { \
		.name = name_, .mode = RI_MODE_##mode_, .letters = letters_, .longs = longs_, \
		__VA_ARGS__ \
	};
#include "command/launchers.def"

struct start {
	const struct ri_launcher *launcher;
	enum { PROGRAM, MODULE } where;
	const char *name, *sub, *option;	/* these two: NULL for none */
};

/* A row ends where it has no more to say. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

static const struct start starts[] = {
#define RI_STARTS(by_, where_, name_, cite_, ...) \
	{ &launcher_##by_, where_, name_, __VA_ARGS__ },
#include "command/launchers.def"
};

struct count {
	const struct ri_launcher *launcher;
	const char *option;
	char letter;
	enum { NODE, JOB } of;
};

static const struct count counts[] = {
#define RI_COUNT(by_, option_, letter_, of_, cite_) { &launcher_##by_, option_, letter_, of_ },
#include "command/launchers.def"
};

enum { ASSIGNS = -1, PYTHON = -2 };

struct wrapper {
	const char *program, *sub;
	int words;	/* to skip, or one of the above */
	const char *letters, *longs;
};

static const struct wrapper wrappers[] = {
#define RI_WRAPPER(program_, sub_, words_, letters_, longs_, cite_) \
	{ program_, sub_, words_, letters_, longs_ },
#include "command/launchers.def"
};

enum {
	START_COUNT = RI_ARRAY_SIZE(starts),
	COUNT_COUNT = RI_ARRAY_SIZE(counts),
	WRAPPER_COUNT = RI_ARRAY_SIZE(wrappers),
};

/* Does the name begin with the first length bytes of the word, with '_' for '-' or not? */
static bool begins_with(const char *name, const char *word, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (name[i] != word[i] && !(name[i] == '-' && word[i] == '_'))
			return false;
	return true;
}

/* The first letter of "abc" (of the word "-abc") that takes a value, or NULL. */
static const char *find_valued(const char *letters, const char *cluster)
{
	bool others = letters[0] == '!';

	for (; *cluster != '\0'; cluster++)
		if ((strchr(letters + others, *cluster) != NULL) != others)
			return cluster;
	return NULL;
}

/* What follows the option at words, and its value. shortens: long names may be cut short. */
static char *const *skip_option(const char *letters, const char *longs, bool shortens,
	char *const *words)
{
	const char *word = *words++, *valued;
	bool takes_word, others = longs[0] == '!';

	if (word[1] == '-') {
		takes_word = strchr(word, '=') == NULL &&
			ri_word_is_listed(longs + others, word + 2, shortens) != others;
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

/* "-" alone is none. */
static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
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
		place.words = skip_option(row->letters, row->longs, false, place.words);
	}
	return place;
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
	/* "-" is env's -i */
	while (row->words == ASSIGNS && *place.words != NULL && (strcmp(*place.words, "-") == 0 ||
		(**place.words != '=' && strchr(*place.words, '=') != NULL)))
		place.words++;
	return place;
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

static bool find_launcher(struct ri_command *out, const struct place *place)
{
	for (size_t i = 0; i < START_COUNT; i++) {
		const struct start *start = &starts[i];
		struct ri_command found = {
			.mode = out->mode, .launcher = start->launcher,
			.words = place->words + (place->module == NULL),
		};
		bool is_it = place->module != NULL
			? start->where == MODULE && strcmp(place->module, start->name) == 0
			: start->where == MODULE ? is_file_of(*place->words, start->name)
			: strcmp(ri_path_name(*place->words), start->name) == 0;

		if (!is_it)
			continue;
		if (start->sub != NULL) {
			if (*found.words == NULL ||
				!ri_list_has(start->sub, strlen(start->sub), *found.words))
				continue;
			found.words++;
		}
		if (start->option != NULL && !ri_command_has(&found, start->option, NULL))
			continue;
		*out = found;
		return true;
	}
	return false;
}

/* "python3.11" is python. */
static bool is_interpreter(const char *path)
{
	const char *base = ri_path_name(path);

	return strncmp(base, "python", 6) == 0 && base[6 + strspn(base + 6, "0123456789.")] == '\0';
}

/* Go on behind the wrapper at place. Rows of one program differ by sub-command. */
static bool look_through(struct place *place)
{
	struct place behind;

	if (place->module != NULL)
		return false;
	for (size_t i = 0; i < WRAPPER_COUNT; i++) {
		const char *program = wrappers[i].program;

		if (strcmp(program, "python") == 0 ? !is_interpreter(*place->words)
			: strcmp(ri_path_name(*place->words), program) != 0)
			continue;
		behind = unwrap(&wrappers[i], place->words);
		if (behind.words == NULL)
			continue;
		*place = behind;
		return true;
	}
	return false;
}

/* Does Python run what stands there, by its name or that of the script? */
static bool is_python(const struct place *place)
{
	return place->module == NULL && (ri_word_ends(ri_path_name(*place->words), ".py") ||
		is_interpreter(*place->words));
}

static bool is_of_name(char c)
{
	return ri_is_word(c) || c == '-' || c == '.';
}

bool ri_command_text_names_launcher(struct ri_span text)
{
	const char *end = text.at + text.length;

	for (size_t i = 0; i < START_COUNT; i++) {
		size_t length = strlen(starts[i].name);
		struct ri_span rest = text;
		const char *found;

		while ((found = memmem(rest.at, rest.length, starts[i].name, length)) != NULL) {
			bool begins = found == rest.at || !is_of_name(found[-1]);

			if (begins && (found + length == end || !is_of_name(found[length])))
				return true;
			rest = ri_span_skip(rest, (size_t)(found - rest.at) + length);
		}
	}
	return false;
}

const char *ri_command_nearest(const char *word)
{
	const char *names[START_COUNT + WRAPPER_COUNT + 1] = { "python3" };
	size_t count = 1;

	for (size_t i = 0; i < START_COUNT; i++)
		if (starts[i].where == PROGRAM)
			names[count++] = starts[i].name;
	for (size_t i = 0; i < WRAPPER_COUNT; i++)
		names[count++] = wrappers[i].program;
	return ri_text_nearest(word, names, count);
}

void ri_command_read(struct ri_command *out, char *const *argv, enum ri_mode asked)
{
	struct place place = { .words = argv };

	*out = (struct ri_command){ .mode = asked };
	while (place.words != NULL && (*place.words != NULL || place.module != NULL)) {
		if (find_launcher(out, &place))
			break;
		out->is_python |= is_python(&place);
		if (!look_through(&place))
			break;
	}
	/* what Python is to run is where the search ended; behind -c there is no script */
	if (out->is_python && place.words != NULL) {
		out->module = place.module;
		if (place.module == NULL && *place.words != NULL && !is_interpreter(*place.words))
			out->script = *place.words;
	}
	out->argv = argv;
	out->stated = asked != RI_MODE_AUTO;
	if (out->mode == RI_MODE_AUTO)
		out->mode = out->launcher == NULL ? RI_MODE_PROCESS : out->launcher->mode;
}

/* Of several the last one counts, as argparse and click have it. */
static bool find_option(const struct ri_command *command, const struct count *wanted,
	const char **value)
{
	const struct ri_launcher *launcher = command->launcher;
	char *const *word = command->words;
	bool found = false;

	if (launcher == NULL || word == NULL)
		return false;
	while (*word != NULL && is_option(*word) && strcmp(*word, "--") != 0) {
		char *const *next = skip_option(launcher->letters, launcher->longs,
			launcher->shortens, word);
		size_t length = strcspn(*word, "=");
		bool is_long = launcher->shortens && length > 2
			? begins_with(wanted->option, *word, length)
			: ri_word_is_name(*word, wanted->option, length);
		const char *valued = wanted->letter == 0 || word[0][1] == '-' ? NULL
			: find_valued(launcher->letters, word[0] + 1);

		if (is_long) {
			found = true;
			*value = word[0][length] == '=' ? *word + length + 1
				: next - word == 2 ? word[1] : NULL;
		} else if (valued != NULL && *valued == wanted->letter) {
			/* "-n=8" is "-n8" to argparse */
			found = true;
			*value = valued[1] != '\0' ? valued + 1 + (valued[1] == '=') : word[1];
		}
		word = next;
	}
	return found;
}

bool ri_command_has(const struct ri_command *command, const char *option, const char **value)
{
	const struct count wanted = { .option = option };
	const char *found;

	if (!find_option(command, &wanted, &found))
		return false;
	if (value != NULL)
		*value = found;
	return true;
}

/* Does the launcher say this number of them, and not "gpu" or "$N"? */
static bool read_count(const struct ri_command *command, const struct count *row, uint64_t *out)
{
	const struct ri_range range = { 1, row->of == JOB ? RI_MAX_RANKS : RI_MAX_LOCAL };
	const char *value;

	return find_option(command, row, &value) && value != NULL &&
		ri_number_read(value, range, out, NULL) == RI_NUMBER_OK;
}

bool ri_command_ranks(const struct ri_command *command, uint64_t nodes, uint64_t *out)
{
	static const struct count machines = { .option = "--num-machines", .of = JOB };
	uint64_t count;

	for (size_t i = 0; i < COUNT_COUNT; i++) {
		if (counts[i].launcher != command->launcher ||
			!read_count(command, &counts[i], &count))
			continue;
		/* accelerate's own words count the nodes, too */
		if (counts[i].of == JOB && !read_count(command, &machines, &nodes) && nodes == 0)
			nodes = 1;
		if (counts[i].of == JOB)
			count /= nodes;
		*out = count;
		return count > 0;
	}
	return false;
}

bool ri_command_mentions(const struct ri_command *command, const char *option)
{
	enum { SHORTEST = sizeof("--ma") - 1 };

	for (char *const *word = command->words; word != NULL && *word != NULL; word++) {
		size_t length = strcspn(*word, "=");

		if (length >= SHORTEST && begins_with(option, *word, length))
			return true;
	}
	return false;
}

bool ri_launcher_is_torchruns(const struct ri_launcher *launcher)
{
	return launcher != NULL && launcher->reads_pet && launcher->shortens;
}

static bool mentions_one(const struct ri_command *command, const char *const *options)
{
	while (*options != NULL && !ri_command_mentions(command, *options))
		options++;
	return *options != NULL;
}

bool ri_command_tells_nodes(const struct ri_command *command)
{
	/* of torchrun and those like it; accelerate; fabric; composer; deepspeed */
	static const char *const words[] = {
		"--nnodes", "--standalone", "--node-rank", "--rdzv-endpoint", "--master-addr",
		"--num-machines", "--machine-rank", "--main-process-ip", "--num-nodes",
		"--main-address", "--world-size", "--hostfile", NULL,
	};

	/* accelerate's file of defaults has them, too */
	return mentions_one(command, words) || ri_command_has(command, "--config-file", NULL);
}

bool ri_meeting_is_here(const struct ri_command *command, const struct ri_env *env)
{
	/* parsed as a number (PyTorch torch/distributed/argparse_util.py, check_env) */
	const char *variable = ri_env_get(env, "PET_STANDALONE"), *nodes = NULL;

	if (command->launcher == NULL || !command->launcher->reads_pet)
		return false;
	if ((variable != NULL && strcmp(variable, "1") == 0) ||
		ri_command_has(command, "--standalone", NULL))
		return true;
	return ri_command_has(command, "--nnodes", &nodes) && nodes != NULL &&
		(strcmp(nodes, "1") == 0 || strcmp(nodes, "1:1") == 0);
}

bool ri_meeting_is_told(const struct ri_command *command, const struct ri_env *env)
{
	/* of torchrun, composer and deepspeed; accelerate; fabric */
	static const char *const words[] = {
		"--master-addr", "--rdzv-endpoint", "--rdzv-conf", "--main-process-ip",
		"--main-address", NULL,
	};

	return command->launcher != NULL && (mentions_one(command, words) ||
		(command->launcher->reads_pet && (ri_env_get(env, "PET_RDZV_ENDPOINT") != NULL ||
		ri_env_get(env, "PET_RDZV_CONF") != NULL)));
}

const char *ri_command_name(const struct ri_command *command)
{
	return command->launcher == NULL ? "the command" : command->launcher->name;
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

const char *ri_word_shell(const char *word)
{
	static const char *const shells[] = {
		"ash", "bash", "busybox", "dash", "fish", "ksh", "ksh93", "mksh", "sh", "zsh",
	};

	for (size_t i = 0; i < RI_ARRAY_SIZE(shells); i++)
		if (strcmp(ri_path_name(word), shells[i]) == 0)
			return shells[i];
	return NULL;
}

const char *ri_words_shell_runs(char *const *words, bool *is_line)
{
	/* "busybox" has one more word */
	words += 1 + (words[1] != NULL && ri_word_shell(words[1]) != NULL);
	*is_line = false;
	for (; *words != NULL && is_option(*words); words++)
		*is_line |= (*words)[1] != '-' && strchr(*words, 'c') != NULL;
	return *words;
}

bool ri_word_ends(const char *word, const char *end)
{
	size_t length = strlen(word);

	return length > strlen(end) && ri_span_ends((struct ri_span){ word, length }, end);
}

bool ri_word_is_name(const char *word, const char *name, size_t length)
{
	return begins_with(name, word, length) && (name[length] == '\0' || name[length] == ' ');
}

bool ri_word_is_listed(const char *list, const char *name, bool shortens)
{
	size_t length = strlen(name);
	bool listed = false;

	while (*list != '\0' && !listed) {
		list += strspn(list, " ");
		listed = *list != '\0' && (shortens ? begins_with(list, name, length)
			: ri_word_is_name(name, list, length));
		list += strcspn(list, " ");
	}
	return listed;
}

/* "$NAME" or "${NAME}" within a word. */
struct reference {
	const char *name;
	size_t name_length;
	size_t length;	/* with what is around the name; 0: there is none */
};

/* The reference that starts at the '$' at text. */
static struct reference read_reference(const char *text)
{
	/* POSIX, "Name": letters, digits and '_', no digit first */
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
	bool braces = text[1] == '{';
	struct reference found = { .name = text + 1 + braces };

	if (*found.name < '0' || *found.name > '9')
		found.name_length = strspn(found.name, letters);
	if (found.name_length == 0 || (braces && found.name[found.name_length] != '}'))
		return (struct reference){ .length = 0 };
	found.length = found.name_length + 1 + 2 * (size_t)braces;
	return found;
}

/* The value behind a reference, or NULL where it stays as it is. */
static const char *find_value(const struct reference *reference,
	const struct ri_env_edits *variables)
{
	for (size_t i = variables->count; reference->length > 0 && i-- > 0;) {
		const struct ri_env_edit *edit = &variables->items[i];

		if (strncmp(edit->name, reference->name, reference->name_length) == 0 &&
			edit->name[reference->name_length] == '\0')
			return edit->value;
	}
	return NULL;
}

/* Copy word to out, with what is replaced; out may be NULL. Returns the length. */
static size_t render(const char *word, enum ri_expand how, const struct ri_env_edits *variables,
	char *out)
{
	/* all that RI_EXPAND_AUTO replaces: what ends the word, alone or behind the last '=' */
	const char *equals = strrchr(word, '='), *lone = equals == NULL ? word : equals + 1;
	size_t length = 0, step, put;

	if (*lone != '$' || lone[read_reference(lone).length] != '\0')
		lone = NULL;
	for (; *word != '\0'; word += step, length += put) {
		struct reference reference = { .length = 0 };
		const char *value = NULL;

		if (*word == '$' && (how == RI_EXPAND_ALL || word == lone)) {
			reference = read_reference(word);
			value = find_value(&reference, variables);
		}
		step = value == NULL ? 1 : reference.length;
		put = value == NULL ? 1 : strlen(value);
		if (out != NULL)
			memcpy(out + length, value == NULL ? word : value, put);
	}
	return length;
}

/* The word with its values in place; the word itself where there are none. */
static char *expand(char *word, enum ri_expand how, const struct ri_env_edits *variables,
	struct ri_arena *arena)
{
	char *made;

	if (strchr(word, '$') == NULL)
		return word;
	made = ri_arena_alloc(arena, render(word, how, variables, NULL) + 1);
	if (made != NULL)
		render(word, how, variables, made);
	return made != NULL && strcmp(made, word) == 0 ? word : made;
}

char *const *ri_expand_words(char *const *argv, enum ri_expand how,
	const struct ri_env_edits *variables, struct ri_arena *arena)
{
	size_t count;
	bool concerned = false, changed = false;
	char **made;

	if (how == RI_EXPAND_OFF || argv == NULL || argv[0] == NULL)
		return argv;
	for (count = 1; argv[count] != NULL; count++)
		concerned = concerned || strchr(argv[count], '$') != NULL;
	if (!concerned)
		return argv;
	made = ri_arena_array(arena, count + 1, sizeof(*made));
	if (made == NULL)
		return NULL;
	made[0] = argv[0];
	for (size_t i = 1; i < count; i++) {
		made[i] = expand(argv[i], how, variables, arena);
		if (made[i] == NULL)
			return NULL;
		changed = changed || made[i] != argv[i];
	}
	return changed ? made : argv;
}
