/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"

#include <string.h>

static int out_of_memory(struct ri_error *err)
{
	ri_fail(err, RI_CODE_MEMORY, "environment", "no memory left to hold the environment");
	return ri_fail_hint(err, "raise the memory limit of this container");
}

bool ri_env_entry_is(const struct ri_env_entry *entry, const char *name, size_t length)
{
	return entry->name_length == length && memcmp(entry->text, name, length) == 0;
}

/*
 * The slot that holds this name, or the empty one where it belongs. The hash is FNV-1a
 * (draft-eastlake-fnv): an attacker gains little by names that collide.
 */
static uint32_t *find_slot(const struct ri_env *env, const char *name, size_t length)
{
	uint32_t hash = 2166136261u, at;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	at = hash & env->mask;
	while (env->buckets[at] != 0 &&
		!ri_env_entry_is(&env->entries[env->buckets[at] - 1], name, length))
		at = (at + 1) & env->mask;
	return &env->buckets[at];
}

static uint64_t initial_of(const char *name)
{
	return (uint64_t)1 << (*name & 63);
}

int ri_env_init(struct ri_env *env, char *const *strings, struct ri_arena *arena,
	struct ri_error *err)
{
	struct ri_env made = { .count = 0 };
	size_t size = 16;
	uint32_t *tails;

	while (strings[made.count] != NULL)
		made.count++;
	if (made.count > UINT32_MAX / 4)
		return out_of_memory(err);
	while (size < 2 * made.count)
		size *= 2;
	made.mask = (uint32_t)size - 1;
	made.entries = ri_arena_array(arena, made.count + 1, sizeof(*made.entries));
	made.buckets = ri_arena_array(arena, size, sizeof(*made.buckets));
	tails = ri_arena_array(arena, size, sizeof(*tails));
	if (made.entries == NULL || made.buckets == NULL || tails == NULL)
		return out_of_memory(err);
	for (uint32_t i = 0; i < made.count; i++) {
		size_t length = strcspn(strings[i], "=");
		uint32_t *slot, *tail;

		if (length > UINT32_MAX)
			return out_of_memory(err);
		made.entries[i].text = strings[i];
		made.entries[i].name_length = (uint32_t)length;
		made.initials |= initial_of(length == 0 ? "" : strings[i]);
		slot = find_slot(&made, strings[i], length);
		tail = &tails[slot - made.buckets];
		*(*slot == 0 ? slot : &made.entries[*tail - 1].next) = i + 1;
		*tail = i + 1;
	}
	*env = made;
	return 0;
}

const struct ri_env_entry *ri_env_find(const struct ri_env *env, const char *name)
{
	uint32_t at;

	/* a start asks for a hundred variables of schedulers that are not there */
	if ((env->initials & initial_of(name)) == 0)
		return NULL;
	at = *find_slot(env, name, strlen(name));
	return at == 0 ? NULL : &env->entries[at - 1];
}

const char *ri_env_entry_value(const struct ri_env_entry *entry)
{
	const char *end = entry->text + entry->name_length;

	return *end == '=' ? end + 1 : NULL;
}

const char *ri_env_get(const struct ri_env *env, const char *name)
{
	const struct ri_env_entry *entry = *name == '\0' ? NULL : ri_env_find(env, name);
	const char *value;

	while (entry != NULL) {
		value = ri_env_entry_value(entry);
		if (value != NULL)
			return value;
		entry = entry->next == 0 ? NULL : &env->entries[entry->next - 1];
	}
	return NULL;
}

int ri_env_edits_add(struct ri_env_edits *edits, struct ri_env_edit edit,
	struct ri_arena *arena, struct ri_error *err)
{
	struct ri_env_edit *items;
	size_t room;

	if (edits->count == edits->room) {
		room = edits->room == 0 ? 32 : 2 * edits->room;
		items = ri_arena_array(arena, room, sizeof(*items));
		if (items == NULL)
			return out_of_memory(err);
		if (edits->count > 0)
			memcpy(items, edits->items, edits->count * sizeof(*items));
		edits->items = items;
		edits->room = room;
	}
	edits->items[edits->count++] = edit;
	return 0;
}

const struct ri_env_edit *ri_env_edits_find(const struct ri_env_edits *edits, const char *name)
{
	for (size_t i = edits->count; i-- > 0;) {
		const char *other = edits->items[i].name;

		/* most differ in the first letter: no call for these */
		if (other[0] == name[0] && strcmp(other, name) == 0)
			return &edits->items[i];
	}
	return NULL;
}

/*
 * Mark what an edit does to the strings that are there: list[i] becomes the
 * new string at the first occurrence and NULL (dropped) at all others. What
 * has no '=' is not a variable and stays.
 */
static int edit_in_place(const struct ri_env *env, const struct ri_env_edit *edit, char **list,
	char *text)
{
	const struct ri_env_entry *entry = ri_env_find(env, edit->name);
	int placed = 0;

	while (entry != NULL) {
		if (ri_env_entry_value(entry) != NULL) {
			list[entry - env->entries] = placed ? NULL : text;
			placed = 1;
		}
		entry = entry->next == 0 ? NULL : &env->entries[entry->next - 1];
	}
	return placed;
}

char **ri_env_apply(const struct ri_env *env, const struct ri_env_edits *edits,
	struct ri_arena *arena, struct ri_error *err)
{
	size_t size = env->count + edits->count + 1, end = env->count, kept = 0;
	char **list = ri_arena_array(arena, size, sizeof(*list));

	if (list == NULL) {
		out_of_memory(err);
		return NULL;
	}
	for (size_t i = 0; i < env->count; i++)
		list[i] = (char *)(uintptr_t)env->entries[i].text;
	for (size_t i = 0; i < edits->count; i++) {
		const struct ri_env_edit *edit = &edits->items[i];
		size_t length = strlen(edit->name);
		char *text = NULL;

		if (edit->value != NULL) {
			/* a later one wins; of a removal it undoes the trace by itself */
			if (ri_env_edits_find(edits, edit->name) != edit)
				continue;
			text = ri_arena_alloc(arena, length + strlen(edit->value) + 2);
			if (text == NULL) {
				out_of_memory(err);
				return NULL;
			}
			memcpy(text, edit->name, length);
			text[length] = '=';
			memcpy(text + length + 1, edit->value, strlen(edit->value) + 1);
		}
		if (!edit_in_place(env, edit, list, text) && text != NULL)
			list[end++] = text;
	}
	for (size_t i = 0; i < end; i++)
		if (list[i] != NULL)
			list[kept++] = list[i];
	list[kept] = NULL;
	return list;
}
