/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One autopsy for the job: what its nodes say of their ranks at one moment, and which rank holds up
 * the others. The rule is that of a single node: at least three ranks are told of, most of them
 * wait for the others in one function without moving, and those that differ or are not told of are
 * a quarter of the job at most. Each node has looked twice; a rank counts only if it was the same
 * both times. Silence is counted, and never a reason to name a node.
 */
#ifndef RI_HANG_TOGETHER_H
#define RI_HANG_TOGETHER_H

#include "base/arena.h"
#include "base/limits.h"
#include "hang/hang.h"

/*
 * What the ranks of one node do, as a few lines for the other nodes of the job. A line is one group
 * of ranks in the same state:
 *
 *     CLASS STATE FUNCTION RANKS PLACE|ACTIVITY
 *     collective still all_reduce 0-2,5 all_reduce (train.py:16)|
 *     loader still - 3 _BaseDataLoaderIter.__next__ (train.py:9)|waits for its data loader
 *     more 7
 *
 * FUNCTION is that of libraries in which ranks wait for each other, or "-". PLACE is where the main
 * thread is, as far as the program's author knows it, and may be empty, as ACTIVITY may, which is
 * that of one of the ranks. The last line counts the ranks that are left out: they did not
 * fit, or their numbers are not known.
 */

enum {
	RI_GROUPS_MAX = 7936,	/* bytes of a node's lines, '\0' included: in JSON less than 8 kB */
	RI_GROUPS_MOST = 64,	/* groups of a node */
	RI_GROUPS_WORDS = 400,	/* bytes of a place or an activity */
	RI_GROUPS_FUNCTION = 64,
};

/* What two looks at a rank, a moment apart, say of it. */
enum ri_group_state {
	RI_GROUP_ONCE,	/* there was one look at it alone */
	RI_GROUP_MOVES,	/* it does not do the same any more, or what it does is not known */
	RI_GROUP_WAKES,	/* it is where it was, but began to wait anew */
	RI_GROUP_STILL,	/* it is where it was */
};

struct ri_group {
	enum ri_hang_class class;
	enum ri_group_state state;
	/* in the text that was read; function is empty where it waits for no other rank */
	struct ri_span function, place, activity;
	size_t ranks;
};

struct ri_groups {
	struct ri_group items[RI_GROUPS_MOST];
	size_t count;
	struct ri_groups_rank {
		uint32_t rank, group;	/* group: index of an item */
	} ranks[RI_MAX_LOCAL];		/* in their order */
	size_t rank_count;
	uint64_t more;
};

/*
 * Write the groups of the newer look, which was judged, without secrets, quotes, backslashes and
 * control characters but '\n'. Returns how many bytes, without the '\0'; 0: no rank is there.
 */
size_t ri_groups_write(struct ri_hang *hang, char text[RI_GROUPS_MAX]);

/*
 * Read lines of another node; *groups points into text, which need not end in '\0'. Returns NULL,
 * or a fault in a few words: it is no such text, it has control characters, is longer or has more
 * groups or ranks than a node may tell, or a rank twice.
 */
const char *ri_groups_read(struct ri_groups *groups, const char *text, size_t size);

enum { RI_TOGETHER_TEXT = 512 };	/* bytes of the sentence, '\0' included */

struct ri_together;

struct ri_together_found {
	size_t odd;		/* ranks that hold up the others */
	int64_t rank, node;	/* the only one of them; -1: there is none, or there are several */
	size_t told, world;	/* ranks that were told of, and all there are */
	size_t silent;		/* nodes that did not answer */
	uint64_t compared;	/* how often two groups were compared */
	/*
	 * A line without '\n': the odd ranks, or else the largest groups, with their ranks where
	 * some stand in a collective and others do not; "": none was told of
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
 * The lines of a node (ri_groups_write), which may be hostile; a later answer of a node takes the
 * place of the one before. Returns NULL, or why the node counts as one that did not answer, as a
 * line without '\n' that lasts until the next call. Of two nodes that tell of the same rank neither
 * counts.
 */
const char *ri_together_add(struct ri_together *together, size_t node, const char *host,
	const char *text, size_t size);

/* Returns false, and no rank is odd, where memory runs out. */
bool ri_together_judge(struct ri_together *together, struct ri_together_found *found);

#endif
