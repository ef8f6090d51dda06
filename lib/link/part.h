/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does this rankinit take part in the link of its job, and as what? And where do the processes of
 * this node meet those of the others, as far as it can be known?
 */
#ifndef RI_LINK_PART_H
#define RI_LINK_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "model/context.h"
#include "model/topology.h"

enum {
	RI_LINK_PORT = 9471,	/* the first of those that the centre tries */
	RI_LINK_PORTS = 8,
};

struct ri_link_part {
	const char *why_not;	/* it takes no part: why, in a few words; NULL: it does */
	uint64_t node, nodes;
	const char *centre;	/* MASTER_ADDR */
	bool may_stop;		/* its ranks, for another node's failure */
	const char *job;	/* what tells it from other jobs of the same secret */
	bool unique;		/* ... and it does, also where node 0 of both is on one host */
	/* to try, in this order; 0: no more. None: the one that was asked for is the job's own */
	uint16_t ports[RI_LINK_PORTS];
};

/*
 * By the topology, once it is complete, and the command. port: the only one to use; 0: the usual
 * ones, but those where the job itself meets. Returns 0, or -1 where memory ran out.
 */
int ri_link_part_find(struct ri_link_part *out, const struct ri_topology *topology,
	const struct ri_context *context, uint16_t port);

/* "port 7000" or "ports 9471 to 9478" */
void ri_link_ports_add(struct ri_text *out, const struct ri_link_part *part);

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

/*
 * What a launcher is told of that by a word, else by a variable of torchrun's (NULL: there is
 * none); "" for a word without a value, NULL where it is not told, or is not known.
 */
const char *ri_told_find(const struct ri_context *context, const char *option,
	const char *variable);

#endif
