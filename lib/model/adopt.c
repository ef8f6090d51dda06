/* SPDX-License-Identifier: Apache-2.0 */
/* A node as a job's one process on it, where its ranks are started here. */
#include <inttypes.h>

#include "model/derive.h"
#include "model/wishes.h"

/* A rank by hand is no node's, and must not be taken for one. */
static int refuse_stated_ranks(const struct ri_wishes *wishes, struct ri_error *err)
{
	for (enum ri_fact_id id = RI_FACT_RANK; wishes != NULL && id <= RI_FACT_LOCAL_WORLD_SIZE;
		id++) {
		if (wishes->facts[id].value == NULL)
			continue;
		ri_fail(err, RI_CODE_OPTION_CONFLICT, wishes->facts[id].subject,
			"%s starts the ranks here and numbers them from the node's index",
			wishes->nproc.subject);
		return ri_fail_hint(err, "state --node-rank and --nnodes instead");
	}
	return 0;
}

/* Does the variable hold a number of at least min? */
static bool holds(const struct ri_context *context, const char *variable, uint64_t min)
{
	const struct ri_range range = { min, RI_MAX_RANKS };
	const char *value = ri_env_get(context->env, variable);
	uint64_t number;

	return value != NULL && ri_number_read(value, range, &number, NULL) == RI_NUMBER_OK;
}

static int refuse_variable(const char *variable, const char *text, struct ri_error *err)
{
	ri_fail(err, RI_CODE_LAUNCH_INCOMPLETE, variable, "%s", text);
	return ri_fail_hint(err, "state --node-rank and --nnodes; for a job of this node alone, "
		"--nnodes=1");
}

/* Each of the ranks would take itself for that one process, or for a job of its own. */
static int refuse_beside(const struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	const struct ri_fact *role = &topology->facts[RI_FACT_ROLE];

	if (!ri_topology_is_beside(topology))
		return 0;
	ri_fail(err, RI_CODE_LAUNCH_ROLE, ri_topology_subject(topology, RI_FACT_ROLE),
		"%s requests %" PRIu64 " ranks, but this is the task \"%s\" %" PRIu64
		", one process without a rank", context->wishes->nproc.subject,
		context->fan_out, role->text, role->number);
	return ri_fail_hint(err, "leave %s out here; for a job of this node alone, --nnodes=1",
		context->wishes->nproc.subject);
}

/*
 * What speaks of other nodes, though no source makes a place among them out of
 * it: each node would start a job of its own. RANK without LOCAL_RANK may well
 * be a node's.
 */
static int refuse_signs_of_nodes(const struct ri_topology *topology,
	const struct ri_context *context, struct ri_error *err)
{
	const struct ri_fact *said = topology->facts[RI_FACT_NODE_RANK].next;
	char bytes[160];
	struct ri_text text;
	const char *sign;

	if (holds(context, "WORLD_SIZE", 2) && holds(context, "RANK", 0))
		return refuse_variable("RANK", "it may be that of a node or of a process, because "
			"LOCAL_RANK is not set, and WORLD_SIZE is more than 1", err);
	ri_text_init(&text, bytes, sizeof(bytes));
	ri_text_add(&text, "there are other nodes according to ");
	sign = ri_signs_of_nodes(context, context->fan_out, &text);
	if (sign != NULL) {
		ri_text_add(&text, ", and no source tells which one this is");
		return refuse_variable(sign, text.bytes, err);
	}
	for (; said != NULL; said = said->next)
		if (said->state == RI_STATE_KNOWN && said->number > 0)
			return refuse_variable(said->origin.variable == NULL
					? ri_fact_name(RI_FACT_NODE_RANK)
					: said->origin.variable,
				"this is not the first node, but the number of nodes is "
				"unknown", err);
	return 0;
}

/* Nothing usable says how many nodes there are: one, unless something speaks against it. */
static int assume_one_node(struct ri_topology *topology, struct ri_error *err)
{
	const struct ri_fact *broken = ri_fact_find_broken(&topology->facts[RI_FACT_NNODES]);
	uint64_t node;

	if (broken == NULL)
		broken = ri_fact_find_broken(&topology->facts[RI_FACT_HOSTS]);
	/* of an option's value others say more */
	if (broken != NULL && broken->strength != RI_STRENGTH_MANUAL) {
		ri_fail(err, RI_CODE_ENV_VALUE, broken->origin.variable,
			"its value cannot be used, so the number of nodes is unknown");
		return ri_fail_hint(err, "correct it where the job is started, or state --nnodes");
	}
	if (ri_topology_get(topology, RI_FACT_NODE_RANK, &node) && node > 0) {
		ri_fail(err, RI_CODE_LAUNCH_INCOMPLETE,
			ri_topology_subject(topology, RI_FACT_NODE_RANK),
			"this is node %" PRIu64 ", but the number of nodes is unknown", node);
		return ri_fail_hint(err, "state --nnodes");
	}
	ri_topology_derive(topology, RI_FACT_NNODES, 1, 0);
	topology->facts[RI_FACT_NNODES].origin.source = "default";
	return 0;
}

static int find_node(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	uint64_t nodes, hosts;

	if (!ri_topology_knows(topology, RI_FACT_NNODES) &&
		ri_topology_get(topology, RI_FACT_HOSTS, &hosts))
		ri_topology_derive(topology, RI_FACT_NNODES, hosts, RI_FROM(HOSTS));
	if (!ri_topology_get(topology, RI_FACT_NNODES, &nodes))
		return refuse_beside(topology, context, err) < 0 ||
				refuse_signs_of_nodes(topology, context, err) < 0
			? -1
			: assume_one_node(topology, err);
	if (nodes == 1 || ri_topology_knows(topology, RI_FACT_NODE_RANK))
		return 0;
	ri_fail(err, RI_CODE_LAUNCH_INCOMPLETE, ri_topology_subject(topology, RI_FACT_NNODES),
		"there are %" PRIu64 " nodes, but rankinit cannot tell which of them this "
			"is", nodes);
	return ri_fail_hint(err, "state --node-rank; for a job of this node alone, --nnodes=1");
}

int ri_topology_adopt_node(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	if (refuse_stated_ranks(context->wishes, err) < 0 ||
		find_node(topology, context, err) < 0)
		return -1;
	if (!ri_topology_knows(topology, RI_FACT_NODE_RANK))
		ri_topology_derive(topology, RI_FACT_NODE_RANK, 0, RI_FROM(NNODES));
	ri_topology_derive(topology, RI_FACT_RANK, topology->facts[RI_FACT_NODE_RANK].number,
		RI_FROM(NODE_RANK));
	ri_topology_derive(topology, RI_FACT_WORLD_SIZE, topology->facts[RI_FACT_NNODES].number,
		RI_FROM(NNODES));
	ri_topology_derive(topology, RI_FACT_LOCAL_RANK, 0, RI_FROM(NODE_RANK));
	ri_topology_derive(topology, RI_FACT_LOCAL_WORLD_SIZE, 1, RI_FROM(NNODES));
	return 0;
}
