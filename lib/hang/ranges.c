/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/ranges.h"

void ri_ranges_end(struct ri_ranges *ranges)
{
	if (ranges->first < 0 || (ranges->most > 0 && ranges->written > ranges->most))
		return;
	if (ranges->written > 0)
		ri_text_add(ranges->out, ranges->between);
	if (ranges->written++ == ranges->most && ranges->most > 0)
		ri_text_add(ranges->out, "...");
	else if (ranges->first == ranges->last)
		ri_text_addf(ranges->out, "%lld", (long long)ranges->first);
	else
		ri_text_addf(ranges->out, "%lld-%lld", (long long)ranges->first,
			(long long)ranges->last);
}

void ri_ranges_add(struct ri_ranges *ranges, int64_t number)
{
	if (ranges->first >= 0 && number == ranges->last)
		return;
	if (ranges->first >= 0 && number == ranges->last + 1) {
		ranges->last = number;
		return;
	}
	ri_ranges_end(ranges);
	ranges->first = ranges->last = number;
}
