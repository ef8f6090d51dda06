/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does this rankinit take part in the link of its job, and as what? And where do the processes of
 * this node meet those of the others, as far as it can be known?
 */
#ifndef RI_LINK_PART_H
#define RI_LINK_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "model/context.h"
#include "model/topology.h"
#include "node/sockets.h"

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
 * arrival.c: who has come to where the nodes meet, as this node's sockets show it, and the line
 * about it. It is what a job without --link can know: node 0 sees connections, and the others see
 * their own.
 */

enum ri_arrival_state {
	RI_ARRIVAL_UNSEEN,	/* sockets cannot be read */
	RI_ARRIVAL_MET,		/* or, at node 0, it may be so */
	/* Of node 0. */
	RI_ARRIVAL_DEAF,	/* no process listens yet */
	RI_ARRIVAL_PART,	/* nodes are missing */
	/* Of the others: no process of theirs has connected. */
	RI_ARRIVAL_NAMELESS,	/* node 0 has no address */
	RI_ARRIVAL_REFUSED,	/* no process listens there yet */
	RI_ARRIVAL_OPEN,	/* one does */
	RI_ARRIVAL_SILENT,	/* no answer */
	RI_ARRIVAL_UNREACHABLE,
	RI_ARRIVAL_AWAY,	/* more is not known */
};

enum {
	RI_ARRIVAL_PEERS = 16384,	/* room for addresses; more nodes are not counted */
	RI_ARRIVAL_LINE = 800,
};

/* What the sockets show. All but the first three starts as zeroes. */
struct ri_arrivals {
	const struct ri_rendezvous *place;
	const unsigned char (*masters)[16];	/* the addresses of node 0, on the others */
	size_t master_count;			/* 0: not known, so the port alone counts */
	bool listens;		/* node 0: a process of this machine does */
	size_t own;		/* connections of this machine's own processes */
	size_t foreign;		/* and of others */
	size_t peer_count;	/* addresses that these are of */
	unsigned char peers[RI_ARRIVAL_PEERS][16];	/* in no order; zeroes: none */
	size_t calling;		/* others: connections to node 0 that have no answer yet */
	size_t connected;	/* ... and that have, or had */
};

/* One more socket. */
void ri_arrivals_add(struct ri_arrivals *arrivals, const struct ri_socket *socket);

/*
 * What follows: on node 0 MET, DEAF or PART, on the others MET, SILENT if a process of theirs
 * calls in vain, or AWAY. Several nodes may have one address (NAT, the host's network, a service
 * mesh): with as many connections as all nodes need they may have met.
 */
enum ri_arrival_state ri_arrivals_judge(const struct ri_arrivals *arrivals);

/* One address of a node, by the job's own list of hosts. */
struct ri_arrival_host {
	size_t node;
	unsigned char address[16];
};

/*
 * Which nodes have no connection: missing[node], of the place's nodes. Returns false where that is
 * not certain, as some peer is none of these addresses or has that of several nodes.
 */
bool ri_arrivals_name(const struct ri_arrivals *arrivals, const struct ri_arrival_host *hosts,
	size_t count, bool *missing);

/* What one look is about. */
struct ri_arrival_look {
	const struct ri_rendezvous *place;
	enum ri_arrival_state state;
	uint64_t ms;		/* since the start */
	const char *why;	/* NAMELESS, UNREACHABLE: in a few words */
	const struct ri_arrivals *arrivals;	/* PART */
	const bool *missing;	/* PART: which nodes; NULL: not known */
	const char *const *hosts;	/* their names, with missing */
};

/* The line, without an end. For MET it says that what was said before is over. */
void ri_arrival_say(struct ri_text *out, const struct ri_arrival_look *look);

#endif
