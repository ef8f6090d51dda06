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
 * of clustered setups"). Some counts are of nodes beside one place alone: ARNOLD_WORKER_NUM beside
 * ARNOLD_ID; HTCondor's _CONDOR_NPROCS (src/condor_starter.V6.1/parallel_proc.h); Grove's
 * GROVE_PCSG_TEMPLATE_NUM_PODS, where GROVE_PCSG_INDEX is the group's (Grove's guide, Environment
 * Variables Reference); OCI's INITIAL_CLUSTER_SIZE (accelerated-data-science
 * ads/jobs/templates/driver_pytorch.py); NGC_ARRAY_SIZE (docs.nvidia.com, Base Command Platform);
 * Paddle's PADDLE_TRAINERS_NUM (python/paddle/distributed/fleet/base/role_maker.py); and a list of
 * hosts, TPU_WORKER_HOSTNAMES of Cloud TPU (Ray, ray.util.tpu.get_jax_env_vars).
 */
enum {
	BARE = 1,	/* it may have no prefix, as HOST_NUM beside INDEX on Tencent's TI */
	MEETS = 2,	/* beside a master alone: the tasks of other arrays never meet */
	LIST = 4,	/* it names them, with commas between */
};
static const struct {
	const char *suffix;
	const char *place;	/* behind the same prefix, or a whole name; NULL: one of `places` */
	unsigned rules;
} counts[] = {
	{ "_WORLD_SIZE" }, { "_CLUSTER_SIZE" }, { "_GROUP_SIZE" }, { "_NUM_NODES" }, { "_NNODES" },
	{ "_NODE_COUNT" }, { "_WORKER_NUM" }, { "_HOST_NUM", NULL, BARE },
	{ "_NODE_NUM", NULL, BARE }, { "_WORKER_NUM", "_ID" }, { "_CLUSTER_SIZE", "NODE_RANK" },
	{ "_NPROCS", "_PROCNO" }, { "_TEMPLATE_NUM_PODS", "_POD_INDEX" },
	{ "_NUM_PODS", "_POD_INDEX" }, { "_ARRAY_SIZE", "_ARRAY_INDEX", MEETS },
	{ "_TRAINERS_NUM", "_TRAINER_ID" }, { "_WORKER_HOSTNAMES", "_WORKER_ID", LIST },
};
static const char *const places[] = {
	"_NODE_RANK", "_RANK", "_NODE_INDEX", "_INDEX", "_IDX", "_NODE_ID", "_NODEID",
};
static const char *const masters[] = {
	"_MASTER_ADDR", "_LEADER_ADDR", "_MAIN_NODE_HOSTNAME", "_CHIEF_IP",
};

struct pair {
	char place[NAME_SIZE], count[NAME_SIZE];
	char master[NAME_SIZE];		/* a variable that may name the first node, or "" */
	uint64_t node, nodes;
	bool listed;			/* the count is a list of hosts */
};

static bool is_read(const char *name)
{
	for (const struct ri_source *const *at = ri_sources; *at != NULL; at++)
		for (const struct ri_source_row *row = (*at)->reads; row->name != NULL; row++)
			if (strcmp(row->name, name) == 0)
				return true;
	return false;
}

static bool get_number(const struct ri_env *env, const char *name, uint64_t *out)
{
	const struct ri_range range = { 0, RI_MAX_RANKS };
	const char *value = ri_env_get(env, name);

	return value != NULL && ri_number_read(value, range, out, NULL) == RI_NUMBER_OK;
}

/* Is this a place below the count? No source reads it, or it is NODE_RANK, which none took. */
static bool is_place(const struct ri_env *env, struct pair *pair, size_t prefix,
	const char *name)
{
	bool whole = name[0] != '_';

	snprintf(pair->place, NAME_SIZE, "%.*s%s", whole ? 0 : (int)prefix, pair->count,
		name + (prefix == 0));
	return get_number(env, pair->place, &pair->node) && pair->node < pair->nodes &&
		(whole || !is_read(pair->place));
}

/* The place beside this count: X_CLUSTER_SIZE has X_IDX or X_CLUSTER_IDX. */
static bool find_place(const struct ri_env *env, struct pair *pair, size_t prefix, size_t row)
{
	size_t longer = (size_t)(strrchr(pair->count, '_') - pair->count);

	if (counts[row].place != NULL)
		return is_place(env, pair, prefix, counts[row].place);
	for (size_t i = 0; i < RI_ARRAY_SIZE(places); i++)
		if (is_place(env, pair, prefix, places[i]) ||
			is_place(env, pair, longer, places[i]))
			return true;
	return false;
}

static bool find_master(const struct ri_env *env, struct pair *pair, size_t prefix)
{
	for (size_t i = 0; i < RI_ARRAY_SIZE(masters); i++) {
		snprintf(pair->master, NAME_SIZE, "%.*s%s", (int)prefix, pair->count,
			masters[i] + (prefix == 0));
		if (ri_source_sees_text(env, pair->master))
			return true;
	}
	pair->master[0] = '\0';
	return false;
}

static bool get_count(const struct ri_env *env, struct pair *pair, size_t row)
{
	pair->listed = (counts[row].rules & LIST) != 0;
	if (!pair->listed)
		return get_number(env, pair->count, &pair->nodes);
	pair->nodes = 1;
	for (const char *at = ri_env_get(env, pair->count); (at = strchr(at, ',')) != NULL; at++)
		pair->nodes++;
	return true;
}

/* Are this row's count, a place below it, and the master that it needs there? */
static bool is_pair(const struct ri_env *env, struct pair *pair, size_t row)
{
	const char *suffix = counts[row].suffix;
	size_t length = strlen(pair->count), behind = strlen(suffix), prefix;
	bool bare = (counts[row].rules & BARE) != 0 && strcmp(pair->count, suffix + 1) == 0;

	if (!bare && (length <= behind || strstr(pair->count, "LOCAL") != NULL ||
		strcmp(pair->count + length - behind, suffix) != 0))
		return false;
	prefix = bare ? 0 : length - behind;
	return get_count(env, pair, row) && pair->nodes > 1 &&
		!is_read(pair->count) && find_place(env, pair, prefix, row) &&
		(find_master(env, pair, prefix) || (counts[row].rules & MEETS) == 0);
}

/* The first pair of the environment; those of a node's own processes are none. */
static bool find_pair(const struct ri_env *env, struct pair *out)
{
	for (size_t n = 0; n < env->count; n++) {
		const struct ri_env_entry *entry = &env->entries[n];

		if (entry->name_length + sizeof("_MAIN_NODE_HOSTNAME") > NAME_SIZE)
			continue;
		snprintf(out->count, NAME_SIZE, "%.*s", (int)entry->name_length, entry->text);
		for (size_t i = 0; i < RI_ARRAY_SIZE(counts); i++)
			if (is_pair(env, out, i))
				return true;
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
	const struct ri_launcher *launcher = command->launcher;

	/* ranks of rankinit's: of one node, as nothing was there to count them by */
	if (context->fan_out > 0)
		return nodes->state == RI_STATE_KNOWN && nodes->origin.source != NULL &&
			strcmp(nodes->origin.source, "default") == 0;
	if (command->mode != RI_MODE_NODE || topology->identity != NULL ||
		nodes->state == RI_STATE_KNOWN || ri_meeting_is_here(command, context->env))
		return false;
	return launcher == NULL || !(launcher->needs_no_nodes || ri_command_tells_nodes(command) ||
		ri_meeting_is_told(command, context->env) ||
		(launcher->reads_pet && ri_env_get(context->env, "PET_NNODES") != NULL));
}

/*
 * RANK of 1 or more without a count: the ranks before it are others'. A program may well read what
 * else its platform sets, as INIT_METHOD beside TonY's RANK (tony-core TaskExecutor): a note.
 */
static void judge_rank(const struct ri_topology *topology, const struct ri_context *context,
	bool alone)
{
	const struct ri_command *command = context->command;
	bool one = command->is_python && command->mode == RI_MODE_PROCESS &&
		topology->identity == NULL && !ri_topology_knows(topology, RI_FACT_NNODES);
	uint64_t rank;

	if (!(alone || one) || ri_source_sees_text(context->env, "WORLD_SIZE") ||
		!get_number(context->env, "RANK", &rank) || rank == 0)
		return;
	ri_finding_hint(ri_findings_add(context->findings,
		alone ? RI_SEVERITY_WARNING : RI_SEVERITY_NOTE, RI_CODE_SOURCE_INCOMPLETE, "RANK",
		"is %" PRIu64 ", but WORLD_SIZE is not set: RANK is not used%s", rank,
		alone ? ", and a job of this node alone starts" : ""),
		"for a process's rank, set WORLD_SIZE and LOCAL_RANK too; for a node's, state "
		"--node-rank=$RANK, --nnodes and --master-addr%s",
		alone ? "; for a job of this node alone, --node-rank=0 --nnodes=1" : "");
}

void ri_unread_judge(const struct ri_topology *topology, const struct ri_context *context)
{
	bool alone = is_alone(topology, context);
	struct pair pair;

	if (ri_wishes_refuse_all(context->wishes) || ri_topology_knows(topology, RI_FACT_ROLE) ||
		ri_topology_knows(topology, RI_FACT_HOSTS))
		return;
	if (!alone || !find_pair(context->env, &pair)) {
		judge_rank(topology, context, alone);
		return;
	}
	ri_finding_hint(ri_warn(context->findings, RI_CODE_PLACE_UNREAD, pair.place, "is %" PRIu64
		", and %s %s %" PRIu64 "%s, which may be a node's place among several: rankinit "
		"does not know this pair, and starts a job of this node alone", pair.node,
		pair.count, pair.listed ? "names" : "is", pair.nodes, pair.listed ? " hosts" : ""),
		"if they count nodes, state --node-rank=$%s%s$%s%s%s%s; for a job of this node "
		"alone, --node-rank=0 --nnodes=1", pair.place, pair.listed ? " and --hosts="
		: ", --nnodes=", pair.count, pair.listed ? "" : " and --master-addr",
		pair.master[0] == '\0' ? "" : "=$", pair.master);
}
