/* SPDX-License-Identifier: Apache-2.0 */
/* Variables that may well say which node this is, in names that no source reads. */
#include "from/from.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 128 };

/*
 * What comes behind a platform's own prefix: how many nodes there are, and which of them this is,
 * as those write it that sources.def has, and Backend.AI (docs/concepts/networking.rst, "Detection
 * of clustered setups").
 */
static const struct {
	const char *suffix;
	bool ids;	/* X_ID counts up to it, as ARNOLD_ID to ARNOLD_WORKER_NUM */
	bool bare;	/* it may have no prefix, as HOST_NUM beside INDEX on Tencent's TI */
} counts[] = {
	{ "_WORLD_SIZE", false, false }, { "_CLUSTER_SIZE", false, false },
	{ "_GROUP_SIZE", false, false }, { "_NUM_NODES", false, false },
	{ "_NNODES", false, false }, { "_NODE_COUNT", false, false },
	{ "_WORKER_NUM", true, false }, { "_HOST_NUM", false, true },
	{ "_NODE_NUM", false, true },
};
static const char *const places[] = {
	"_NODE_RANK", "_RANK", "_NODE_INDEX", "_INDEX", "_IDX", "_NODE_ID", "_NODEID", "_ID",
};

struct pair {
	char place[NAME_SIZE], count[NAME_SIZE];
	uint64_t node, nodes;
};

static bool is_read(const char *name)
{
	for (const struct ri_source *const *at = ri_sources; *at != NULL; at++)
		for (const struct ri_source_row *row = (*at)->reads; row->name != NULL; row++)
			if (strcmp(row->name, name) == 0)
				return true;
	return false;
}

static bool get(const struct ri_env *env, const char *name, uint64_t *out)
{
	const struct ri_range range = { 0, RI_MAX_RANKS };
	const char *value = ri_env_get(env, name);

	return value != NULL && ri_number_read(value, range, out, NULL) == RI_NUMBER_OK &&
		!is_read(name);
}

/* The place beside this count: X_CLUSTER_SIZE has X_IDX or X_CLUSTER_IDX. */
static bool find_place(const struct ri_env *env, struct pair *pair, size_t prefix, bool ids)
{
	const size_t lengths[] = { prefix, (size_t)(strrchr(pair->count, '_') - pair->count) };
	size_t all = sizeof(places) / sizeof(places[0]) - !ids;

	for (size_t i = 0; i < all; i++)
		for (size_t n = 0; n < 2; n++) {
			snprintf(pair->place, NAME_SIZE, "%.*s%s", (int)lengths[n], pair->count,
				places[i] + (lengths[n] == 0));
			if (get(env, pair->place, &pair->node) && pair->node < pair->nodes)
				return true;
		}
	return false;
}

/* The first pair of the environment; those of a node's own processes are none. */
static bool find_pair(const struct ri_env *env, struct pair *out)
{
	for (size_t n = 0; n < env->count; n++) {
		const struct ri_env_entry *entry = &env->entries[n];
		size_t length = entry->name_length;

		if (length + sizeof("_NODE_INDEX") > NAME_SIZE)
			continue;
		snprintf(out->count, NAME_SIZE, "%.*s", (int)length, entry->text);
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
			const char *suffix = counts[i].suffix;
			size_t behind = strlen(suffix);
			bool bare = counts[i].bare && strcmp(out->count, suffix + 1) == 0;

			if ((bare || (length > behind && strstr(out->count, "LOCAL") == NULL &&
				strcmp(out->count + length - behind, suffix) == 0)) &&
				get(env, out->count, &out->nodes) && out->nodes > 1 &&
				find_place(env, out, bare ? 0 : length - behind, counts[i].ids))
				return true;
		}
	}
	return false;
}

/*
 * Does something start all ranks of a node here, that is told of no other node, by no source,
 * option, word or variable?
 */
static bool is_alone(const struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_command *command = context->command;
	const struct ri_fact *nodes = &topology->facts[RI_FACT_NNODES];
	const struct ri_launcher *launcher = command == NULL ? NULL : command->launcher;

	if (ri_topology_knows(topology, RI_FACT_ROLE) || ri_topology_knows(topology, RI_FACT_HOSTS))
		return false;
	/* ranks of rankinit's: of one node, as nothing was there to count them by */
	if (context->fan_out > 0)
		return nodes->state == RI_STATE_KNOWN && nodes->origin.source != NULL &&
			strcmp(nodes->origin.source, "default") == 0;
	if (command == NULL || command->mode != RI_MODE_NODE || topology->identity != NULL ||
		nodes->state == RI_STATE_KNOWN || ri_meeting_is_here(command, context->env))
		return false;
	return launcher == NULL || !(launcher->apart || ri_command_tells_nodes(command) ||
		ri_meeting_is_told(command, context->env) ||
		(launcher->reads_pet && ri_env_get(context->env, "PET_NNODES") != NULL));
}

void ri_unread_judge(const struct ri_topology *topology, const struct ri_context *context)
{
	struct pair pair;

	if (ri_wishes_refuse_all(context->wishes) || !is_alone(topology, context) ||
		!find_pair(context->env, &pair))
		return;
	ri_finding_hint(ri_findings_add(context->findings, RI_SEVERITY_WARNING,
		RI_CODE_PLACE_UNREAD, pair.place, "is %" PRIu64 ", and %s is %" PRIu64 ", which "
		"may be a node's place among several: rankinit does not know these variables, and "
		"starts a job of this node alone", pair.node, pair.count, pair.nodes),
		"if they count nodes, state --node-rank=$%s, --nnodes=$%s and --master-addr; for a "
		"job of this node alone, --nnodes=1", pair.place, pair.count);
}
