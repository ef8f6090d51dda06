/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this node has, which is good to know and never a problem: for --check, and for the report
 * since the nodes of a job may differ in it. Without either, rankinit reads
 * none of it.
 */
#ifndef RI_SHIM_CHECK_NODE_FACTS_H
#define RI_SHIM_CHECK_NODE_FACTS_H

#include "check/check.h"
#include "report/outcome.h"

enum { RI_NODE_FACTS = 128 };

struct ri_node_facts {
	struct ri_node_fact items[RI_NODE_FACTS];
	size_t count;
};

struct ri_node_facts_plan {
	struct ri_checking checking;		/* host, env and arena alone */
	const struct ri_env_edits *edits;	/* what the first rank gets; NULL: nothing more */
	bool is_init;				/* rankinit is PID 1 */
	bool looks;	/* into the image's libraries and at device files, as --check does */
};

/* Each fact of the table in node_facts.c. What cannot be found, or does not fit, is left out. */
void ri_node_facts_find(struct ri_node_facts *out, const struct ri_node_facts_plan *plan);

/* The table for --list. */
void ri_node_facts_list(struct ri_text *out);

#endif
