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

static void render(struct ri_writing *writing, const struct ri_topology *topology)
{
	const struct ri_framework *framework = writing->framework;
	const struct ri_command *command = writing->context->command;
	const struct ri_env *env = writing->context->env;
	const struct ri_share *share = ri_writing_is_of_nodes(writing, topology)
		? &framework->node : &framework->rank;
	unsigned needs = ri_writing_is_asked(writing) ? share->needs : 0;

	/* the launcher may learn it in another way */
	if (ri_writing_mode(writing) == RI_MODE_NODE && (ri_meeting_is_here(command, env) ||
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
	const char *option = ri_writing_option(writing);

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
	const char *option = ri_writing_option(writing);

	if (option != NULL)
		ri_findings_add(writing->context->findings, RI_SEVERITY_WARNING,
			RI_CODE_SOURCE_INCOMPLETE, option,
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
	for (size_t i = 0; ri_writing_mode(&writing) != RI_MODE_NONE && ri_frameworks[i] != NULL;
		i++) {
		writing.framework = ri_frameworks[i];
		if (topology->identity == NULL)
			write_nameless(&writing, topology);
		else
			write_framework(&writing, topology);
	}
	if (topology->identity != NULL &&
		(ri_writing_mode(&writing) == RI_MODE_NODE || context->fan_out != 0))
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
