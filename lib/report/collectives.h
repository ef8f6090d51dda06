/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rank was in which collective, and which one is out of step: by the watchdogs of torch's
 * NCCL backend, or where torch says that ranks did not run the same.
 */
#ifndef RI_REPORT_COLLECTIVES_H
#define RI_REPORT_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "report/outcome.h"
#include "words/words.h"

enum {
	RI_KINDS = 4,		/* different calls that are told; the rest is left out */
	RI_KINDS_AGREE = 3,	/* ranks that must agree before one is called odd */
};

typedef bool ri_call_is_same(const void *a, const void *b);

/* Ranks by what they called. Begins with zeroes, and is_same. */
struct ri_kinds {
	ri_call_is_same *is_same;
	const void *calls[RI_KINDS];	/* of each kind the first, which is borrowed */
	size_t ranks[RI_KINDS];	/* that called it */
	size_t count;
};

/* One rank more, with what it called. */
void ri_kinds_add(struct ri_kinds *kinds, const void *call);

/* That which fewest ranks called first; those of as many stay in their order. */
void ri_kinds_sort(struct ri_kinds *kinds);

/* Append "rank " or "ranks ", for so many. The list begins: at most twelve ranges, then "...". */
struct ri_ranges ri_rank_list_begin(struct ri_text *out, size_t count);

enum ri_step {
	RI_STEP_TOGETHER,	/* as far as they tell */
	RI_STEP_BEHIND,	/* ranks never entered the collective in which most others wait */
	RI_STEP_APART,		/* ranks wait in other collectives of one group */
};

/* Ranks in the order of their numbers, compared. */
struct ri_works {
	const struct ri_rank_outcome *ranks;	/* which are borrowed */
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
void ri_works_find(const struct ri_outcome *outcome, struct ri_works *out);

/*
 * Append "rank 1 never entered BROADCAST 7 of group default_pg, in which ranks 0, 2-3 wait" or "in
 * group default_pg rank 1 waits in BROADCAST 7 (numel 4), ranks 0, 2-3 in REDUCE 7 (numel 8)";
 * nothing where they are together.
 */
void ri_works_add(struct ri_text *out, const struct ri_works *works);

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
