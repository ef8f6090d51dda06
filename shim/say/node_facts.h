/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this node has, by which it may differ from the other nodes of its job: for the report,
 * and so for --blame. Nothing is asked where there is no report.
 */
#ifndef RI_SHIM_SAY_NODE_FACTS_H
#define RI_SHIM_SAY_NODE_FACTS_H

#include "base/arena.h"
#include "base/env.h"
#include "base/host.h"
#include "report/outcome.h"

enum { RI_NODE_FACTS = 128 };

struct ri_node_facts {
	struct ri_node_fact items[RI_NODE_FACTS];
	size_t count;
};

/*
 * The kernel, NVIDIA's driver, the image if a variable names it, the MTU of each interface, and
 * each NCCL_ variable that the first rank gets, without secrets. It reads /proc and /sys alone.
 * What cannot be found, or does not fit, is left out.
 */
void ri_node_facts_find(struct ri_node_facts *out, struct ri_host *host,
	const struct ri_env *env, const struct ri_env_edits *edits, struct ri_arena *arena);

#endif
