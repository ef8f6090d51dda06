/* SPDX-License-Identifier: Apache-2.0 */
#include "check/ids.h"

#include <string.h>

static const char *const ids[] = {
#define RI_CHECK(family, name) #family "." #name,
#include "check/checks.def"
	NULL,
};

enum { COUNT = sizeof(ids) / sizeof(ids[0]) - 1 };

_Static_assert((int)COUNT <= (int)RI_MAX_CHECKS, "a bit for each");

size_t ri_check_count(void)
{
	return COUNT;
}

const char *const *ri_check_ids(void)
{
	return ids;
}

static const struct {
	const char *id, *use;
} gone[] = {
#define RI_CHECK_GONE(id, use) { id, use },
#include "check/checks.def"
};

_Static_assert(sizeof(gone) / sizeof(gone[0]) <= RI_MAX_CHECKS, "an asker for each");

const char *ri_check_gone_at(size_t index, const char **use)
{
	if (index >= sizeof(gone) / sizeof(gone[0]))
		return NULL;
	*use = gone[index].use;
	return gone[index].id;
}

static bool is_named(const char *id, const char *word, size_t length)
{
	/* "shm." of "shm.*" */
	if (length > 2 && word[length - 1] == '*' && word[length - 2] == '.')
		return strncmp(id, word, length - 1) == 0;
	return strlen(id) == length && memcmp(id, word, length) == 0;
}

size_t ri_check_match(const char *word, size_t length, struct ri_check_set *set)
{
	size_t count = 0;

	for (size_t i = 0; i < COUNT; i++) {
		if (!is_named(ids[i], word, length))
			continue;
		ri_check_set_add(set, i);
		count++;
	}
	return count;
}

size_t ri_check_match_gone(const char *word, const char *askers[RI_MAX_CHECKS], const char *asker)
{
	size_t count = 0;

	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		if (!is_named(gone[i].id, word, strlen(word)))
			continue;
		askers[i] = asker;
		count++;
	}
	return count;
}

void ri_check_add_parts(struct ri_check_set *set)
{
	/* TABLE: what a demand stands for beside the check of its name */
	static const char *const parts[][2] = {
		{ "gpu.health", "gpu.remap" },
	};

	for (size_t part = 0; part < sizeof(parts) / sizeof(parts[0]); part++)
		for (size_t i = 0; i < COUNT; i++)
			if (ri_check_set_has(set, i) && strcmp(ids[i], parts[part][0]) == 0)
				ri_check_match(parts[part][1], strlen(parts[part][1]), set);
}
