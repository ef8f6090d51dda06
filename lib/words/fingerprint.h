/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which collectives two ranks ran, where torch says that they differ: with TORCH_DISTRIBUTED_DEBUG=
 * DETAIL each rank compares its own with those of all (torch/csrc/distributed/c10d/
 * ProcessGroupWrapper.cpp, CollectiveFingerPrint::verify, 1.10 to 2.13).
 */
#ifndef RI_WORDS_FINGERPRINT_H
#define RI_WORDS_FINGERPRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

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
