/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/hang.h"

enum {
	DEEPEST = 512,		/* generations */
	CLAIMS = RI_HANG_OWN_RANK + 1,
};

static int parents[RI_HANG_PROCESSES];		/* indexes; -1: it is not in the look */
static int outermost[RI_HANG_PROCESSES];	/* with a claim, at or above it; -1: none */

/* A process is a launcher, and no rank, if one below it claims another number more surely. */
static void pass_over_launchers(struct ri_hang_look *look)
{
	for (size_t i = 0; i < look->count; i++) {
		const struct ri_hang_process *process = &look->processes[i];
		int above = parents[i];

		for (int depth = 0; process->rank >= 0 && above >= 0 && depth < DEEPEST; depth++) {
			struct ri_hang_process *one = &look->processes[above];

			if (one->claim < process->claim && one->rank != process->rank)
				one->rank = -1;
			above = parents[above];
		}
	}
}

/* Several may have one number and kind of claim, if they lost their parent: the eldest counts. */
static bool is_eldest(const struct ri_hang_look *look, size_t i)
{
	const struct ri_hang_process *process = &look->processes[i];

	for (size_t k = 0; k < look->count; k++) {
		const struct ri_hang_process *other = &look->processes[k];

		if (k != i && outermost[k] == (int)k && other->rank == process->rank &&
			other->claim == process->claim && (other->started < process->started ||
			(other->started == process->started && k < i)))
			return false;
	}
	return true;
}

/* The kind of claim that gives the most ranks; of two the surer one. */
static enum ri_hang_claim mark_ranks(struct ri_hang_look *look)
{
	size_t counts[CLAIMS] = { 0 };
	enum ri_hang_claim best = RI_HANG_NO_RANK;

	for (size_t i = 0; i < look->count; i++) {
		struct ri_hang_process *process = &look->processes[i];

		process->is_rank = outermost[i] == (int)i && is_eldest(look, i);
		counts[process->claim] += process->is_rank;
	}
	for (int claim = RI_HANG_NO_RANK + 1; claim < CLAIMS; claim++)
		if (counts[claim] > 0 && counts[claim] >= counts[best])
			best = (enum ri_hang_claim)claim;
	for (size_t i = 0; i < look->count; i++)
		if (look->processes[i].claim != best)
			look->processes[i].is_rank = false;
	return best;
}

/* A sibling of a rank that is not known to be one may be the rank that seems to be missing. */
static bool has_strange_sibling(const struct ri_hang_look *look, pid_t parent)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->processes[i].parent == parent && look->processes[i].rank < 0 &&
			look->processes[i].state != 0 && !look->processes[i].dying)
			return true;
	return false;
}

static void find_missing(struct ri_hang_look *look)
{
	static bool there[RI_HANG_PROCESSES];
	int64_t first = -1, all = 0, here = 0;

	for (size_t i = 0; i < look->count; i++) {
		const struct ri_hang_process *rank = &look->processes[i];

		if (!rank->is_rank)
			continue;
		if (here++ == 0) {
			first = rank->rank - rank->local_rank;
			all = rank->local_ranks;
			memset(there, 0, sizeof(there));
		}
		if (rank->claim != RI_HANG_OWN_RANK || rank->local_ranks != all || first < 0 ||
			all > RI_HANG_PROCESSES || rank->rank < first ||
			rank->rank >= first + all || has_strange_sibling(look, rank->parent))
			return;
		there[rank->rank - first] = true;
	}
	if (all < RI_HANG_LEAST || all - here > (int64_t)ri_hang_few((uint64_t)all))
		return;
	for (int64_t i = 0; i < all && look->missing_count < RI_HANG_MISSING; i++)
		if (!there[i])
			look->missing[look->missing_count++] = first + i;
}

/*
 * The child that a shell or a wrapper in front of the rank waits for: the one that waits for the
 * other ranks; for a shell also the only one that runs Python, or its only child. Of several
 * others none: the wrapper says which of them it waits for.
 */
static struct ri_hang_process *find_inner(struct ri_hang_look *look,
	struct ri_hang_process *rank)
{
	struct ri_hang_process *only = NULL, *python = NULL, *waiting = NULL;
	size_t count = 0, pythons = 0, waiters = 0;
	bool is_python = rank->python == RI_HANG_HAS_PYTHON;
	const struct ri_wait_row *row = is_python ? ri_hang_find_wait(rank) : NULL;

	if (is_python && (row == NULL || row->class != RI_HANG_CHILD))
		return NULL;
	for (size_t i = 0; i < look->count; i++) {
		struct ri_hang_process *child = &look->processes[i];

		if (child->parent != rank->pid)
			continue;
		only = child;
		count++;
		if (child->python != RI_HANG_HAS_PYTHON)
			continue;
		python = child;
		pythons++;
		row = ri_hang_find_wait(child);
		if (row != NULL && row->class == RI_HANG_COLLECTIVE) {
			waiting = child;
			waiters++;
		}
	}
	if (waiters > 0 || is_python)
		return waiters == 1 ? waiting : NULL;
	if (pythons > 0)
		return pythons == 1 ? python : NULL;
	return count == 1 && rank->python == RI_HANG_NO_PYTHON ? only : NULL;
}

void ri_hang_find_ranks(struct ri_hang_look *look)
{
	enum ri_hang_claim claim;

	for (size_t i = 0; i < look->count; i++)
		parents[i] = ri_hang_find_process(look, look->processes[i].parent);
	pass_over_launchers(look);
	for (size_t i = 0; i < look->count; i++) {
		int at = (int)i;

		outermost[i] = -1;
		for (int depth = 0; at >= 0 && depth < DEEPEST; depth++) {
			if (look->processes[at].rank >= 0)
				outermost[i] = at;
			at = parents[at];
		}
	}
	claim = mark_ranks(look);
	/* below a rank it has the rank's number, even if its environment has another one by now */
	for (size_t i = 0; i < look->count; i++) {
		int top = outermost[i];

		look->processes[i].rank = top >= 0 && look->processes[top].claim == claim
			? look->processes[top].rank : -1;
	}
	look->missing_count = 0;
	find_missing(look);
	for (size_t i = 0; i < look->count; i++) {
		struct ri_hang_process *rank = &look->processes[i], *inner;

		if (!rank->is_rank || outermost[i] != (int)i)
			continue;
		for (int depth = 0; depth < DEEPEST &&
			(inner = find_inner(look, rank)) != NULL; depth++) {
			rank->is_rank = false;
			inner->is_rank = true;
			rank = inner;
		}
	}
}
