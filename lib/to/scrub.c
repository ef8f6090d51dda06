/* SPDX-License-Identifier: Apache-2.0 */
#include "to/scrub.h"

enum { KEEP, REMOVE, REMOVE_HERE };

static const struct {
	const char *pattern;
	int verdict;
} patterns[] = {
#define RI_SCRUB(pattern_, verdict_, cite) { .pattern = pattern_, .verdict = verdict_ },
#include "to/scrub.def"
#undef RI_SCRUB
};

static bool fits(const char *pattern, const char *name, size_t length)
{
	size_t same = 0;

	/* asked for each variable and each rank: most differ in the first letters */
	while (same < length && pattern[same] != '*' && pattern[same] == name[same])
		same++;
	return pattern[same] == '*' || (same == length && pattern[same] == '\0');
}

bool ri_scrub_removes(const char *name, size_t length, bool here)
{
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (fits(patterns[i].pattern, name, length))
			return patterns[i].verdict == REMOVE ||
				(here && patterns[i].verdict == REMOVE_HERE);
	return false;
}

void ri_scrub(struct ri_writing *writing)
{
	const struct ri_env *env = writing->context->env;
	bool here = writing->context->fan_out != 0;

	for (size_t i = 0; i < env->count; i++) {
		const struct ri_env_entry *entry = &env->entries[i];
		const char *name;

		if (!ri_scrub_removes(entry->text, entry->name_length, here))
			continue;
		name = ri_arena_copy(writing->context->arena, entry->text, entry->name_length);
		if (name == NULL)
			ri_fail(writing->err, RI_CODE_MEMORY, "environment",
				"no memory left to remove a variable");
		else
			ri_want_gone(writing, name);
	}
}
