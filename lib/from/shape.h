/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a platform leaves for the members of a job, the other way round than a source
 * reads it: --simulate makes a job of these. The shapes of a source stand in its file,
 * and set nothing that it does not read. Where it has one shape, its values stand in the
 * rows of what it reads (row.h).
 *
 * The value of a row has places between angle brackets:
 *
 *     <rank> <world_size> <local_rank> <ranks>   the process; how many a node has
 *     <node> <nodes> <worker> <workers>          the node; both without node 0
 *     <host> <port>                              the node's address, and a port of its own
 *     <master> <master_port>                     the same of node 0
 *     <each:SEP>...</each> <others:SEP>...</others>
 *                                                once for each node, or each but node 0
 */
#ifndef RI_FROM_SHAPE_H
#define RI_FROM_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "from/row.h"
#include "model/topology.h"

/* Of which nodes a row is, and of jobs with how many; none of a pair: of both. */
enum ri_shape_of {
	RI_OF_FIRST = 1,
	RI_OF_OTHERS = 2,
	RI_OF_ONE_NODE = 4,
	RI_OF_SEVERAL_NODES = 8,
};

enum { RI_MAX_SHAPE_FILES = 8 };

/*
 * A row's name stands in the table of what its source reads, or of what another one does
 * that reads there too: torch's own names, those of Azure Batch in a job of Azure ML.
 */
struct ri_shape_row {
	const char *name;	/* of a variable; what begins with '/' is a file */
	const char *value;
	unsigned of;		/* bits of enum ri_shape_of; 0: of all */
};

struct ri_shape {
	const char *name;	/* the source's, or that with _KIND behind it */
	const char *summary;	/* who starts what, for --list=simulations */
	const struct ri_source_row *reads;	/* its source's: those with a value; or NULL */
	const struct ri_shape_row *rows;	/* and these; end with a NULL name; or NULL */
	/* The same of the launcher inside an allocation, or of what the job's author states. */
	const struct ri_shape_row *beside;
	enum ri_scope scope;	/* each process is started, or a container on each node */
	unsigned port;		/* the master's by default; 0: 29500 */
	unsigned grace_s;	/* between a stop's SIGTERM and SIGKILL */
	/* The other nodes run on where one failed, and end by themselves. */
	bool goes_on;
	/* What the platform calls a job that ended well, failed, was stopped; NULL: nothing. */
	const char *succeeded, *failed, *stopped;
};

/* Ends a shape: where its grace_s, goes_on and states were read. No start needs that. */
#define RI_CITE(where)

/* Between SIGTERM and SIGKILL a pod has 30 s by default. */
#define RI_SHAPE_POD \
	"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle, Termination of Pods"

/* What mpirun of Open MPI sets, for those that are machines it runs on: openmpi.c. */
extern const struct ri_shape_row ri_shape_of_mpirun[];

/* What the job's author says where the platform does not: the master, and the nodes with it. */
extern const struct ri_shape_row ri_shape_states_master[], ri_shape_states_nodes[];

/* One member of a simulated job: a process, or a node, whose local_rank is 0. */
struct ri_shape_member {
	size_t nodes, ranks;	/* of the job; of each node */
	size_t node, local_rank;
	unsigned port;		/* the master's: node n's own is n above it */
};

/* One of its rows, those beside first. False past the last. */
bool ri_shape_row_at(const struct ri_shape *shape, size_t index, struct ri_shape_row *out);

bool ri_shape_row_is_of(const struct ri_shape_row *row, const struct ri_shape_member *member);

/* The value of the row, in the arena. NULL when out of memory. */
char *ri_shape_value(const struct ri_shape_row *row, const struct ri_shape_member *member,
	struct ri_arena *arena);

/* The master's port by default. */
unsigned ri_shape_port(const struct ri_shape *shape);

/* Does a row say the port of the master, <master_port>? */
bool ri_shape_says_port(const struct ri_shape *shape);

/* The address of the node on a machine that plays all of them: 127.0.0.2 is that of node 0. */
char *ri_shape_host(size_t node, struct ri_arena *arena);

#endif
