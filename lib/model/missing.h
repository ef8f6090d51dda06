/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_MODEL_MISSING_H
#define RI_MODEL_MISSING_H

#include "base/text.h"
#include "model/topology.h"

/*
 * Why the fact is not what somebody said: "slurm does not say " and what, or
 * what became of what was said.
 */
void ri_missing_explain(const struct ri_topology *topology, enum ri_fact_id id,
	const char *what, struct ri_text *out);

#endif
