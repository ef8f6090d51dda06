/* SPDX-License-Identifier: Apache-2.0 */
/* How many nodes there are, and ranks on this one, where that follows. */
#include <inttypes.h>

#include "model/derive.h"
#include "model/rules.h"

/* The identity's tuple: known by the time that anything is derived. */
static uint64_t of(const struct ri_topology *topology, enum ri_fact_id id)
{
	return topology->facts[id].number;
}

static void derive_nnodes(struct ri_topology *topology)
{
	uint64_t local, hosts;

	if (ri_topology_knows(topology, RI_FACT_NNODES))
		return;
	if (topology->scope == RI_SCOPE_PROCESS &&
		ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &local) &&
		local == of(topology, RI_FACT_WORLD_SIZE))
		ri_topology_derive(topology, RI_FACT_NNODES, 1,
			RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_WORLD_SIZE));
	else if (ri_topology_get(topology, RI_FACT_HOSTS, &hosts))
		ri_topology_derive(topology, RI_FACT_NNODES, hosts, RI_FROM(HOSTS));
}

/* How many ranks each node has if all have the same; 0 where that is open. */
static uint64_t share(const struct ri_topology *topology, unsigned *from)
{
	uint64_t size = of(topology, RI_FACT_WORLD_SIZE), nodes, node;
	uint64_t below = of(topology, RI_FACT_RANK) - of(topology, RI_FACT_LOCAL_RANK);

	*from = RI_FROM(WORLD_SIZE) | RI_FROM(NNODES);
	if (ri_topology_get(topology, RI_FACT_NNODES, &nodes))
		return size % nodes == 0 ? size / nodes : 0;
	*from = RI_FROM(RANK) | RI_FROM(LOCAL_RANK) | RI_FROM(NODE_RANK);
	if (!ri_topology_get(topology, RI_FACT_NODE_RANK, &node) || node == 0 || below < node)
		return 0;
	return below % node == 0 && size % (below / node) == 0 ? below / node : 0;
}

/*
 * Some launchers do not say how many ranks this node has. The nodes are taken
 * for equally filled, in order, where that is what the other facts are like.
 */
static void derive_local_size(struct ri_topology *topology, const struct ri_context *context)
{
	uint64_t rank = of(topology, RI_FACT_RANK), size = of(topology, RI_FACT_WORLD_SIZE);
	char bytes[160];
	struct ri_text missing;
	uint64_t local, node;
	unsigned from;

	if (ri_topology_knows(topology, RI_FACT_LOCAL_WORLD_SIZE) ||
		rank < of(topology, RI_FACT_LOCAL_RANK))
		return;
	if (size == 1) {
		ri_topology_derive(topology, RI_FACT_LOCAL_WORLD_SIZE, 1, RI_FROM(WORLD_SIZE));
		return;
	}
	local = share(topology, &from);
	if (local == 0 || rank % local != of(topology, RI_FACT_LOCAL_RANK) ||
		(ri_topology_get(topology, RI_FACT_NODE_RANK, &node) && rank / local != node))
		return;
	ri_text_init(&missing, bytes, sizeof(bytes));
	ri_topology_explain_missing(topology, RI_FACT_LOCAL_WORLD_SIZE,
		"the number of ranks on this node", &missing);
	ri_topology_derive(topology, RI_FACT_LOCAL_WORLD_SIZE, local, from);
	/* where ranks are started here there are as many as was asked for */
	if (context->fan_out == 0)
		ri_findings_add(context->findings, RI_SEVERITY_NOTE, RI_CODE_LOCAL_SIZE_ASSUMED,
			"LOCAL_WORLD_SIZE", "%s: %" PRIu64 " is right if every node has as many",
			bytes, local);
	if (!ri_topology_knows(topology, RI_FACT_NNODES))
		ri_topology_derive(topology, RI_FACT_NNODES, size / local,
			RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_WORLD_SIZE));
}

int ri_topology_count(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	/* Twice: what is dropped may be derived, and what is derived must hold. */
	if (ri_rules_check(topology, context, err) < 0)
		return -1;
	derive_nnodes(topology);
	if (topology->scope == RI_SCOPE_PROCESS) {
		derive_local_size(topology, context);
		derive_nnodes(topology);
	}
	return ri_rules_check(topology, context, err);
}
