/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Open MPI's daemons tell their children about themselves, in two grammars, and
 * which node a rank runs on by that.
 *
 * A daemon's URI: "<job>.<index>;tcp://a,b:port;tcp6://[c,d]:port" (Open MPI
 * 4.1, orte/mca/oob/base/oob_base_stubs.c and orte/mca/oob/tcp; a PMIx server
 * writes the same shape, openpmix src/mca/ptl).
 * The node list: "vm,n[1:0-1]-x@0(3)": names, with ranges in brackets after
 * the number of their digits, and after '@' the daemons that run there
 * (Open MPI 4.1, orte/mca/regx).
 */
#ifndef RI_FROM_OPENMPI_H
#define RI_FROM_OPENMPI_H

#include <stdint.h>

#include "from/reading.h"

/* The index of the daemon whose URI this is; false where there is none. */
bool ri_ompi_uri_index(const char *uri, uint64_t *index);

/*
 * The first address in uri that is no loopback and, where other is not NULL,
 * does not stand in other too: what two machines both have (a docker bridge)
 * is the way to neither. False where there is none.
 */
bool ri_ompi_uri_address(const char *uri, const char *other, struct ri_span *out);

/*
 * The name of the node that daemon index runs on. False where the list does
 * not say, cannot be read, or the name is longer than size - 1.
 */
bool ri_ompi_regex_host(const char *regex, uint64_t index, char *name, size_t size);

/*
 * Which node a rank runs on, from the index of its node's daemon.
 * OMPI_COMM_WORLD_NODE_RANK does not say so: it counts processes on the node
 * (Open MPI 5.0, docs/tuning-apps/environment-var.rst).
 */
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
