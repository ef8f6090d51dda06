/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The snapshot and its edits against a plain reading of env.h. Input: one
 * string to a line ('\r' becomes a newline inside of it); "%set NAME=VALUE"
 * and "%unset NAME" are edits.
 */
#include "base/env.h"
#include "fuzz.h"

enum { STRINGS = 600, EDITS = 100 };

static struct ri_arena arena;
static char *strings[STRINGS + 1];
static struct ri_env_edit edits[EDITS];
static size_t string_count, edit_count;

static void take_edit(char *name, char *value)
{
	if (*name == '\0' || edit_count == EDITS)
		return;
	edits[edit_count++] = (struct ri_env_edit){ .name = name, .value = value };
}

static void take_line(char *line)
{
	char *equals;

	for (char *p = line; *p != '\0'; p++)
		if (*p == '\r')
			*p = '\n';
	if (strncmp(line, "%set ", 5) == 0) {
		equals = strchr(line, '=');
		if (equals != NULL) {
			*equals = '\0';
			take_edit(line + 5, equals + 1);
		}
	} else if (strncmp(line, "%unset ", 7) == 0) {
		if (strchr(line, '=') == NULL)
			take_edit(line + 7, NULL);
	} else if (string_count < STRINGS) {
		strings[string_count++] = line;
	}
}

/* Is string an assignment to name? */
static const char *value_in(const char *string, const char *name)
{
	size_t length = strlen(name);

	if (length == 0 || strncmp(string, name, length) != 0 || string[length] != '=')
		return NULL;
	return string + length + 1;
}

static const char *plain_get(const char *name)
{
	for (size_t i = 0; i < string_count; i++)
		if (value_in(strings[i], name) != NULL)
			return value_in(strings[i], name);
	return NULL;
}

static const struct ri_env_edit *edit_of(const char *string)
{
	for (size_t i = edit_count; i-- > 0;)
		if (value_in(string, edits[i].name) != NULL)
			return &edits[i];
	return NULL;
}

static bool in_force(size_t at)
{
	for (size_t i = at + 1; i < edit_count; i++)
		if (strcmp(edits[i].name, edits[at].name) == 0)
			return false;
	return true;
}

static void check_assignment(const char *string, const struct ri_env_edit *edit)
{
	const char *value = string == NULL ? NULL : value_in(string, edit->name);

	CHECK(value != NULL && strcmp(value, edit->value) == 0);
}

static void check_applied(char *const *made)
{
	size_t at = 0;

	for (size_t i = 0; i < string_count; i++) {
		const struct ri_env_edit *edit = edit_of(strings[i]);

		if (edit == NULL)
			CHECK(made[at++] == strings[i]);
		else if (edit->value != NULL &&
			plain_get(edit->name) == value_in(strings[i], edit->name))
			check_assignment(made[at++], edit);
	}
	for (size_t i = 0; i < edit_count; i++)
		if (in_force(i) && edits[i].value != NULL && plain_get(edits[i].name) == NULL)
			check_assignment(made[at++], &edits[i]);
	CHECK(made[at] == NULL);
}

static void check_snapshot(const struct ri_env *env)
{
	size_t reached = 0;

	CHECK(env->count == string_count);
	for (size_t i = 0; i < env->count; i++) {
		const struct ri_env_entry *entry = &env->entries[i];
		char *name = fuzz_string(entry->text, entry->name_length);

		CHECK(entry->text == strings[i] && strchr(name, '=') == NULL);
		CHECK(ri_env_entry_is(entry, entry->text, entry->name_length));
		CHECK(ri_env_get(env, name) == plain_get(name));
		CHECK(entry->next == 0 || entry->next > i + 1);
		for (const struct ri_env_entry *one = ri_env_find(env, name); one != NULL;
			one = one->next == 0 ? NULL : &env->entries[one->next - 1])
			reached += one == entry;
		free(name);
	}
	CHECK(reached == env->count);
}

static void check_edits(const struct ri_env *env)
{
	struct ri_env_edits list = { .count = 0 };
	struct ri_error err = RI_ERROR_INIT;
	char **made;

	for (size_t i = 0; i < edit_count; i++) {
		CHECK(ri_env_edits_add(&list, edits[i], &arena, &err) == 0);
		CHECK(ri_env_edits_find(&list, edits[i].name)->value == edits[i].value);
		CHECK(ri_env_get(env, edits[i].name) == plain_get(edits[i].name));
	}
	made = ri_env_apply(env, &list, &arena, &err);
	CHECK(made != NULL && err.code == RI_CODE_NONE);
	check_applied(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *rest = text;
	struct ri_error err = RI_ERROR_INIT;
	struct ri_env env;

	string_count = edit_count = 0;
	while (rest != NULL)
		take_line(strsep(&rest, "\n"));
	strings[string_count] = NULL;
	CHECK(ri_env_init(&env, strings, &arena, &err) == 0 && err.code == RI_CODE_NONE);
	check_snapshot(&env);
	check_edits(&env);
	ri_arena_release(&arena);
	free(text);
	return 0;
}
