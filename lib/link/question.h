/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What node 0's helper asks before it names a failure: whether something of a node is on its way
 * that may have been earlier. An answer comes after the failure, so that what is heard behind it
 * is later. So when all nodes have answered, or ended, the verdict need not wait any longer.
 */
#ifndef RI_LINK_QUESTION_H
#define RI_LINK_QUESTION_H

#include "link/centre.h"

/* An end counts while it settles; then each node is asked of which more may come. */
void ri_question_ask(struct ri_centre *centre, int64_t now);

/* An end of its own was heard, and answers end the wait for an earlier one. */
void ri_question_begin(struct ri_centre *centre, int64_t now);

/* Was it begun, and can no node tell of an earlier end any more? Once it is over it stays so. */
bool ri_question_is_over(struct ri_centre *centre);

#endif
