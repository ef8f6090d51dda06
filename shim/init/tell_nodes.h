/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the other nodes of the job hear of this one while it runs. Of a rank that failed the judge
 * knows more; of a judge that died they hear what the kernel said. Without a link none is told.
 */
#ifndef RI_SHIM_INIT_TELL_NODES_H
#define RI_SHIM_INIT_TELL_NODES_H

#include "init/judged.h"
#include "link/job.h"

/* How this node has ended by now, or what stops it; again where more is known of it. */
void ri_nodes_tell(const struct ri_link_job *job);

/* Has a rank failed, or does one leave, and no judge has seen how? */
bool ri_nodes_have_news(const struct ri_link_job *job);

/* What the judge has found of that; NULL: it died. */
void ri_nodes_tell_judged(const struct ri_link_job *job, const struct ri_judged *answer);

/* All is over, with this status: the last word, for which it waits. */
void ri_nodes_tell_last(const struct ri_link_job *job, int status);

#endif
