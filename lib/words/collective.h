/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which collective a rank was: by the watchdog of torch's NCCL backend, and where torch compares
 * the collectives of ranks.
 */
#ifndef RI_WORDS_COLLECTIVE_H
#define RI_WORDS_COLLECTIVE_H

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

/*
 * Which collectives two ranks ran, where torch says that they differ: with TORCH_DISTRIBUTED_DEBUG=
 * DETAIL each rank compares its own with those of all (torch/csrc/distributed/c10d/
 * ProcessGroupWrapper.cpp, CollectiveFingerPrint::verify, 1.10 to 2.13).
 */
enum {
	RI_FINGERPRINT_OP = 32,	/* bytes of a name, and its end */
	RI_FINGERPRINT_SHAPE = 48,	/* the same of a shape, which may be longer */
};

struct ri_fingerprint {
	uint64_t rank;
	char op[RI_FINGERPRINT_OP];	/* "ALLREDUCE"; only letters, digits and '_' */
	bool has_sequence;	/* since torch 2.0 */
	uint64_t sequence;
	/* "4, 16", or empty; only digits, commas and blanks */
	char shape[RI_FINGERPRINT_SHAPE];
};

/*
 * The two of the last message in the text that has both: that of who says it, and that of the first
 * rank that ran another. Returns false, and leaves them, where there is none.
 */
bool ri_fingerprints_find(struct ri_span text, struct ri_fingerprint out[2]);

#endif
