/* SPDX-License-Identifier: Apache-2.0 */
/* After a failure of the job: do the ranks of all nodes start again (--restarts)? */
#ifndef RI_LINK_RESTART_H
#define RI_LINK_RESTART_H

#include "link/centre.h"

/* The mark of all failures of which no node is named. */
#define RI_RESTART_LOSSES UINT64_C(1)

/*
 * For struct ri_centre, which has just decided; its verdict has a class, and gets the mark of the
 * failure, and whether they do: where no rank of the job has ended well, or on a node that is not
 * there any more, or that could not start it again. If node 0 was asked for restarts, and there is
 * none, the lines of the verdict get the reason.
 */
void ri_link_restart_decide(struct ri_centre *centre, struct ri_text *lines);

#endif
