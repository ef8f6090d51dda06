/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the end of a rank is evidence of. Who dies closes its connections before
 * it can be reaped, so that its peers' exceptions come first: what a rank ended
 * of says more than when it did.
 */
#ifndef RI_REPORT_CLASS_H
#define RI_REPORT_CLASS_H

#include "report/outcome.h"

/*
 * Read what the rank wrote, and fill in rank->evidence.words and what follows it from the rest.
 *
 * own: an exception that is no loss, in words or in torch's file; a signal that
 * we did not send; a failed exec. loss: it says that a peer, the store or the
 * clock ended it, which outranks a signal: NCCL's watchdog aborts its victims.
 * unknown: a status other than 0, without a word. stopped: we had told it, and
 * it says no more than that.
 */
void ri_class_find(struct ri_rank_outcome *rank);

/* "own", "loss", "unknown", "stopped"; NULL for one that did not fail. */
const char *ri_class_name(enum ri_class class);

#endif
