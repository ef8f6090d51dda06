/* SPDX-License-Identifier: Apache-2.0 */
#include "from/master.h"

#include <string.h>

#include "base/text.h"
#include "from/endpoint.h"

static bool names_itself(const struct ri_fact *master)
{
	return ri_is_loopback((struct ri_slice){ master->text, strlen(master->text) });
}

/* Are there other nodes, for the ranks that the identity speaks of? */
static bool has_others(const struct ri_topology *topology)
{
	uint64_t size, local, hosts;

	if (topology->scope == RI_SCOPE_PROCESS &&
		ri_topology_get(topology, RI_FACT_WORLD_SIZE, &size) &&
		ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &local) && local == size)
		return false;
	if (ri_topology_is_wide(topology))
		return true;
	return !ri_topology_knows(topology, RI_FACT_NNODES) &&
		ri_topology_get(topology, RI_FACT_HOSTS, &hosts) && hosts > 1;
}

/* The best of those that lost and that all nodes can reach. */
static struct ri_fact *find_better(struct ri_fact *lost)
{
	struct ri_fact *best = NULL;

	for (; lost != NULL; lost = lost->next)
		if (lost->state == RI_STATE_KNOWN && !names_itself(lost) &&
			(best == NULL || lost->strength > best->strength))
			best = lost;
	return best;
}

void ri_master_settle(struct ri_topology *topology, struct ri_findings *findings)
{
	struct ri_fact *fact = &topology->facts[RI_FACT_MASTER_ADDR], *better, stated = *fact;
	char old[RI_QUOTE_SIZE];

	if (topology->identity == NULL || stated.state != RI_STATE_KNOWN ||
		stated.strength != RI_STRENGTH_STATED ||
		stated.origin.source == topology->identity || !names_itself(&stated) ||
		!has_others(topology))
		return;
	better = find_better(stated.next);
	if (better == NULL)
		return;
	*fact = *better;
	fact->next = stated.next;
	stated.next = better->next;
	*better = stated;
	ri_findings_add(findings, RI_SEVERITY_WARNING, RI_CODE_ENV_DIFFERS, stated.origin.variable,
		"%s becomes \"%s\", as in %s: it is this machine on each of the nodes",
		ri_quote(old, sizeof(old), stated.origin.raw), fact->text,
		fact->origin.variable == NULL ? fact->origin.source : fact->origin.variable);
}
