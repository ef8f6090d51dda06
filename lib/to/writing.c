/* SPDX-License-Identifier: Apache-2.0 */
#include "to/writing.h"

#include <limits.h>
#include <string.h>

const char *const ri_usual_names[] = {
	"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "NNODES",
	"MASTER_ADDR", "MASTER_PORT",
};

void ri_want(struct ri_writing *writing, const char *variable, const char *value)
{
	const struct ri_env_edit *before = ri_env_edits_find(&writing->wanted, variable);
	struct ri_env_edit edit = { .name = variable, .value = value };

	if (value == NULL)
		ri_fail(writing->err, RI_CODE_MEMORY, variable, "no memory left for its value");
	else if (before == NULL)
		ri_env_edits_add(&writing->wanted, edit, writing->context->arena, writing->err);
	else if (before->value == NULL)
		ri_fail(writing->err, RI_CODE_ENV_CONFLICT, variable,
			"one framework needs %s to be \"%s\", another needs it to be absent",
			variable, value);
	else if (strcmp(before->value, value) != 0)
		ri_fail(writing->err, RI_CODE_ENV_CONFLICT, variable,
			"one framework needs %s to be \"%s\", another needs \"%s\"", variable,
			before->value, value);
}

void ri_want_gone(struct ri_writing *writing, const char *variable)
{
	const struct ri_env_edit *before = ri_env_edits_find(&writing->wanted, variable);
	struct ri_env_edit edit = { .name = variable };

	if (before == NULL)
		ri_env_edits_add(&writing->wanted, edit, writing->context->arena, writing->err);
	else if (before->value != NULL)
		ri_fail(writing->err, RI_CODE_ENV_CONFLICT, variable,
			"one framework needs %s to be \"%s\", another needs it to be absent",
			variable, before->value);
}

enum ri_mode ri_writing_mode(const struct ri_writing *writing)
{
	const struct ri_command *command = writing->context->command;

	return command == NULL ? RI_MODE_PROCESS : command->mode;
}

bool ri_writing_is_of_nodes(const struct ri_writing *writing, const struct ri_topology *topology)
{
	return ri_writing_mode(writing) == RI_MODE_NODE || topology->scope == RI_SCOPE_NODE;
}

void ri_want_number(struct ri_writing *writing, const char *variable, uint64_t number)
{
	ri_want(writing, variable, ri_arena_number(writing->context->arena, number));
}

void ri_want_fact(struct ri_writing *writing, const char *variable,
	const struct ri_topology *topology, enum ri_fact_id id)
{
	const struct ri_fact *fact = &topology->facts[id];

	if (fact->state != RI_STATE_KNOWN)
		return;
	if (fact->text != NULL)
		ri_want(writing, variable, fact->text);
	else
		ri_want_number(writing, variable, fact->number);
}

bool ri_writing_has_source(const struct ri_topology *topology, const char *const *names)
{
	for (; *names != NULL; names++) {
		if (strcmp(topology->identity, *names) == 0)
			return true;
		for (size_t i = 0; i < topology->source_count; i++)
			if (strcmp(topology->sources[i], *names) == 0)
				return true;
	}
	return false;
}

const char *ri_writing_option(const struct ri_writing *writing)
{
	const struct ri_wishes *wishes = writing->context->wishes;
	const struct ri_framework *framework = writing->framework;

	return wishes == NULL || framework->asked == NULL ? NULL : framework->asked(wishes);
}

bool ri_writing_is_asked(const struct ri_writing *writing)
{
	return ri_wishes_name_framework(writing->context->wishes, writing->framework->name) ||
		ri_writing_option(writing) != NULL;
}

static const struct {
	const char *pattern;	/* a name, or the beginning of one and '*' */
	enum { RI_SCRUB_KEEP, RI_SCRUB_REMOVE, RI_SCRUB_REMOVE_HERE } verdict;
} rows[] = {
#define RI_SCRUB(pattern_, verdict_, cite_) { pattern_, RI_SCRUB_##verdict_ },
#include "to/scrub.def"
#undef RI_SCRUB
};

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

/* Asked for each variable and each rank: most differ in the first letters. */
bool ri_scrub_removes(const char *name, size_t length, bool here)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const char *pattern = rows[i].pattern;
		size_t same = 0;

		while (same < length && pattern[same] != '*' && pattern[same] == name[same])
			same++;
		if (pattern[same] == '*' || (same == length && pattern[same] == '\0'))
			return rows[i].verdict == RI_SCRUB_REMOVE ||
				(here && rows[i].verdict == RI_SCRUB_REMOVE_HERE);
	}
	return false;
}

/* Is the variable among the first edits, those of the frameworks? */
static bool is_wanted(const struct ri_env_edits *edits, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(edits->items[i].name, name) == 0)
			return true;
	return false;
}

void ri_scrub(struct ri_writing *writing)
{
	const struct ri_env *env = writing->context->env;
	bool here = writing->context->fan_out != 0, begins[UCHAR_MAX + 1] = { false };
	size_t wanted = writing->wanted.count;

	/* most variables begin like no pattern, and this is done for each rank */
	for (size_t i = 0; i < ROW_COUNT; i++)
		begins[(unsigned char)rows[i].pattern[0]] = true;
	for (size_t i = 0; i < env->count; i++) {
		const struct ri_env_entry *entry = &env->entries[i];
		struct ri_env_edit edit = { .value = NULL };

		if (!begins[(unsigned char)entry->text[0]] ||
			!ri_scrub_removes(entry->text, entry->name_length, here))
			continue;
		edit.name = ri_arena_copy(writing->context->arena, entry->text, entry->name_length);
		if (edit.name == NULL)
			ri_fail(writing->err, RI_CODE_MEMORY, "environment",
				"no memory left to remove a variable");
		else if (is_wanted(&writing->wanted, wanted, edit.name))
			ri_want_gone(writing, edit.name);
		else if (ri_env_find(env, edit.name) == entry)
			/* the names are all different: no look-up is needed */
			ri_env_edits_add(&writing->wanted, edit, writing->context->arena,
				writing->err);
	}
}
