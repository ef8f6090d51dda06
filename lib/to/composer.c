/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framework "composer": MosaicML Composer. In a rank it takes six variables,
 * and is a job of one where they are missing, whatever MASTER_ADDR says. Its
 * launcher reads from the same names how many ranks to start: WORLD_SIZE in
 * the job, LOCAL_WORLD_SIZE on this node. What the platform says there stays.
 */
#include <string.h>

#include "base/limits.h"
#include "base/number.h"
#include "to/writing.h"

#define DIST "Composer composer/utils/dist.py"
#define LAUNCHER "Composer composer/cli/launcher.py, _parse_args"

static const struct ri_variable writes[] = {
	{ .name = "RANK", .meaning = "index of this process in the job", .cite = DIST },
	{ .name = "WORLD_SIZE",
	  .meaning = "processes in the job; a launcher that has no value yet gets the number of "
		     "ranks that all nodes start", .cite = LAUNCHER },
	{ .name = "LOCAL_RANK", .meaning = "index of this process on its node", .cite = DIST },
	{ .name = "LOCAL_WORLD_SIZE",
	  .meaning = "processes on this node; for the launcher, the number of ranks it "
	  "starts", .cite = LAUNCHER },
	{ .name = "NODE_RANK", .meaning = "index of this node", .cite = LAUNCHER },
	{ .name = "MASTER_ADDR", .meaning = "host on which rank 0 listens", .cite = LAUNCHER },
	{ .name = "MASTER_PORT", .meaning = "port on which rank 0 listens", .cite = LAUNCHER },
	{ .name = NULL },
};

/*
 * A count that is there and is not that of this one process, or of nodes: its platform's.
 * Fewer in the job than there are nodes are an image's.
 */
static bool is_given(const struct ri_writing *writing, const struct ri_topology *topology,
	const char *variable, enum ri_fact_id id)
{
	const char *value = ri_env_get(writing->context->env, variable);
	const char *origin = topology->facts[id].origin.variable;
	const char *nodes = topology->facts[RI_FACT_NNODES].origin.variable;
	struct ri_range counts = { 1, RI_MAX_RANKS };
	uint64_t count;

	if (id == RI_FACT_WORLD_SIZE)
		ri_topology_get(topology, RI_FACT_NNODES, &counts.min);
	return value != NULL && (origin == NULL || strcmp(origin, variable) != 0) &&
		(nodes == NULL || strcmp(nodes, variable) != 0) &&
		ri_number_read(value, counts, &count, NULL) == RI_NUMBER_OK;
}

/* By --nproc-per-node, which stands above what is there. */
static bool is_stated(const struct ri_writing *writing, uint64_t *each)
{
	const struct ri_wishes *wishes = writing->context->wishes;

	if (wishes == NULL || wishes->nproc_count == 0)
		return false;
	*each = wishes->nproc_count;
	return true;
}

/* On the first node it would run a job of that node, on the others it would fail. */
static void check_world(struct ri_writing *writing, uint64_t nodes)
{
	if (nodes == 1 || ri_command_mentions(writing->context->command, "--world-size"))
		return;
	ri_fail(writing->err, RI_CODE_LAUNCH_INCOMPLETE, "WORLD_SIZE",
		"composer needs the number of ranks on all %d nodes, and no source provides "
		"it", (int)nodes);
	ri_fail_hint(writing->err, "state --nproc-per-node, or add composer's own options "
				   "--world_size and -n");
}

static void render(struct ri_writing *writing, const struct ri_topology *topology)
{
	const struct ri_command *command = writing->context->command;
	uint64_t nodes, each;

	if (ri_writing_mode(writing) != RI_MODE_NODE || command->launcher == NULL ||
		!command->launcher->counts)
		return;
	/* Without an identity there is one node. */
	if (!ri_topology_get(topology, RI_FACT_NNODES, &nodes))
		nodes = 1;
	if (!is_stated(writing, &each)) {
		if (is_given(writing, topology, "WORLD_SIZE", RI_FACT_WORLD_SIZE))
			return;
		if (!ri_topology_get(topology, RI_FACT_NPROC, &each) ||
			is_given(writing, topology, "LOCAL_WORLD_SIZE", RI_FACT_LOCAL_WORLD_SIZE)) {
			check_world(writing, nodes);
			return;
		}
	}
	ri_want_number(writing, "WORLD_SIZE", nodes * each);
	ri_want_number(writing, "LOCAL_WORLD_SIZE", each);
}

const struct ri_framework ri_framework_composer = {
	.name = "composer",
	.summary = "MosaicML Composer and its launcher",
	.when = "A rank gets all of them; the launcher gets NODE_RANK and MASTER_*, and the number "
		"of ranks to start if it is known.",
	.writes = writes,
	.rank = {
		.gets = RI_FROM(RANK) | RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_RANK) |
			RI_FROM(LOCAL_WORLD_SIZE) | RI_FROM(NODE_RANK) | RI_RENDEZVOUS,
		.needs = RI_FROM(RANK) | RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_RANK) |
			RI_FROM(LOCAL_WORLD_SIZE) | RI_FROM(NODE_RANK) | RI_RENDEZVOUS,
	},
	.node = {
		.gets = RI_FROM(NODE_RANK) | RI_RENDEZVOUS,
		.needs = RI_FROM(NODE_RANK) | RI_RENDEZVOUS,
	},
	.nameless = true,
	.render = render,
};
