/* SPDX-License-Identifier: Apache-2.0 */
/* Starting ranks one after the other, each with the output that it gets. */
#ifndef RI_SHIM_INIT_SPAWN_RANKS_H
#define RI_SHIM_INIT_SPAWN_RANKS_H

#include "launch/children.h"
#include "init/output.h"

/* What a rank has of its own. */
struct ri_rank {
	char *const *argv;	/* NULL for the first: as struct ri_launch has it */
	char **envp;
	const struct ri_cpus *cpus;	/* as in struct ri_launch; of the first too */
};

/* What ranks beside the first one read from: /dev/null, closed by an exec. */
int ri_ranks_open_input(struct ri_error *err);

/*
 * Start all that there shall be in children; ranks: what each has of its own, NULL for a single
 * one. After a failure, which is in *err, those that run are the caller's to end.
 */
int ri_ranks_spawn(const struct ri_rank *ranks, struct ri_launch *launch,
	struct ri_children *children, struct ri_output *output, struct ri_error *err);

#endif
