/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What launchers say of the ends of their ranks (launcher_words.def), and the lines of one rank
 * among those of all. Whoever writes to the stream can write the same words: they are hints, for
 * where the kernel does not tell, and no line that bears a rank's label is a launcher's.
 */
#ifndef RI_WORDS_LAUNCHER_WORDS_H
#define RI_WORDS_LAUNCHER_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

/* What is told of one rank. The spans point into the text. */
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

/*
 * Whose line is it, where a launcher writes the stderr of several ranks into one stream? What
 * stands in front of a line tells: "[rank3]: " of torch's exception hook, "[default3]:" of
 * torchrun --tee, "[1,3]<stderr>:" of Open MPI, "(WorkerDict pid=417) " of Ray, "3: " of srun -l,
 * "[3] " of Hydra -l.
 */
struct ri_owner {
	int64_t rank, local_rank;	/* -1: not said */
	int64_t outer;	/* the number in srun's or mpirun's own label; -1: it has none */
	int64_t pid;	/* 0: not said */
	struct ri_span host;	/* where the pid is on another node, by its address; or empty */
	struct ri_span rest;	/* of the line; a bar of progress in front of a label is left out */
	/* the last label is the rank's own or its launcher's for it: a launcher has none */
	bool is_rank;
	bool of_program;	/* it is the rank's own */
};

/* Numbers alone count where three in four lines that are no launcher's bear them. */
enum ri_labels {
	RI_LABELS_NAMED,
	RI_LABELS_SRUN,		/* "3: " as well */
	RI_LABELS_HYDRA,	/* "[3] " as well */
};

/*
 * Several labels may stand before a line, as where srun starts torchrun; the last one that tells a
 * number counts. One of srun's may be a node's: the functions below know where. Returns false, and
 * all of *out but the rest zero or -1, where a line has no label.
 */
bool ri_owner_find(struct ri_span line, enum ri_labels labels, struct ri_owner *out);

/*
 * What the last bytes of a launcher's stderr, whose first line may be half a one, tell of ends, in
 * the order of the text. Several lines about one rank are one record. Returns how many; where they
 * are more than room, the last one, which says most, is among them.
 */
size_t ri_launcher_words_read(struct ri_span text, struct ri_rank_said *out, size_t room);

/* Where words of a rank stand in such a text, counted from 1; 0: it has none. */
struct ri_words_place {
	size_t traceback;	/* the header of the last one */
	bool hooked;		/* torch's exception hook wrote that header */
	size_t loss;		/* the first line that tells of a loss */
};

/*
 * Copy the lines of a rank, without their labels, or with NULL those that bear none and are no
 * launcher's, with '\n' behind each, up to size bytes. Returns how many bytes. *place is of all;
 * NULL: it is not asked for.
 */
size_t ri_lines_of(struct ri_span text, const struct ri_owner *rank, char *room, size_t size,
	struct ri_words_place *place);

#endif
