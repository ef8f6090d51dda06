/* SPDX-License-Identifier: Apache-2.0 */
/* What the link of a job and its rendezvous make of any environment and any command. */
#ifndef RI_FUZZ_LINKED_H
#define RI_FUZZ_LINKED_H

#include "fuzz.h"
#include "link/part.h"

/* Who takes part is one of the job's nodes, and never listens where the job does. */
static void fuzz_check_linked(const struct ri_topology *topology, const struct ri_context *context)
{
	struct ri_link_part part;
	struct ri_rendezvous place;
	uint64_t port;

	CHECK(ri_link_part_find(&part, topology, context, 0) == 0);
	if (ri_rendezvous_find(&place, topology, context, &part, false))
		CHECK(place.host != NULL && place.port != 0 && place.node < place.nodes &&
			place.ranks > 0);
	if (part.why_not != NULL)
		return;
	CHECK(part.nodes > 1 && part.node < part.nodes && part.centre != NULL);
	CHECK(part.job[0] != '\0');
	for (size_t i = 0; i < RI_LINK_PORTS; i++)
		CHECK(part.ports[i] == 0 ||
			!ri_topology_get(topology, RI_FACT_MASTER_PORT, &port) ||
			part.ports[i] != port);
}

#endif
