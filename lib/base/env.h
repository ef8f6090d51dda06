/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment as it was found, and the list of edits that makes the child's out of it. What is
 * not edited reaches the child byte for byte, since a snapshot borrows the strings: names that no
 * shell accepts, duplicates, newlines and strings without '=', too.
 */
#ifndef RI_BASE_ENV_H
#define RI_BASE_ENV_H

#include "base/arena.h"
#include "base/error.h"

struct ri_env_entry {
	const char *text;	/* "NAME=value", borrowed */
	uint32_t name_length;	/* without '='; the whole string if there is none */
	uint32_t next;		/* 1 + index of the next of this name, or 0 */
};

struct ri_env {
	struct ri_env_entry *entries;	/* in the order they were found */
	size_t count;
	uint32_t *buckets;		/* name -> 1 + index of its first entry */
	uint32_t mask;
	uint64_t initials;		/* a bit for the first byte of each name */
};

/*
 * Take a snapshot of a NULL-terminated list as execve(2) passes it. The strings must last, and not
 * change; the index lives in the arena. Fails with RI_CODE_MEMORY alone.
 */
int ri_env_init(struct ri_env *env, char *const *strings, struct ri_arena *arena,
	struct ri_error *err);

/* As getenv(3) finds it, or NULL. A string without '=' is not a variable. */
const char *ri_env_get(const struct ri_env *env, const char *name);

/* The first entry of that name, or NULL. */
const struct ri_env_entry *ri_env_find(const struct ri_env *env, const char *name);

/* The value of an entry, or NULL where its string has no '='. */
const char *ri_env_entry_value(const struct ri_env_entry *entry);

/* Does the entry carry this name, which need not end in '\0'? */
bool ri_env_entry_is(const struct ri_env_entry *entry, const char *name, size_t length);

/* One edit: set the variable, or remove it where value is NULL. */
struct ri_env_edit {
	const char *name;	/* borrowed; not empty, without '=' */
	const char *value;	/* borrowed, or NULL */
};

/* Edits in the order they were made. A later one of the same name wins. */
struct ri_env_edits {
	struct ri_env_edit *items;
	size_t count;
	size_t room;
};

int ri_env_edits_add(struct ri_env_edits *edits, struct ri_env_edit edit,
	struct ri_arena *arena, struct ri_error *err);

/* The edit in force for that name, or NULL. */
const struct ri_env_edit *ri_env_edits_find(const struct ri_env_edits *edits, const char *name);

/*
 * The edited environment as a NULL-terminated list for execve(2). A variable that is set takes the
 * place of its first occurrence, and others of its name are dropped; new ones follow at the end in
 * the order of the edits. NULL when out of memory.
 */
char **ri_env_apply(const struct ri_env *env, const struct ri_env_edits *edits,
	struct ri_arena *arena, struct ri_error *err);

#endif
