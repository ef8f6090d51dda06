/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a line have a shape of words.def or launcher_words.def, and what does it tell of a rank by
 * the fields of this shape?
 */
#ifndef RI_WORDS_LINE_SHAPE_H
#define RI_WORDS_LINE_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/* The spans point into the text. */
struct ri_rank_said {
	const char *launcher;	/* "torchrun": by whose word */
	int64_t rank, local_rank;	/* -1: not said */
	int64_t pid;	/* 0: not said */
	int exit_code, signal;	/* -1: not said; at most one of them is */
	bool first;	/* the launcher saw this one end first */
	bool out_of_memory;	/* by name; without a rank: one of them */
	bool raised;	/* an exception, which its process outlived */
	bool owned;	/* the line bears the label of another launcher: it may be a rank's, too */
	struct ri_span host;	/* or empty, as those below */
	struct ri_span error_file;	/* torch's */
	/* of Ray: "Worker"; where it raised "Worker.train", and of a task "train" */
	struct ri_span actor;
	/* of the error file, in torchrun's table: lines after the first are indented by two; of an
	 * actor of Ray: its repr(), and what follows in that line */
	struct ri_span message;
	struct ri_span ranks;	/* "0-2,5", while it is read */
};

/* Nothing is said. */
extern const struct ri_rank_said ri_rank_unsaid;

/*
 * Does the whole line fit? '*' stands for any bytes up to the first place of what follows, '~' for
 * a digit, and "%r" and others for the fields that launcher_words.def explains; where out is NULL
 * '%' stands for itself. *out is of use only where the line fits. Returns where the first words of
 * the shape stand, and NULL where the line does not fit.
 */
const char *ri_shape_fits(struct ri_span line, const char *shape, struct ri_rank_said *out);

#endif
