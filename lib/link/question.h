/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What node 0's helper asks before it names a failure: whether something of a node is on its way
 * that may have been earlier. An answer comes after the failure, so that what is heard behind it
 * is later. So when all nodes have answered, or ended, the verdict need not wait any longer.
 */
#ifndef RI_LINK_QUESTION_H
#define RI_LINK_QUESTION_H

#include "link/centre.h"

/*
 * An end of that class was heard, or settles still: ask each node of which more may come. Behind an
 * end of its own answers end the wait; they prove nothing without a secret.
 */
void ri_question_ask(struct ri_centre *centre, enum ri_class class, int64_t now);

/* Do they, and can no node tell of an earlier end any more? Once it is over it stays so. */
bool ri_question_is_over(struct ri_centre *centre);

#endif
