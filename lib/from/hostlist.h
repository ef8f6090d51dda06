/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists in Slurm's notation (src/common/hostlist.c), which Intel MPI uses for
 * groups of hosts as well: "n[08-11,20],gpu[1-2]-ib", in the order in which
 * the nodes count. And how many tasks each of these nodes has: "2(x3),1".
 */
#ifndef RI_FROM_HOSTLIST_H
#define RI_FROM_HOSTLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct ri_hostlist {
	const char *const *hosts;	/* in order; one may stand there twice */
	size_t count;
	const char *reason;		/* what was expected; NULL where the list is good */
	size_t fault_at;		/* where the text goes wrong */
};

/*
 * Read the text. Commas and blanks separate; several pairs of brackets in a
 * name count like the digits of a number, the last one fastest; digits in
 * front of a number's value are kept ("n[08-10]"). Returns 0, or -1 when out
 * of memory. A list that is empty or wrong, or has more than RI_MAX_RANKS
 * hosts, has a reason and no hosts. The names live in the arena, in about as
 * many bytes as they have.
 */
int ri_hostlist_read(struct ri_hostlist *out, const char *text, struct ri_arena *arena);

struct ri_tasks {
	uint64_t nodes;		/* entries, those in "(x3)" one by one */
	uint64_t tasks;		/* of them all */
	uint64_t here;		/* of the node that was asked for; 0: no entry */
};

/* Read tasks per node. False, and *out as it was, where it is no such list. */
bool ri_tasks_read(const char *text, uint64_t node, struct ri_tasks *out);

#endif
