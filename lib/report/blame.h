/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank failed first, and whether that was a Ctrl-C. */
#ifndef RI_REPORT_BLAME_H
#define RI_REPORT_BLAME_H

#include "report/outcome.h"

/*
 * Set outcome->first, ->blame and ->named, for ranks that ri_class_find has
 * looked at. The class decides before the time:
 *
 * 1. An end of its own; of several the first (ri_moment_find). One without a
 *    word counts as such if it had begun before the first loss was seen.
 * 2. Another end without a word, unless losses came before it and there are
 *    other nodes, where the loss may have come from.
 * 3. Losses alone. On one node: a rank that had ended with 0 before; a rank that
 *    did not time out when all others did; a rank that NCCL's watchdogs prove out
 *    of step with all others (report/collectives.h). Otherwise rankinit cannot tell.
 *
 * A rank that had been told to stop counts only with what it says itself, and
 * not at all where the stop came from outside.
 */
void ri_blame_find(struct ri_outcome *outcome);

/* How many nodes the job has, as far as is known: 1 where it is not. */
uint64_t ri_blame_nodes(const struct ri_outcome *outcome);

/*
 * Did outcome->first end of the interrupt? It did where that signal killed it
 * or Python says so, and where it exited soon after it without an exception of
 * its own: handlers do that. For one that we had told to stop, what it said
 * after the interrupt or not to its end does not count, and an end of another
 * by the interrupt does. False without an interrupt or without a first.
 */
bool ri_outcome_is_interrupted(const struct ri_outcome *outcome);

#endif
