/* SPDX-License-Identifier: Apache-2.0 */
#include "to/writing.h"

#include <string.h>

void ri_want(struct ri_writing *writing, const char *variable, const char *value)
{
	const struct ri_env_edit *before = ri_env_edits_find(&writing->wanted, variable);
	struct ri_env_edit edit = { .name = variable, .value = value };

	if (before == NULL)
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
	const char *value = ri_arena_number(writing->context->arena, number);

	if (value == NULL)
		ri_fail(writing->err, RI_CODE_MEMORY, variable, "no memory left for its value");
	else
		ri_want(writing, variable, value);
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
