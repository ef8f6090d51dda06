/* SPDX-License-Identifier: Apache-2.0 */
/* Where the processes of this node meet those of the others, as far as it can be known. */
#ifndef RI_LINK_RENDEZVOUS_H
#define RI_LINK_RENDEZVOUS_H

#include <stdbool.h>
#include <stdint.h>

#include "link/part.h"
#include "model/context.h"
#include "model/topology.h"

struct ri_rendezvous {
	uint64_t node, nodes;
	uint64_t ranks;		/* that each node has, and that connect; 1 where it is not known */
	const char *host;	/* of node 0: MASTER_ADDR */
	uint16_t port;
	bool crowded;		/* several nodes are on this machine, and look the same */
};

/*
 * For whom part says that it owns the ranks of its node. Ranks that are started here meet at
 * MASTER_ADDR:MASTER_PORT, and so does a launcher of torch's that was not told of another place,
 * and a program of Python's alone on its node. Returns false where the ranks need not meet there:
 * for a shell or an unknown program, an elastic job, TensorFlow's TF_CONFIG, MPI
 * (is_mpi: the identity is an MPI rank's), a store of etcd's.
 */
bool ri_rendezvous_find(struct ri_rendezvous *out, const struct ri_topology *topology,
	const struct ri_context *context, const struct ri_link_part *part, bool is_mpi);

#endif
