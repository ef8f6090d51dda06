/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks by what they called: how many called the same, and their numbers as a list of ranges. */
#ifndef RI_REPORT_KINDS_H
#define RI_REPORT_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum {
	RI_KINDS = 4,		/* different calls that are told; the rest is left out */
	RI_KINDS_AGREE = 3,	/* ranks that must agree before one is called odd */
};

typedef bool ri_call_is_same(const void *a, const void *b);

/* Begins with zeroes, and is_same. */
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

#endif
