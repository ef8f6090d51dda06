/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the end of a rank is evidence of. Who dies closes its connections before
 * it can be reaped, so that its peers' exceptions come first: what a rank ended
 * of says more than when it did.
 */
#ifndef RI_REPORT_CLASS_H
#define RI_REPORT_CLASS_H

#include "words/loss.h"
#include "report/outcome.h"

/*
 * Fill in rank->class and what follows it from the rest.
 *
 * own: an exception that is no loss, in words or in torch's file; a signal that
 * we did not send; a failed exec. loss: it says that a peer, the store or the
 * clock ended it, which outranks a signal: NCCL's watchdog aborts its victims.
 * unknown: a status other than 0, without a word. stopped: we had told it, and
 * it says no more than that.
 */
void ri_class_find(struct ri_rank_outcome *rank);

/*
 * The row of the exception that a process ended of, or NULL. In a chain the first
 * one counts, unless it only ended a loop: what is raised in a "finally" does not
 * hide it.
 */
const struct ri_loss *ri_class_loss(const struct ri_traceback *traceback);

/* "own", "loss", "unknown", "stopped"; NULL for one that did not fail. */
const char *ri_class_name(enum ri_class class);

#endif
