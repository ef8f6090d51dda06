/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank is out of step, where the watchdogs of ranks tell in which collective they are. */
#ifndef RI_REPORT_WORKS_H
#define RI_REPORT_WORKS_H

#include "report/kinds.h"
#include "report/outcome.h"
#include "words/collective.h"

/* What a rank said of its work, which is borrowed; NULL: nothing. */
struct ri_rank_work {
	uint64_t rank;
	const struct ri_work *work;
};

enum ri_step {
	RI_STEP_TOGETHER,	/* as far as they tell */
	RI_STEP_BEHIND,	/* ranks never entered the collective in which most others wait */
	RI_STEP_APART,		/* ranks wait in other collectives of one group */
};

/* Ranks in the order of their numbers, compared. */
struct ri_works {
	const struct ri_rank_work *ranks;
	size_t count;
	enum ri_step step;
	const struct ri_work *most;	/* in which most wait; NULL: none waits */
	struct ri_kinds kinds;	/* works in which ranks wait */
	/* The index of the only one that is out of step with three or more, of the group of all
	 * ranks, where each of them has told; or -1. */
	ssize_t odd;
};

/*
 * Compare the ranks that wait in vain in one group, by preference the group of all ranks. A rank is
 * behind if it waits for nothing in the group and the last work that it entered there comes before.
 */
void ri_works_compare(const struct ri_rank_work *ranks, size_t count, struct ri_works *out);

/* The same of the ranks of a node; at most RI_MAX_LOCAL, in storage that the next call reuses. */
void ri_works_find(const struct ri_outcome *outcome, struct ri_works *out);

/*
 * Append "rank 1 never entered BROADCAST 7 of group default_pg, in which ranks 0, 2-3 wait" or "in
 * group default_pg rank 1 waits in BROADCAST 7 (numel 4), ranks 0, 2-3 in REDUCE 7 (numel 8)";
 * nothing where they are together.
 */
void ri_works_add(struct ri_text *out, const struct ri_works *works);

#endif
