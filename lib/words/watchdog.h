/* SPDX-License-Identifier: Apache-2.0 */
/* Where a rank was among the collectives of a group, by the watchdog of torch's NCCL backend. */
#ifndef RI_WORDS_WATCHDOG_H
#define RI_WORDS_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum {
	RI_WORK_OP = 32,	/* bytes of a name, and its end */
	RI_WORK_GROUP = 96,	/* the same of a group */
};

#define RI_WORK_DEFAULT "default_pg"	/* the group of all ranks of the job */

struct ri_work {
	/* "default_pg", "37(TENSOR_MODEL_PARALLEL_GROUP)", "3"; "" where no name tells it that is
	 * the same on all ranks */
	char group[RI_WORK_GROUP];
	/* in which it waited in vain, "ALLREDUCE"; "": it does not say */
	char op[RI_WORK_OP];
	bool has_sequence, has_size, has_status;
	uint64_t sequence;	/* of that one */
	uint64_t in, out;	/* its elements */
	int64_t enqueued, completed;	/* the last numbers in the group; -1: none */
};

/*
 * The first work in the text that timed out, and what the watchdog says of its group; or, where
 * none did, what it said when another rank's did. Letters, digits and "_:.-()" alone get into it.
 * Returns false, and leaves *out, where it says nothing.
 */
bool ri_work_find(struct ri_span text, struct ri_work *out);

/* Does it wait in a collective, whose number it tells? */
bool ri_work_waits(const struct ri_work *work);

/* Are both waits for the same: operation, number, and as many elements where ranks must agree? */
bool ri_work_is_same(const struct ri_work *a, const struct ri_work *b);

#endif
