/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_TO_NODES_H
#define RI_TO_NODES_H

#include <stdbool.h>

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
 * (torchrun --standalone) may run as often as one likes. Nothing happens in
 * other modes and without an identity.
 */
int ri_nodes_settle(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err);

/* Is this host, as a master, each machine itself? */
bool ri_master_is_loopback(const char *host);

/*
 * Was torchrun told not to look beyond this process: --standalone, or
 * --nnodes=1, or PET_STANDALONE=1?
 */
bool ri_nodes_alone(const struct ri_context *context);

#endif
