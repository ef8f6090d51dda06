/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables that speak of other nodes, where no source makes a place among them out of
 * it: a launcher of ranks that is not told of them makes each node a job of its own.
 */
#include <inttypes.h>
#include <string.h>

#include "base/limits.h"
#include "base/loopback.h"
#include "base/number.h"
#include "base/text.h"
#include "command/command.h"
#include "model/derive.h"
#include "model/wishes.h"

static bool get(const struct ri_context *context, const char *variable, uint64_t *out)
{
	const struct ri_range range = { 0, RI_MAX_RANKS };
	const char *value = ri_env_get(context->env, variable);

	return value != NULL && ri_number_read(value, range, out, NULL) == RI_NUMBER_OK;
}

/* Does a variable say that rank 0 is on another machine, or may be? */
static bool names_master(const struct ri_context *context)
{
	const char *value = ri_env_get(context->env, "MASTER_ADDR");

	return value != NULL && value[0] != '\0' && !ri_is_service_link(value) &&
		!ri_loopback_is(value, strlen(value));
}

/* Whose names are not those of a launch alone: a graph has nodes, too. */
static bool is_of_launch(const struct ri_context *context, const char *variable)
{
	uint64_t place;

	return strcmp(variable, "NNODES") == 0 || get(context, "NODE_RANK", &place) ||
		names_master(context);
}

/*
 * WORLD_SIZE by itself may be anybody's; with a rank or a master it counts others. Beside a
 * rank it may count as many as are started here: a left-over of this machine.
 */
static bool counts_others(const struct ri_context *context, uint64_t here)
{
	uint64_t rank, world;
	bool ranked = get(context, "RANK", &rank);

	if (!get(context, "WORLD_SIZE", &world) || world < 2)
		return false;
	if (ranked && rank < world && (rank > 0 || (here > 0 && world != here)))
		return true;
	return here > 0 && world > here && (ranked || names_master(context));
}

static void add(struct ri_text *out, const char **first, const struct ri_context *context,
	const char *variable)
{
	ri_text_addf(out, "%s%s=%s", *first == NULL ? "" : ", ", variable,
		ri_env_get(context->env, variable));
	if (*first == NULL)
		*first = variable;
}

const char *ri_signs_of_nodes(const struct ri_context *context, uint64_t here,
	struct ri_text *out)
{
	static const struct { const char *name; uint64_t least; } signs[] = {
		{ "NODE_RANK", 1 }, { "NNODES", 2 }, { "NUM_NODES", 2 }, { "NODE_COUNT", 2 },
	};
	const char *first = NULL;
	uint64_t number;

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (get(context, signs[i].name, &number) && number >= signs[i].least &&
			(signs[i].least == 1 || is_of_launch(context, signs[i].name)))
			add(out, &first, context, signs[i].name);
	if (first != NULL || !counts_others(context, here))
		return first;
	add(out, &first, context, "WORLD_SIZE");
	if (get(context, "RANK", &number))
		add(out, &first, context, "RANK");
	return first;
}

/* How many ranks it starts by all that is known; 0: not known. */
static uint64_t count_here(const struct ri_context *context)
{
	const struct ri_command *command = context->command;
	const struct ri_wishes *wishes = context->wishes;
	uint64_t count;

	if (wishes != NULL && wishes->nproc_count != 0)
		return wishes->nproc_count;
	if (ri_command_ranks(command, 1, &count) || get(context, "PET_NPROC_PER_NODE", &count))
		return count;
	return ri_launcher_is_torchruns(command->launcher) &&
			!ri_command_has(command, "--nproc-per-node", NULL) &&
			ri_env_get(context->env, "PET_NPROC_PER_NODE") == NULL
		? 1 : 0;
}

/* Is it told of other nodes by words or variables of its own, or that there are none? */
static bool is_told(const struct ri_context *context)
{
	const struct ri_command *command = context->command;

	return ri_meeting_is_here(command, context->env) || ri_command_tells_nodes(command) ||
		ri_meeting_is_told(command, context->env) || command->launcher->apart ||
		(command->launcher->reads_pet && ri_env_get(context->env, "PET_NNODES") != NULL);
}

/* It may be another machine's, or a left-over; torchrun overwrites it. */
static void warn_of_world(const struct ri_context *context, uint64_t here)
{
	uint64_t world;

	if (here > 0 && get(context, "WORLD_SIZE", &world) && world > here)
		ri_findings_add(context->findings, RI_SEVERITY_WARNING, RI_CODE_ENV_DIFFERS,
			"WORLD_SIZE", "%" PRIu64 " is not used: %s starts %" PRIu64 " rank%s here "
			"and knows of no other node", world, context->command->launcher->name,
			here, here == 1 ? "" : "s");
}

int ri_topology_refuse_split(const struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	const struct ri_command *command = context->command;
	char bytes[256];
	struct ri_text text;
	const char *subject;
	uint64_t here;

	/* where a source knows that there are nodes a finding says what to do there */
	if (command == NULL || command->mode != RI_MODE_NODE || command->launcher == NULL ||
		ri_wishes_refuse_all(context->wishes) ||
		ri_wishes_subject(context->wishes) != NULL ||
		ri_topology_knows(topology, RI_FACT_ROLE) ||
		ri_topology_knows(topology, RI_FACT_NNODES) ||
		ri_topology_knows(topology, RI_FACT_HOSTS) || is_told(context))
		return 0;
	ri_text_init(&text, bytes, sizeof(bytes));
	here = count_here(context);
	subject = ri_signs_of_nodes(context, here, &text);
	if (subject == NULL) {
		warn_of_world(context, here);
		return 0;
	}
	ri_fail(err, RI_CODE_LAUNCH_SPLIT, subject,
		"%s would start a job of this node alone, but there are other nodes according to "
		"%s", command->launcher->name, text.bytes);
	return ri_fail_hint(err, "set NODE_RANK, NNODES and MASTER_ADDR on each node, or state "
		"--node-rank, --nnodes and --master-addr; for a job of this node alone, use %s%s",
		ri_launcher_is_torchruns(command->launcher) ? command->launcher->name : "",
		ri_launcher_is_torchruns(command->launcher) ? " --nnodes=1" : "--source=none");
}
