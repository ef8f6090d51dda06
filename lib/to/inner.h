/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that a command which is taken for a rank itself would start, or wait for. */
#ifndef RI_TO_INNER_H
#define RI_TO_INNER_H

#include "model/context.h"
#include "model/topology.h"

/*
 * Findings about the command of a rank, by its words alone, those for a shell
 * (-c) among them; said by the first rank of a node, and not where a launch
 * mode is stated.
 *
 * RI_CODE_LAUNCH_HIDDEN: a launcher in a shell's words, which cannot be told of
 * the job, so that each rank makes one of its own; a note where a shell's
 * script may have one in it. Not where its own words say where the nodes meet.
 * RI_CODE_RANKS_WAITED: it is told to use more devices than ranks are here, as
 * a Trainer of Lightning's, which starts ranks unless LOCAL_RANK is set.
 */
void ri_inner_judge(const struct ri_topology *topology, const struct ri_context *context);

#endif
