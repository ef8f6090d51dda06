/* SPDX-License-Identifier: Apache-2.0 */
/* What together.c keeps and counts, for the sentences about it. */
#ifndef RI_HANG_TALLY_H
#define RI_HANG_TALLY_H

#include "base/text.h"
#include "base/arena.h"
#include "hang/groups.h"

enum { RI_TALLY_HOST = 65, RI_TALLY_FAULT = 512, RI_TALLY_STATES = RI_GROUP_STILL + 1 };

struct ri_told_node {
	char host[RI_TALLY_HOST];
	char *text;		/* RI_GROUPS_MAX bytes, once it has answered */
	size_t size, groups;
	uint64_t first, count;	/* its ranks; count 0: not known */
	bool answered;
};

struct ri_together {
	struct ri_arena *arena;
	struct ri_told_node *nodes;
	size_t node_count, answered;
	uint64_t world;
	uint16_t *owners;	/* of each rank that was told of: its node, and one */
	uint64_t owner_count;
	struct ri_groups groups;	/* those of the node that is read */
	struct ri_arena scratch;
	char fault[RI_TALLY_FAULT];
};

/* Ranks of any nodes that are in one place; or, of no place, all that wait in one function. */
struct ri_kind {
	struct ri_group group;
	bool whole;
	uint64_t hash;
	size_t ranks, by_state[RI_TALLY_STATES];
};

struct ri_tally {
	struct ri_together *together;
	struct ri_kind *kinds;
	size_t kind_count;
	uint32_t *slots;	/* of a table of kinds: an index, and one */
	size_t slot_count;
	size_t told;
	uint64_t more;		/* ranks that nodes counted, and told nothing of */
	const struct ri_kind *crowd;
	size_t members;		/* of the crowd, which wait without moving */
	bool wakes;		/* ... most of them began to wait anew */
	uint64_t compared;
};

struct ri_odd {
	uint32_t kind, rank, node;
};

/* Those of a kind that do not move. */
static inline size_t ri_kind_steady(const struct ri_kind *kind)
{
	return kind->by_state[RI_GROUP_STILL] + kind->by_state[RI_GROUP_WAKES];
}

/* "node 2 (gpu-0515)" */
void ri_tally_add_node(struct ri_text *out, const struct ri_together *together, size_t node);

/* The crowd, and those that hold it up: they have this weight, and are in the order of kinds. */
void ri_tally_say_odd(struct ri_text *out, struct ri_tally *tally, const struct ri_odd *odd,
	size_t length, int weight);

/* The largest groups. */
void ri_tally_say_groups(struct ri_text *out, const struct ri_tally *tally);

/* What was said, as far as there is room, and which nodes did not answer. */
void ri_tally_end(struct ri_text *out, const struct ri_text *words,
	const struct ri_together *together);

#endif
