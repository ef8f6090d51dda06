/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of ranks that were started again, by their launcher or by rankinit itself. */
#ifndef RI_REPORT_RESTARTS_H
#define RI_REPORT_RESTARTS_H

#include "base/text.h"
#include "report/outcome.h"
#include "report/reason.h"

/* The launcher of those that rankinit started itself. */
extern const char ri_restarts_own[];

/*
 * Fill in how the attempt before a restart failed: its ranks, whose classes are found. None are
 * known where count is 0. The scratch is used up.
 */
void ri_restart_find(struct ri_restart *restart, const struct ri_rank_outcome *ranks, size_t count,
	struct ri_reason *scratch);

/* The same of this attempt of rankinit's own ranks: how it failed, as its outcome has it. */
void ri_restart_describe(struct ri_restart *restart, const struct ri_outcome *outcome);

/* Append how its first failure ended, "rank 2 (local rank 2, pid 17) failed: exit status 1". */
void ri_restart_add_failure(struct ri_text *out, const struct ri_restart *restart);

/* Append what is said when this one of them happens, without an end of the line. */
void ri_restart_add(struct ri_text *out, const struct ri_restarts *restarts,
	const struct ri_restart *restart);

/* Append the verdict's line of all of them, of which there is one at least. */
void ri_restarts_add(struct ri_text *out, const struct ri_restarts *restarts);

#endif
