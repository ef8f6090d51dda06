/* SPDX-License-Identifier: Apache-2.0 */
/* The steps from a snapshot to a topology, as shim/find.c takes them. */
#ifndef RI_TESTS_STAGES_OF_H
#define RI_TESTS_STAGES_OF_H

#include "from/from.h"
#include "model/topology.h"
#include "to/to.h"

/* Where no option is given, and no command. */
static const struct ri_wishes no_wishes;
static const struct ri_command no_command = { .mode = RI_MODE_PROCESS };

static inline int ri_topology_read(struct ri_topology *out, const struct ri_context *context,
	struct ri_error *err)
{
	struct ri_reading reading;

	if (ri_sources_read(out, &reading, context, err) < 0)
		return -1;
	ri_identity_choose(out, &reading);
	if (ri_claims_settle(out, &reading) < 0 || ri_topology_adapt(out, context, err) < 0)
		return -1;
	ri_topology_complete(out, context);
	if (ri_claims_report(out, &reading) < 0)
		return -1;
	ri_nodes_judge(out, context);
	ri_unread_judge(out, context);
	return 0;
}

#endif
