/* SPDX-License-Identifier: Apache-2.0 */
#include "to/to.h"

#include <string.h>

#define RI_FRAMEWORK(name) extern const struct ri_framework ri_framework_##name;
#include "to/frameworks.def"
#undef RI_FRAMEWORK

const struct ri_framework *const ri_frameworks[] = {
#define RI_FRAMEWORK(name) &ri_framework_##name,
#include "to/frameworks.def"
#undef RI_FRAMEWORK
	NULL,
};

const char *const ri_usual_names[] = {
	"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "NNODES",
	"MASTER_ADDR", "MASTER_PORT",
};

static void want(struct ri_writing *writing, const char *variable, const char *value)
{
	const struct ri_env_edit *before = ri_env_edits_find(&writing->wanted, variable);
	struct ri_env_edit edit = { .name = variable, .value = value };

	if (before == NULL)
		ri_env_edits_add(&writing->wanted, edit, writing->context->arena, writing->err);
	else if ((before->value == NULL) != (value == NULL))
		ri_fail(writing->err, RI_CODE_ENV_CONFLICT, variable,
			"one framework needs %s to be \"%s\", another needs it to be absent",
			variable, value == NULL ? before->value : value);
	else if (value != NULL && strcmp(before->value, value) != 0)
		ri_fail(writing->err, RI_CODE_ENV_CONFLICT, variable,
			"one framework needs %s to be \"%s\", another needs \"%s\"", variable,
			before->value, value);
}

void ri_want(struct ri_writing *writing, const char *variable, const char *value)
{
	if (value == NULL)
		ri_fail(writing->err, RI_CODE_MEMORY, variable, "no memory left for its value");
	else
		want(writing, variable, value);
}

void ri_want_gone(struct ri_writing *writing, const char *variable)
{
	want(writing, variable, NULL);
}

bool ri_writing_is_of_nodes(const struct ri_writing *writing, const struct ri_topology *topology)
{
	return writing->context->command->mode == RI_MODE_NODE || topology->scope == RI_SCOPE_NODE;
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

/* The option that asks for this framework, or NULL. */
static const char *find_option(const struct ri_writing *writing)
{
	const struct ri_framework *framework = writing->framework;

	return framework->asked == NULL ? NULL : framework->asked(writing->context->wishes);
}

bool ri_writing_is_asked(const struct ri_writing *writing)
{
	return ri_wishes_name_framework(writing->context->wishes, writing->framework->name) ||
		find_option(writing) != NULL;
}

static const struct scrub {
	enum { RI_SCRUB_KEEP, RI_SCRUB_REMOVE, RI_SCRUB_REMOVE_HERE } verdict;
	const char *const *patterns;	/* names, or beginnings of some and '*' */
} rows[] = {
#define RI_SCRUB(verdict_, cite_, ...) \
	{ RI_SCRUB_##verdict_, (const char *const[]){ __VA_ARGS__, NULL } },
#include "to/scrub.def"
#undef RI_SCRUB
};

bool ri_scrub_removes(const char *name, size_t length, bool here)
{
	for (size_t i = 0; i < RI_ARRAY_SIZE(rows); i++)
		for (const char *const *pattern = rows[i].patterns; *pattern != NULL; pattern++) {
			size_t same = 0;

			while (same < length && (*pattern)[same] != '*' &&
				(*pattern)[same] == name[same])
				same++;
			if ((*pattern)[same] == '*' ||
				(same == length && (*pattern)[same] == '\0'))
				return rows[i].verdict == RI_SCRUB_REMOVE ||
					(here && rows[i].verdict == RI_SCRUB_REMOVE_HERE);
		}
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

static void render(struct ri_writing *writing, const struct ri_topology *topology)
{
	const struct ri_framework *framework = writing->framework;
	const struct ri_command *command = writing->context->command;
	const struct ri_env *env = writing->context->env;
	const struct ri_share *share = ri_writing_is_of_nodes(writing, topology)
		? &framework->node : &framework->rank;
	unsigned needs = ri_writing_is_asked(writing) ? share->needs : 0;

	/* the launcher may learn it in another way */
	if (command->mode == RI_MODE_NODE && (ri_meeting_is_here(command, env) ||
			ri_meeting_is_told(command, env) ||
			ri_env_get(env, "PET_MASTER_ADDR") != NULL))
		needs &= ~RI_RENDEZVOUS;
	for (enum ri_fact_id id = 0; id <= RI_FACT_MASTER_PORT; id++) {
		/* a port without a host would be a default that was not asked for */
		bool told = ri_topology_knows(topology, id) && (id != RI_FACT_MASTER_PORT ||
			ri_topology_knows(topology, RI_FACT_MASTER_ADDR));

		if ((share->gets & 1u << id) != 0 && told)
			ri_want_fact(writing, ri_usual_names[id], topology, id);
		if ((needs & 1u << id) == 0 || told)
			continue;
		ri_fail(writing->err, RI_CODE_FRAMEWORK_INCOMPLETE, ri_usual_names[id],
			"required by %s, but no source provides it", framework->name);
		ri_fail_hint(writing->err, "state it by hand: see rankinit --help");
	}
	if (framework->render != NULL)
		framework->render(writing, topology);
}

static void write_framework(struct ri_writing *writing, const struct ri_topology *topology)
{
	const struct ri_framework *framework = writing->framework;
	const char *option = find_option(writing);

	if (!ri_wishes_allow_framework(writing->context->wishes, framework->name)) {
		if (option != NULL)
			ri_fail(writing->err, RI_CODE_OPTION_CONFLICT, option,
				"is an option for %s, which is not in "
				"--frameworks", framework->name);
	} else if (framework->sources == NULL || ri_writing_is_asked(writing) ||
		ri_writing_has_source(topology, framework->sources)) {
		render(writing, topology);
	} else if (framework->judge != NULL) {
		framework->judge(writing, topology);
	}
}

/* No source says who we are. Options may be those of the image, for jobs; a shell must start. */
static void write_nameless(struct ri_writing *writing, const struct ri_topology *topology)
{
	const struct ri_framework *framework = writing->framework;
	const char *option = find_option(writing);

	if (option != NULL)
		ri_warn(writing->context->findings, RI_CODE_SOURCE_INCOMPLETE, option,
			"the rank of this process is unknown, so nothing is written for %s",
			framework->name);
	if (framework->nameless &&
		ri_wishes_allow_framework(writing->context->wishes, framework->name))
		framework->render(writing, topology);
}

int ri_variables_render(struct ri_env_edits *out, const struct ri_topology *topology,
	const struct ri_context *context, struct ri_error *err)
{
	struct ri_writing writing = { .context = context, .err = err };

	/*
	 * The launcher of a rank says which one it is, as mpirun does, whatever its program
	 * is made with: it may not have another way to tell itself from its neighbours.
	 */
	if (topology->identity != NULL && context->fan_out != 0)
		for (enum ri_fact_id id = 0; id <= RI_FACT_LOCAL_WORLD_SIZE; id++)
			ri_want_fact(&writing, ri_usual_names[id], topology, id);
	for (size_t i = 0; context->command->mode != RI_MODE_NONE && ri_frameworks[i] != NULL;
		i++) {
		writing.framework = ri_frameworks[i];
		if (topology->identity == NULL)
			write_nameless(&writing, topology);
		else
			write_framework(&writing, topology);
	}
	if (topology->identity != NULL &&
		(context->command->mode == RI_MODE_NODE || context->fan_out != 0))
		ri_scrub(&writing);
	if (err->code != RI_CODE_NONE)
		return -1;
	*out = writing.wanted;
	return 0;
}

int ri_variables_reduce(struct ri_env_edits *out, const struct ri_env_edits *variables,
	const struct ri_context *context, struct ri_error *err)
{
	struct ri_env_edits made = { .count = 0 };

	for (size_t i = 0; i < variables->count; i++) {
		const struct ri_env_edit *edit = &variables->items[i];
		const struct ri_env_entry *entry = ri_env_find(context->env, edit->name);
		const char *value = ri_env_get(context->env, edit->name);

		/* absent as it should be, or there already, once, and with that value */
		if (edit->value == NULL ? value == NULL : entry != NULL && entry->next == 0 &&
			value != NULL && strcmp(value, edit->value) == 0)
			continue;
		if (ri_env_edits_add(&made, *edit, context->arena, err) < 0)
			return -1;
	}
	*out = made;
	return 0;
}
