/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ranks of one node do, as a few lines for the other nodes of the job. A line is one group
 * of ranks in the same state:
 *
 *     CLASS STATE FUNCTION RANKS PLACE|ACTIVITY
 *     collective still all_reduce 0-2,5 all_reduce (train.py:16)|
 *     loader still - 3 _BaseDataLoaderIter.__next__ (train.py:9)|waits for its data loader
 *     more 2 7
 *
 * FUNCTION is that of libraries in which ranks wait for each other, or "-". PLACE is where the main
 * thread is, as far as the program's author knows it, and may be empty, as ACTIVITY may, which is
 * that of one of the ranks. The last line counts groups and ranks that are left out: they did not
 * fit, or their numbers are not known.
 */
#ifndef RI_HANG_GROUPS_H
#define RI_HANG_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/span.h"
#include "hang/hang.h"

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
	uint64_t more_groups, more_ranks;
	const char *fault;	/* why the text could not be read */
};

/*
 * Write the groups of the newer look, which was judged. Secrets in them are hidden, and there are
 * no quotes, backslashes or control characters but '\n'. Returns how many bytes, without the '\0';
 * 0: no rank is there.
 */
size_t ri_groups_write(struct ri_hang *hang, char text[RI_GROUPS_MAX]);

/*
 * Read lines of another node; *groups points into text, which need not end in '\0'. False, and a
 * fault in a few words: it is no such text, it has control characters, is longer or has more groups
 * or ranks than a node may tell, or a rank twice.
 */
bool ri_groups_read(struct ri_groups *groups, const char *text, size_t size);

#endif
