/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far one clock goes before another: the wall clock of a node before its CLOCK_BOOTTIME, and
 * that before node 0's. A wall clock may be set at any moment, and a virtual machine may have stood
 * still; then what came before is known the less exactly. All times are microseconds.
 */
#ifndef RI_LINK_CLOCKS_H
#define RI_LINK_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "link/message.h"

struct ri_clocks {
	bool drift;		/* they are of two machines */
	/* The rest starts as zeroes. */
	int64_t ahead_us, error_us;	/* it goes so far before the other, give or take, */
	int64_t seen_us;	/* as seen then, by the other; 0: never */
	/* before it was set last, or stood still, it went so far before, give or take: */
	int64_t before_us, before_error_us;
	int64_t set_us;		/* that was seen then; 0: never */
};

/*
 * It goes so far before the other clock, which shows seen_us. Returns whether that is news: not
 * where more was known, and the two do not contradict each other.
 */
bool ri_clocks_see(struct ri_clocks *clocks, int64_t ahead_us, int64_t error_us, int64_t seen_us);

/*
 * The time of an end by the other clock, and how exactly that is known; 0, which is unknown, where
 * it was, or the clocks were never compared.
 */
void ri_clocks_convert(const struct ri_clocks *clocks, struct ri_link_end *end);

#endif
