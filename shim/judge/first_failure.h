/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Some ranks have failed and the others run: may the first failure be among those? The kernel
 * closes the connections of a process that dies before that process can be reaped, and a program
 * may close them itself on its way out: what its peers say of it comes first.
 */
#ifndef RI_SHIM_JUDGE_FIRST_FAILURE_H
#define RI_SHIM_JUDGE_FIRST_FAILURE_H

#include "launch/children.h"
#include "init/judged.h"
#include "init/output.h"

/* What became of a child, and what it said, as far as it is known by now. */
void ri_failure_describe(const struct ri_child *child, struct ri_output *output, size_t index,
	struct ri_rank_outcome *out);

/*
 * Fill in .open, .timed_out, .lost and .doubtful. It is open where losses alone were seen, and as
 * long as one that has printed an exception in the last settle_ms, or is being looked at, may still
 * end of it.
 */
void ri_failure_judge(const struct ri_children *children, struct ri_output *output,
	int64_t settle_ms, struct ri_judged *out);

#endif
