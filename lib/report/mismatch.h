/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank ran which collective, where ranks say that they did not run the same. */
#ifndef RI_REPORT_MISMATCH_H
#define RI_REPORT_MISMATCH_H

#include "report/outcome.h"

/*
 * The only rank that ran another collective than all others of which that is known, three at least,
 * who ran the same: *out is its index. Returns false where there is none, or it is not ours.
 */
bool ri_mismatch_odd(const struct ri_outcome *outcome, size_t *out);

/*
 * Append "rank 7: REDUCE 101; ranks 0-6: ALLGATHER 101" and '\n', the collective that fewest ran
 * first, and with shapes where they alone differ; nothing where no rank tells.
 */
void ri_mismatch_add(struct ri_text *out, const struct ri_outcome *outcome);

#endif
