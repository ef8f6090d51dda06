/* SPDX-License-Identifier: Apache-2.0 */
#include "model/topology.h"

#include <inttypes.h>
#include <string.h>

#include "model/context.h"

static const struct {
	const char *name;
	enum ri_fact_group group;
	struct ri_range range;
} facts[] = {
#define RI_FACT(symbol, name_, group_, min_, max_) \
	[RI_FACT_##symbol] = { .name = name_, .group = RI_GROUP_##group_, \
		.range = { .min = min_, .max = max_ } },
#include "model/facts.def"
#undef RI_FACT
};

const char *ri_fact_name(enum ri_fact_id id)
{
	return facts[id].name;
}

enum ri_fact_group ri_fact_group(enum ri_fact_id id)
{
	return facts[id].group;
}

struct ri_range ri_fact_range(enum ri_fact_id id)
{
	return facts[id].range;
}

bool ri_topology_get(const struct ri_topology *topology, enum ri_fact_id id, uint64_t *out)
{
	if (topology->facts[id].state != RI_STATE_KNOWN)
		return false;
	*out = topology->facts[id].number;
	return true;
}

bool ri_topology_knows(const struct ri_topology *topology, enum ri_fact_id id)
{
	return topology->facts[id].state == RI_STATE_KNOWN;
}

void ri_topology_derive(struct ri_topology *topology, enum ri_fact_id id, uint64_t number,
	unsigned from)
{
	struct ri_fact *fact = &topology->facts[id];

	fact->state = RI_STATE_KNOWN;
	fact->strength = RI_STRENGTH_DEFAULT;
	fact->number = number;
	fact->origin = (struct ri_origin){ .source = "derived", .raw = "", .from = from };
}

const char *ri_topology_once(const struct ri_topology *topology)
{
	return topology->once != NULL ? topology->once
		: "srun -n NODES --ntasks-per-node=1, or mpirun --map-by ppr:1:node";
}

bool ri_topology_is_wide(const struct ri_topology *topology)
{
	uint64_t count, here;

	if (ri_topology_get(topology, RI_FACT_NNODES, &count))
		return count > 1;
	if (ri_topology_get(topology, RI_FACT_NODE_RANK, &here) && here > 0)
		return true;
	return ri_topology_get(topology, RI_FACT_WORLD_SIZE, &count) &&
		ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &here) && here < count;
}

bool ri_topology_is_launcher(const struct ri_topology *topology)
{
	const struct ri_fact *fact = &topology->facts[RI_FACT_ROLE];

	return fact->state == RI_STATE_KNOWN && strcmp(fact->text, RI_ROLE_LAUNCHER) == 0;
}

bool ri_role_is_beside(const char *role)
{
	return strcmp(role, RI_ROLE_PS) == 0 || strcmp(role, RI_ROLE_EVALUATOR) == 0;
}

bool ri_topology_is_beside(const struct ri_topology *topology)
{
	const struct ri_fact *fact = &topology->facts[RI_FACT_ROLE];

	return fact->state == RI_STATE_KNOWN && ri_role_is_beside(fact->text);
}

const struct ri_fact *ri_fact_find_broken(const struct ri_fact *fact)
{
	const struct ri_fact *lost = fact->next;

	while (lost != NULL && lost->state != RI_STATE_BROKEN)
		lost = lost->next;
	return lost;
}

const char *ri_topology_subject(const struct ri_topology *topology, enum ri_fact_id id)
{
	const struct ri_origin *origin = &topology->facts[id].origin;

	if (origin->variable != NULL)
		return origin->variable;
	for (int from = 0; from < RI_FACT_COUNT; from++)
		if (origin->from == 1u << from && topology->facts[from].origin.variable != NULL)
			return topology->facts[from].origin.variable;
	return ri_fact_name(id);
}

const char *ri_context_told(const struct ri_context *context, const char *option,
	const char *variable)
{
	const struct ri_command *command = context->command;
	const char *value = NULL;

	if (command->launcher == NULL)
		return NULL;
	if (ri_command_has(command, option, &value))
		return value == NULL ? "" : value;
	return variable != NULL && command->launcher->reads_pet
		? ri_env_get(context->env, variable) : NULL;
}

const char *ri_wishes_subject(const struct ri_wishes *wishes)
{
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		if (wishes->facts[id].value != NULL)
			return wishes->facts[id].subject;
	return wishes->hostfile.value == NULL ? NULL : wishes->hostfile.subject;
}

static bool is_said_by(const struct ri_given *stated, const char *subject)
{
	return stated->value != NULL && strcmp(stated->subject, subject) == 0;
}

const char *ri_wishes_get(const struct ri_wishes *wishes, const char *subject)
{
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		if (is_said_by(&wishes->facts[id], subject))
			return wishes->facts[id].value;
	return is_said_by(&wishes->hostfile, subject) ? wishes->hostfile.value : NULL;
}

bool ri_wishes_allow_source(const struct ri_wishes *wishes, const char *name)
{
	return wishes->source.value == NULL || strcmp(wishes->source.value, name) == 0;
}

bool ri_wishes_refuse_all(const struct ri_wishes *wishes)
{
	return wishes->source.value != NULL && strcmp(wishes->source.value, "none") == 0;
}

bool ri_wishes_allow_framework(const struct ri_wishes *wishes, const char *name)
{
	return wishes->frameworks == NULL || ri_wishes_name_framework(wishes, name);
}

bool ri_wishes_name_framework(const struct ri_wishes *wishes, const char *name)
{
	const char *list = wishes->frameworks;

	return list != NULL && ri_list_has(list, strlen(list), name);
}
