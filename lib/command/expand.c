/* SPDX-License-Identifier: Apache-2.0 */
#include "command/command.h"

#include <string.h>

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
