/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One autopsy for the job: what the nodes of a job say of their ranks at one moment, and which rank
 * holds up the others. The rule is that of a single node (judge.h): at least three ranks are told
 * of, most of them wait for the others in one function without moving, and those that differ or are
 * not told of are a quarter of the job at most. Each node has looked twice; a rank counts only if
 * it was the same both times. Silence is counted, and never a reason to name a node.
 */
#ifndef RI_HANG_TOGETHER_H
#define RI_HANG_TOGETHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "hang/groups.h"

enum { RI_TOGETHER_TEXT = 512 };	/* bytes of the sentence, '\0' included */

struct ri_together;

/* What there is to say of the job. */
struct ri_together_found {
	size_t odd;		/* ranks that hold up the others */
	int64_t rank, node;	/* the only one of them; -1: there is none, or there are several */
	size_t told, world;	/* ranks that were told of, and all there are */
	size_t silent;		/* nodes that did not answer */
	uint64_t compared;	/* how often two groups were compared */
	/*
	 * One line without '\n': the odd ranks, or, where none is, the largest groups. "" where no
	 * rank was told of.
	 */
	char text[RI_TOGETHER_TEXT];
};

/*
 * For one moment of a job of so many nodes. world: its ranks; 0: not known. All memory is the
 * arena's, as much as all answers and 200 bytes for each node. NULL: there are more than
 * RI_MAX_RANKS nodes or ranks, or there is no memory. A node, below, is less than their number.
 */
struct ri_together *ri_together_new(struct ri_arena *arena, size_t nodes, uint64_t world);

/*
 * What is known of a node before it answers: its host, or "" or NULL, and its ranks; count 0: they
 * are not known. Only where they are certain, since a node that tells of others is not counted.
 */
void ri_together_expect(struct ri_together *together, size_t node, const char *host, uint64_t first,
	uint64_t count);

/*
 * The lines of a node (groups.h), which may come from anybody; a later answer of a node takes the
 * place of the one before. False: the node counts as one that did not answer, and
 * ri_together_fault says why. Of two nodes that tell of the same rank neither counts.
 */
bool ri_together_add(struct ri_together *together, size_t node, const char *host, const char *text,
	size_t size);

/* Why the last answer was not taken, as a line without '\n'; "" where it was. */
const char *ri_together_fault(const struct ri_together *together);

/* Returns false, and nobody is odd, where memory runs out. */
bool ri_together_judge(struct ri_together *together, struct ri_together_found *found);

#endif
