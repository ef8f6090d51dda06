/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_MODEL_RULES_H
#define RI_MODEL_RULES_H

#include "base/error.h"
#include "model/context.h"
#include "model/topology.h"

/*
 * Hold the facts against rules.def. A broken rule within the tuple is an
 * error; elsewhere the first fact of the rule becomes absent, with a finding.
 */
int ri_rules_check(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err);

#endif
