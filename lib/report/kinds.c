/* SPDX-License-Identifier: Apache-2.0 */
#include "report/kinds.h"

enum { RANGES = 12 };

void ri_kinds_add(struct ri_kinds *kinds, const void *call)
{
	size_t i = 0;

	while (i < kinds->count && !kinds->is_same(kinds->calls[i], call))
		i++;
	if (i == RI_KINDS)
		return;
	if (i == kinds->count) {
		kinds->calls[i] = call;
		kinds->ranks[i] = 0;
		kinds->count++;
	}
	kinds->ranks[i]++;
}

void ri_kinds_sort(struct ri_kinds *kinds)
{
	for (size_t i = 1; i < kinds->count; i++) {
		const void *call = kinds->calls[i];
		size_t ranks = kinds->ranks[i], at = i;

		for (; at > 0 && kinds->ranks[at - 1] > ranks; at--) {
			kinds->calls[at] = kinds->calls[at - 1];
			kinds->ranks[at] = kinds->ranks[at - 1];
		}
		kinds->calls[at] = call;
		kinds->ranks[at] = ranks;
	}
}

struct ri_ranges ri_rank_list_begin(struct ri_text *out, size_t count)
{
	ri_text_add(out, count == 1 ? "rank " : "ranks ");
	return (struct ri_ranges){ .out = out, .between = ", ", .most = RANGES };
}
