/* SPDX-License-Identifier: Apache-2.0 */
/* In the judge: what the other nodes are told of this one, and what their verdict makes of it. */
#ifndef RI_SHIM_JUDGE_OTHER_NODES_H
#define RI_SHIM_JUDGE_OTHER_NODES_H

#include "link/job.h"
#include "report/outcome.h"

/* What the others are told of these ends. Leaves *out where that is nothing. */
void ri_link_judge_end(const struct ri_link_job *job, const struct ri_outcome *outcome,
	struct ri_link_message *out);

/* The ranks were to start again, and do not: why, unless the verdict says it. */
void ri_link_say_why_not(const struct ri_link_job *job);

/*
 * What that verdict makes of the end of this node, which it fills in. Returns whether the status is
 * that of a node that another one's failure has stopped.
 */
bool ri_link_judge(const struct ri_link_job *job, struct ri_outcome *outcome);

#endif
