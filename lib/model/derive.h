/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from the facts that were read, in the order in which it is done.
 * Nothing that one of these says is taken back by a later one.
 */
#ifndef RI_MODEL_DERIVE_H
#define RI_MODEL_DERIVE_H

#include "base/error.h"
#include "base/text.h"
#include "model/context.h"
#include "model/topology.h"

/*
 * Where ranks are started here and only the node gives an identity: take it for a
 * job's one process on it, as it stands among the nodes. Where no source speaks of
 * nodes, it is the only one.
 * RI_CODE_LAUNCH_INCOMPLETE where it is one of several and nothing says which,
 * RI_CODE_LAUNCH_ROLE where it stands beside the ranks, RI_CODE_OPTION_CONFLICT
 * where a rank is stated that follows from the node's.
 */
int ri_topology_adopt_node(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err);

/*
 * Hold the facts against the rules, and add nnodes and local_world_size where
 * they follow. Needs an identity. Facts of the identity that contradict each
 * other are an error with the rule's code; any other fact that breaks a rule
 * becomes absent, with a finding.
 */
int ri_topology_count(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err);

/*
 * Make the topology what the command wants; for a command that is a rank by itself,
 * nothing. Without an identity RI_CODE_LAUNCH_SPLIT refuses a known launcher of a node's
 * ranks (mode node) where variables speak of other nodes, and no source or option makes a
 * place among them out of it: each node would run a job of its own.
 *
 * A launcher (mode node) starts the ranks of its node. With one process on each
 * node, that process's rank is the node's, and the world size their number. Both
 * hold whatever else was found, since every other node comes through here too.
 *
 * Ranks that are started here (context->fan_out): the topology becomes that of
 * the first of them, out of that of the node, or of the one process that starts
 * them, whose rank is the node's then. RANK is node_rank * fan_out + local_rank.
 *
 * Several processes on this node, a process that is not the first of its node,
 * and more processes than nodes are RI_CODE_LAUNCH_RANKS: each would start the
 * ranks of the whole node. A launcher that stays on its own (torchrun
 * --standalone) may run as often as one likes, and so may one that says itself
 * that each process is a node (torchrun --nnodes=16 of 16).
 */
int ri_topology_adapt(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err);

/* Does nothing that is known speak against equally filled nodes, in order? */
bool ri_topology_may_be_even(const struct ri_topology *topology);

/*
 * Add what is still missing: node_rank, master_addr, master_port. Without an
 * identity nothing. RI_CODE_NODE_RANK_* and RI_CODE_MASTER_ABSENT are findings, and
 * where ranks are started here and the machine may be asked (context->meeting)
 * a master that is another machine and a default port that is in use.
 */
void ri_topology_complete(struct ri_topology *topology, const struct ri_context *context);

/* Make the topology of one of the ranks that are started here that of another. */
void ri_topology_go_to(struct ri_topology *topology, uint64_t local_rank);

#endif
