/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ranges.h"

void ri_ranges_end(struct ri_ranges *ranges)
{
	if (ranges->count == 0 || (ranges->most > 0 && ranges->count > ranges->most + 1))
		return;
	if (ranges->count > 1)
		ri_text_add(ranges->out, ranges->between);
	if (ranges->most > 0 && ranges->count > ranges->most) {
		ri_text_add(ranges->out, "...");
		return;
	}
	ri_text_addf(ranges->out, "%llu", (unsigned long long)ranges->first);
	if (ranges->last > ranges->first)
		ri_text_addf(ranges->out, "-%llu", (unsigned long long)ranges->last);
}

void ri_ranges_add(struct ri_ranges *ranges, uint64_t number)
{
	if (ranges->count > 0 && number == ranges->last)
		return;
	if (ranges->count > 0 && number == ranges->last + 1) {
		ranges->last = number;
		return;
	}
	ri_ranges_end(ranges);
	ranges->first = ranges->last = number;
	ranges->count++;
}
