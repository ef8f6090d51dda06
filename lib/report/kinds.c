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

void ri_rank_range_add(struct ri_text *out, uint64_t first, uint64_t last)
{
	ri_text_addf(out, " %llu", (unsigned long long)first);
	if (last > first)
		ri_text_addf(out, "-%llu", (unsigned long long)last);
}

struct ri_rank_list ri_rank_list_begin(struct ri_text *out, size_t count)
{
	ri_text_add(out, count == 1 ? "rank" : "ranks");
	return (struct ri_rank_list){ .out = out };
}

/* The range that ends here. */
static void add_range(struct ri_rank_list *list)
{
	if (list->ranges == 0 || list->ranges > RANGES + 1)
		return;
	ri_text_add(list->out, list->ranges > 1 ? "," : "");
	if (list->ranges > RANGES)
		ri_text_add(list->out, " ...");
	else
		ri_rank_range_add(list->out, list->first, list->last);
}

void ri_rank_list_add(struct ri_rank_list *list, uint64_t rank)
{
	if (list->ranges > 0 && rank == list->last + 1) {
		list->last = rank;
		return;
	}
	add_range(list);
	list->first = list->last = rank;
	list->ranges++;
}

void ri_rank_list_end(struct ri_rank_list *list)
{
	add_range(list);
}
