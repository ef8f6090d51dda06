/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose line is it, where a launcher writes the stderr of several ranks into one stream? What
 * stands in front of a line tells: "[rank3]: " of torch's exception hook, "[default3]:" of
 * torchrun --tee, "[1,3]<stderr>:" of Open MPI, "(WorkerDict pid=417) " of Ray, "3: " of srun -l,
 * "[3] " of Hydra -l.
 */
#ifndef RI_WORDS_OWNER_H
#define RI_WORDS_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct ri_owner {
	int64_t rank, local_rank;	/* -1: not said */
	int64_t pid;	/* 0: not said */
	struct ri_span host;	/* where the pid is on another node, by its address; or empty */
	struct ri_span rest;	/* of the line */
	/* the last label is the rank's own or its launcher's for it: a launcher has none */
	bool is_rank;
};

/* The labels that are numbers alone count only where a whole text bears them. */
enum ri_labels {
	RI_LABELS_NAMED,
	RI_LABELS_SRUN,		/* "3: " as well */
	RI_LABELS_HYDRA,	/* "[3] " as well */
};

/*
 * Several labels may stand before a line, as where srun starts torchrun; the last one that tells a
 * number counts. Returns false, and all of *out but the rest zero or -1, where a line has no label.
 */
bool ri_owner_find(struct ri_span line, enum ri_labels labels, struct ri_owner *out);

/* Is it the same rank, by the first of rank, pid and local rank that both tell? */
bool ri_owner_is(const struct ri_owner *owner, const struct ri_owner *other);

#endif
