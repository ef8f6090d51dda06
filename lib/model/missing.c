/* SPDX-License-Identifier: Apache-2.0 */
#include "model/missing.h"

void ri_missing_explain(const struct ri_topology *topology, enum ri_fact_id id,
	const char *what, struct ri_text *out)
{
	const struct ri_fact *fact = &topology->facts[id];

	if (fact->state == RI_STATE_OPEN)
		ri_text_add(out, fact->reason);
	else if (fact->state == RI_STATE_BROKEN)
		ri_text_addf(out, "%s is not used", ri_topology_subject(topology, id));
	else
		ri_text_addf(out, "%s does not give %s", topology->identity, what);
}
