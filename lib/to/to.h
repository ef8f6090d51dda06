/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the topology to variables: the frameworks, and the table of them all in
 * frameworks.def.
 */
#ifndef RI_TO_TO_H
#define RI_TO_TO_H

#include "base/env.h"
#include "to/writing.h"

/* The table; ends with NULL. */
extern const struct ri_framework *const ri_frameworks[];

/*
 * The variables that the command shall have and, as edits without a value,
 * those that it must not have. Ranks that are started here have RANK,
 * WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE among them in any case. Without
 * an identity none but how many ranks a launcher shall start, and none where
 * the command starts the whole job (context->command). No value is empty. Two
 * frameworks that want one variable to differ are RI_CODE_ENV_CONFLICT. A
 * framework whose option is given and whose name is not in --frameworks is
 * RI_CODE_OPTION_CONFLICT; what one lacks that is asked for is
 * RI_CODE_FRAMEWORK_INCOMPLETE. jansson's hash must have been seeded
 * (json_object_seed).
 */
int ri_variables_render(struct ri_env_edits *out, const struct ri_topology *topology,
	const struct ri_context *context, struct ri_error *err);

/*
 * Those of the variables that have to be edited: all but what has exactly
 * that value already and stands there once, or is absent as it should be.
 */
int ri_variables_reduce(struct ri_env_edits *out, const struct ri_env_edits *variables,
	const struct ri_context *context, struct ri_error *err);

/* What is wrong with the command on the nodes of this job. */

/*
 * Findings about what the command makes of a topology that is complete: a
 * launcher that waits for nodes which are not started, or is not told of them
 * (RI_CODE_NODES_WAITED, RI_CODE_LAUNCH_ROLE, RI_CODE_SOURCE_INCOMPLETE), and one
 * process where ranks were asked for (RI_CODE_NPROC_UNUSED,
 * RI_CODE_LAUNCH_RANKLESS); torchrun that is told to meet on a node which is not
 * node 0 (RI_CODE_MASTER_LOOPBACK). Of the command of a rank, by its words:
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
