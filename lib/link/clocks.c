/* SPDX-License-Identifier: Apache-2.0 */
#include "link/member.h"

#include <stdlib.h>

enum { DRIFT = 10000 };		/* 100 ppm: what two quartzes do at worst */

static int64_t drift(const struct ri_clocks *clocks, int64_t at_us)
{
	return clocks->drift ? llabs(at_us - clocks->seen_us) / DRIFT + 1 : 0;
}

bool ri_clocks_see(struct ri_clocks *clocks, int64_t ahead_us, int64_t error_us, int64_t seen_us)
{
	int64_t known = clocks->error_us + drift(clocks, seen_us);
	bool seen = clocks->seen_us != 0;
	bool set = seen && llabs(ahead_us - clocks->ahead_us) > known + error_us;

	if (seen && !set && error_us >= known)
		return false;
	if (set) {
		clocks->before_us = clocks->ahead_us;
		clocks->before_error_us = known;
		clocks->set_us = seen_us;
	}
	clocks->ahead_us = ahead_us;
	clocks->error_us = error_us;
	clocks->seen_us = seen_us;
	return true;
}

void ri_clocks_convert(const struct ri_clocks *clocks, struct ri_link_end *end)
{
	int64_t at = (int64_t)end->at_us - clocks->ahead_us;
	int64_t before = (int64_t)end->at_us - clocks->before_us;
	int64_t error = (int64_t)end->error_us + clocks->error_us + drift(clocks, at);

	/* it may have been before that: then the other of the two is right */
	if (clocks->set_us != 0 && before - (int64_t)end->error_us <= clocks->set_us)
		error += llabs(before - at) + clocks->before_error_us;
	if (end->at_us == 0 || clocks->seen_us == 0 || at > RI_LINK_CLOCK || error > RI_LINK_CLOCK)
		at = error = 0;
	else if (at < 1)	/* the machine of the other clock was not up yet */
		at = 1;
	end->at_us = (uint64_t)at;
	end->error_us = (uint64_t)error;
}
