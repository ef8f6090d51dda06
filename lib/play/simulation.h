/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What --simulate=NAME:NODESxRANKS[,FAULT...] asks for: whose job, of how many
 * nodes and ranks, and what goes wrong in it.
 */
#ifndef RI_PLAY_SIMULATION_H
#define RI_PLAY_SIMULATION_H

#include <stdint.h>

#include "base/error.h"
#include "from/sources.h"

enum {
	RI_MAX_SIMULATED = 256,		/* ranks of a job, all on one machine */
	RI_MAX_FAULTS = 32,
};

enum ri_fault_kind {
	RI_FAULT_ABSENT,	/* the node never comes */
	RI_FAULT_LATE,		/* it comes so many seconds after the others */
	RI_FAULT_KILL,		/* SIGKILL for the rank */
	RI_FAULT_HANG,		/* SIGSTOP for it */
	RI_FAULT_UNLINK,	/* the node's helper of --link dies: its connection alone */
	RI_FAULT_UNFIT,		/* the node is not fit for the job when it is checked for a start */
	RI_FAULT_STOP,		/* SIGTERM for all nodes, as a preemption or a scheduler sends it */
};

struct ri_fault {
	enum ri_fault_kind kind;
	size_t who;		/* a node, or a rank; 0 where it is of all */
	uint64_t at_ms;		/* after the start of the job; of a node absent or unfit 0 */
	uint64_t attempt;	/* of a node unfit: which start of the ranks, 0 the first */
};

struct ri_simulation {
	const struct ri_shape *shape;
	size_t nodes, ranks;	/* ranks of each node */
	struct ri_fault faults[RI_MAX_FAULTS];	/* the first that happens comes first */
	size_t fault_count;
};

/*
 * Read the value of the option. Fails with RI_CODE_OPTION_VALUE, also where a fault
 * makes no sense: of a rank or a node that there is not, or of one that never comes.
 */
int ri_simulation_read(struct ri_simulation *out, const struct ri_given *given,
	struct ri_error *err);

/* Does the fault happen to this node? */
const struct ri_fault *ri_simulation_fault_of(const struct ri_simulation *simulation,
	enum ri_fault_kind kind, size_t node);

#endif
