/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which node an Open MPI rank runs on, from the index of its node's daemon.
 * OMPI_COMM_WORLD_NODE_RANK does not say so: it counts processes on the node
 * (Open MPI 5.0, docs/tuning-apps/environment-var.rst).
 */
#ifndef RI_FROM_OMPI_PLACE_H
#define RI_FROM_OMPI_PLACE_H

#include <stdbool.h>
#include <stdint.h>

struct ri_ompi_place {
	uint64_t rank;
	uint64_t world_size;
	uint64_t local_rank;
	uint64_t local_world_size;
	uint64_t daemon;	/* index of the daemon on this node */
	uint64_t nodes;		/* that have ranks; 0: not known (Open MPI 5) */
	uint64_t daemons;	/* in all; 0: not known, as many as nodes */
};

/*
 * Daemons are numbered as nodes are, but for mpirun's node, which is number 0
 * whether or not it has ranks, and for nodes that have none. False where what
 * is known leaves more than one answer, or none.
 */
bool ri_ompi_node_rank(const struct ri_ompi_place *place, uint64_t *node_rank);

#endif
