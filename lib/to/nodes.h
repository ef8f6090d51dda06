/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_TO_NODES_H
#define RI_TO_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/context.h"
#include "model/topology.h"

/*
 * Make the topology that of a launcher which starts the ranks of its node:
 * with one process on each node, that process's rank is the node's, and the
 * world size their number. Both hold whatever else was found, since every
 * other node comes through here too.
 *
 * Several processes on this node, a process that is not the first of its
 * node, and more processes than nodes are RI_CODE_LAUNCH_RANKS: each would
 * start the ranks of the whole node. A launcher that stays on its own
 * (torchrun --standalone) may run as often as one likes, and so may one that
 * says itself that each process is a node (torchrun --nnodes=16 of 16).
 * A process that Kubeflow asks to be several is RI_CODE_NPROC_UNUSED, a
 * finding. Nothing else happens in other modes and without an identity.
 */
int ri_nodes_settle(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err);

/*
 * RI_CODE_MASTER_LOOPBACK where rank 0 is on another node and the master, which
 * must be known, is each machine itself. Not where an option states it: somebody
 * has nodes that share a machine, or a tunnel. Nor where nobody said it: then
 * all processes were on one machine before a launcher took them for nodes.
 */
int ri_nodes_refuse_loopback(const struct ri_topology *topology, struct ri_error *err);

/*
 * Make the topology that of the first of the ranks that are started here
 * (context->fan_out, none where it is 0), out of that of the node, or of the
 * one process that starts them: its rank is the node's, its world size the
 * number of nodes.
 * RANK is node_rank * fan_out + local_rank then. Several processes on this
 * node are RI_CODE_LAUNCH_RANKS, as above.
 */
int ri_nodes_fan_out(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err);

/* Make the topology of one of these ranks that of another. */
void ri_nodes_go_to(struct ri_topology *topology, uint64_t local_rank);

#endif
