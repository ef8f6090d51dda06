/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of ranks or nodes as ranges: "0-3, 7". */
#ifndef RI_BASE_RANGES_H
#define RI_BASE_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Begin with out and between. */
struct ri_ranges {
	struct ri_text *out;
	const char *between;	/* two of them */
	size_t most;		/* of them are written, and "..." for the others; 0: all are */
	size_t count;		/* that have begun */
	uint64_t first, last;	/* of the one that has not been written yet */
};

/* The next number, which is not less than the one before; the same again changes nothing. */
void ri_ranges_add(struct ri_ranges *ranges, uint64_t number);

/* Behind the last number. */
void ri_ranges_end(struct ri_ranges *ranges);

#endif
