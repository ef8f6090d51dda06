/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the end of a rank is evidence of, which rank failed first, and whether that was a Ctrl-C. A
 * process that dies closes its connections before it can be reaped, so its peers' exceptions come
 * first: what a rank ended of says more than when it did.
 */
#ifndef RI_REPORT_CULPRIT_H
#define RI_REPORT_CULPRIT_H

#include "report/outcome.h"

/*
 * Which rank was in which collective, and which one is out of step: by the watchdogs of torch's
 * NCCL backend, or where torch says that ranks did not run the same.
 */

enum {
	RI_KINDS = 4,		/* different calls that are told; the rest is left out */
	RI_KINDS_AGREE = 3,	/* ranks that must agree before one is called odd */
};

typedef bool ri_call_is_same(const void *a, const void *b);

/* Ranks by what they called. Begins with zeroes, and is_same. */
struct ri_kinds {
	ri_call_is_same *is_same;
	const void *calls[RI_KINDS];	/* of each kind the first, which is borrowed */
	size_t ranks[RI_KINDS];	/* that called it */
	size_t count;
};

/* One rank more, with what it called. */
void ri_kinds_add(struct ri_kinds *kinds, const void *call);

/* That which fewest ranks called first; those of as many stay in their order. */
void ri_kinds_sort(struct ri_kinds *kinds);

/* Append "rank " or "ranks ", for so many. The list begins: at most twelve ranges, then "...". */
struct ri_ranges ri_rank_list_begin(struct ri_text *out, size_t count);

enum ri_step {
	RI_STEP_TOGETHER,	/* as far as they tell */
	RI_STEP_BEHIND,	/* ranks never entered the collective in which most others wait */
	RI_STEP_APART,		/* ranks wait in other collectives of one group */
};

/* Ranks in the order of their numbers, compared. */
struct ri_collectives {
	const struct ri_rank_outcome *ranks;	/* which are borrowed */
	size_t count;
	enum ri_step step;
	const struct ri_work *most;	/* in which most wait; NULL: none waits */
	struct ri_kinds kinds;	/* works in which ranks wait */
	/* The index of the only one that is out of step with three or more, of the group of all
	 * ranks, where each of them has told; or -1. */
	ssize_t odd;
};

/*
 * Compare the ranks that wait in vain in one group, by preference the group of all ranks. A rank is
 * behind if it waits for nothing in the group and the last work that it entered there comes before.
 */
void ri_collectives_find(const struct ri_outcome *outcome, struct ri_collectives *out);

/*
 * Append "rank 1 never entered BROADCAST 7 of group default_pg, in which ranks 0, 2-3 wait" or "in
 * group default_pg rank 1 waits in BROADCAST 7 (numel 4), ranks 0, 2-3 in REDUCE 7 (numel 8)";
 * nothing where they are together.
 */
void ri_collectives_add(struct ri_text *out, const struct ri_collectives *works);

/*
 * The only rank that ran another collective than all others of which that is known, three at least,
 * who ran the same: *out is its index. Returns false where there is none, or it is not ours.
 */
bool ri_mismatch_odd(const struct ri_outcome *outcome, size_t *out);

/*
 * Append "rank 7: REDUCE 101; ranks 0-6: ALLGATHER 101" and '\n', the collective that fewest ran
 * first, and with shapes where they alone differ; nothing where no rank tells.
 */
void ri_mismatch_add(struct ri_text *out, const struct ri_outcome *outcome);

/*
 * Read what the rank wrote, and fill in rank->evidence.words and what follows it from the rest.
 *
 * How it ended comes first, by the kernel or its launcher's word; then the words that explain
 * exactly this end (docs/judging.md has them in order). own: an exception that is no loss, in words
 * or in torch's file; a signal that we did not send; a failed exec. loss: it says that a peer, the
 * store or the clock ended it, and its end is one that such words explain. unknown: a status other
 * than 0, without a word. stopped: we had told it, and no look proved more.
 */
void ri_class_find(struct ri_rank_outcome *rank);

/* NULL for one that did not fail. */
extern const char *const ri_class_words[];

/* Had an exception ended its program when a stop from outside came, and did it still live? */
bool ri_class_was_held(const struct ri_outcome *outcome, const struct ri_rank_outcome *rank);

/* The signal that ended it, also by the status of a shell, which adds 128; 0: none. */
int ri_rank_signal(const struct ri_rank_outcome *rank);

/* Do others end a process by it, and its own mistakes do not? */
bool ri_signal_is_foreign(int number);

struct ri_moment {
	int64_t second;		/* torch cuts its time to these */
	struct timespec at;
	unsigned order;		/* 0: unknown */
	bool witnessed;		/* by a file or a traceback */
};

/*
 * The second in its torch error file, then the time when the traceback that it
 * ended of appeared, unless it had ended by then, or else that when it was seen
 * to be dying, or its end.
 * ri_class_find has been asked before.
 */
struct ri_moment ri_moment_find(const struct ri_rank_outcome *rank);

static inline bool ri_time_is_before(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

/*
 * Set outcome->first, ->culprit and ->named, for ranks that ri_class_find has
 * looked at. The class decides before the time:
 *
 * 1. An end of its own; of several the first (ri_moment_find). One without a
 *    word counts as such if it had begun before the first loss was seen.
 * 2. Another end without a word, unless losses came before it and there are
 *    other nodes, where the loss may have come from.
 * 3. Losses alone. One that was stopped while it ended of an exception that no code caught, by the
 *    hook of torch that wrote it, before all losses and as the only one: that becomes an end of
 *    its own. On one node: a rank that had ended with 0 before; a rank that
 *    did not time out when all others did; a rank that NCCL's watchdogs prove out
 *    of step with all others (ri_collectives_find). Otherwise rankinit cannot tell.
 *
 * An abort of which no words could be read is none of its own, and no rank is named for it alone.
 * A rank that had been told to stop counts only with what it says itself, and
 * not at all where the stop came from outside.
 */
void ri_culprit_find(struct ri_outcome *outcome);

/* How many nodes the job has, as far as is known: 1 where it is not. */
uint64_t ri_outcome_nodes(const struct ri_outcome *outcome);

/*
 * Did outcome->first end of the interrupt? It did where that signal killed it
 * or Python says so, and where it exited soon after it without an exception of
 * its own: handlers do that. For one that we had told to stop, what it said
 * after the interrupt or not to its end does not count, and an end of another
 * by the interrupt does. False without an interrupt or without a first.
 */
bool ri_outcome_is_interrupted(const struct ri_outcome *outcome);

#endif
