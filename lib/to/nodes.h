/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with the command on the nodes of this job. */
#ifndef RI_TO_NODES_H
#define RI_TO_NODES_H

#include "base/error.h"
#include "model/context.h"
#include "model/topology.h"

/*
 * Findings about what the command makes of a topology that is complete: a
 * launcher that waits for nodes which are not started, or is not told of them
 * (RI_CODE_NODES_WAITED, RI_CODE_LAUNCH_ROLE, RI_CODE_SOURCE_INCOMPLETE), and one
 * process where ranks were asked for (RI_CODE_NPROC_UNUSED,
 * RI_CODE_LAUNCH_RANKLESS). Of the command of a rank, by its words:
 *
 * RI_CODE_LAUNCH_HIDDEN: a launcher in a shell's words, which cannot be told of
 * the job, so that each rank makes one of its own; a note where a shell's
 * script may have one in it. Not where its own words say where the nodes meet.
 * RI_CODE_RANKS_WAITED: it is told to use more devices than ranks are here, as
 * a Trainer of Lightning's, which starts ranks unless LOCAL_RANK is set.
 */
void ri_nodes_judge(const struct ri_topology *topology, const struct ri_context *context);

/*
 * RI_CODE_MASTER_LOOPBACK where rank 0 is on another node and the master, which
 * must be known, is each machine itself. Not where an option states it: somebody
 * has nodes that share a machine, or a tunnel. Nor where no source said it: then
 * all processes were on one machine before a launcher took them for nodes.
 */
int ri_nodes_refuse_loopback(const struct ri_topology *topology, struct ri_error *err);

#endif
