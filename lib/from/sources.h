/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all sources, whose order is the precedence, and how each of them is written. */
#ifndef RI_FROM_SOURCES_H
#define RI_FROM_SOURCES_H

#include <stdbool.h>

#include "base/env.h"
#include "model/topology.h"

/*
 * The rows of what a source reads, each of which has all that is said of one variable; and its
 * shapes, what the platform leaves for the members of a job, the other way round: --simulate
 * makes a job of these. They set nothing that the source does not read. Where it has one
 * shape, its values stand in the rows of what it reads.
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

/* A row ends where it has no more to say: what follows is zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* What a variable's presence says of its source. */
enum ri_sign {
	RI_NO_SIGN = 0,
	RI_SEEN = 1,		/* each of these is set, as ri_source_sees has it */
	RI_ONE_SEEN = 2,	/* one of these is set at least */
	RI_TEXT = 4,		/* with one of those: and it is not blank */
	RI_LINK = 8,		/* with one of those: even if it looks like a service's */
};

/* How ri_claim_rows claims what a variable says: by the function of reading.h so named. */
enum ri_take {
	RI_TAKE_NOTHING,
	RI_TAKE_NUMBER,
	RI_TAKE_FILLED,
	RI_TAKE_ELSE,		/* as filled, if the row above claims nothing */
	RI_TAKE_LABEL,
	RI_TAKE_HOST,
	RI_TAKE_GPUS,
	RI_TAKE_HOSTS,		/* with that byte between */
};

/* A row's take and fact. */
#define RI_NUMBER(fact_) RI_TAKE_NUMBER, .fact = RI_FACT_##fact_
#define RI_FILLED(fact_) RI_TAKE_FILLED, .fact = RI_FACT_##fact_
#define RI_ELSE(fact_) RI_TAKE_ELSE, .fact = RI_FACT_##fact_
#define RI_JOB_NAME RI_TAKE_LABEL, .fact = RI_FACT_JOB_ID
#define RI_MASTER RI_TAKE_HOST, .fact = RI_FACT_MASTER_ADDR
#define RI_GPUS RI_TAKE_GPUS, .fact = RI_FACT_NPROC
#define RI_HOSTS(between_) RI_TAKE_HOSTS, .between = (between_), .fact = RI_FACT_HOSTS

/*
 * One variable or file that a source reads. Most sources are rows alone:
 *
 *	{ "NODE", "index of this node", RI_SEEN, RI_NUMBER(NODE_RANK) },
 *
 * A row without a take is read by the source's own functions.
 */
struct ri_source_row {
	const char *name;
	const char *meaning;	/* what it says, in one line */
	unsigned char sign;	/* bits of enum ri_sign */
	enum ri_take take : 8;
	char between;		/* what stands between two hosts */
	enum ri_fact_id fact : 8;
	/* What a simulated job has there; NULL: what its take says of the member, if it has one;
	 * "": it is not set there. */
	const char *value;
	const char *cite;	/* where that was read, a document or a file; NULL: the source's */
	bool stated;		/* the frameworks read it themselves: who sets it wants it */
};

/* Of which nodes a row is, and of jobs with how many; one of a pair, or none: of both. */
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
	const struct ri_source_row *const *reads;	/* those with a value; or NULL */
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

/* That of a source's own name, with what it reads: of a PROCESS or a NODE. */
#define RI_SHAPE_OF(source, scope_) .name = #source, .reads = &ri_source_##source.reads, \
	.scope = RI_SCOPE_##scope_

/* A shape's rows, of struct ri_shape_row. */
#define RI_SHAPE_ROWS(...) (const struct ri_shape_row[]){ __VA_ARGS__, { .name = NULL } }

/* Ends a shape: where its grace_s, goes_on and states were read. No start needs that. */
#define RI_CITE(where)

/* Between SIGTERM and SIGKILL a pod has 30 s by default. */
#define RI_SHAPE_POD \
	"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle, Termination of Pods"

/* What mpirun of Open MPI sets, for those that are machines it runs on: openmpi.c. */
extern const struct ri_shape_row ri_shape_of_mpirun[];

/* What the job's author says where the platform does not: the nodes, and the master alone. */
extern const struct ri_shape_row ri_shape_states_nodes[];
#define ri_shape_states_master (ri_shape_states_nodes + 1)

/* One member of a simulated job: a process, or a node, whose local_rank is 0. */
struct ri_shape_member {
	size_t nodes, ranks;	/* of the job; of each node */
	size_t node, local_rank;
	unsigned port;		/* the master's: node n's own is n above it */
};

/* One of its rows, those beside first; false past the last. Whether it is of that member. */
bool ri_shape_row_at(const struct ri_shape *shape, size_t index, struct ri_shape_row *out);
bool ri_shape_row_is_of(const struct ri_shape_row *row, const struct ri_shape_member *member);

/* The value of the row, in the arena. NULL when out of memory. */
char *ri_shape_value(const struct ri_shape_row *row, const struct ri_shape_member *member,
	struct ri_arena *arena);

/* The master's port by default; and whether a row says it, <master_port>. */
unsigned ri_shape_port(const struct ri_shape *shape);
bool ri_shape_says_port(const struct ri_shape *shape);

/* The address of the node on a machine that plays all of them: 127.0.0.2 is that of node 0. */
char *ri_shape_host(size_t node, struct ri_arena *arena);

struct ri_reading;
struct ri_wishes;

enum ri_source_mpi {
	RI_SOURCE_NO_MPI,
	RI_SOURCE_OPENMPI,
	RI_SOURCE_MPICH,
	RI_SOURCE_MVAPICH2,
};

/* Of a launcher that stops its ranks or passes a signal on to them: whom does it reach? */
enum ri_source_signals {
	RI_SIGNALS_UNKNOWN,
	RI_SIGNALS_GROUP,	/* the process group of the rank, which the launcher made */
	RI_SIGNALS_STEP,	/* as Slurm's process tracking has it */
};

/* What a source reads, of struct ri_source_row. */
#define RI_READS(...) (const struct ri_source_row[]){ __VA_ARGS__, { .name = NULL } }

/* A source's shapes, which --simulate makes its jobs of. */
#define RI_SHAPES(...) \
	.shapes = (const struct ri_shape[]){ __VA_ARGS__ }, \
	.shape_count = sizeof((const struct ri_shape[]){ __VA_ARGS__ }) / sizeof(struct ri_shape)

/* One source. What is no bool or bit must be set, but for detect and read. */
struct ri_source {
	const char *name;	/* stable; stands in JSON and in --source */
	const char *summary;	/* one line for --list */
	unsigned identity;	/* what it can say who it is: bits of enum ri_scope */
	/*
	 * Its tuple carries no signature: between it and a launcher's, the one
	 * of the larger world was made inside the other.
	 */
	bool unsigned_tuple;
	bool manages;		/* it started each rank itself and watches over it */
	enum ri_source_mpi mpi;	/* whose processes its ranks are */
	enum ri_source_signals signals;
	/* Of RI_SIGNALS_GROUP the programs that start its ranks, "a|b", as /proc names them. */
	const char *launchers;
	bool over_ssh;		/* its ranks may lack what their container was given */
	/* Its variables are the container's. sshd drops them: source pid1 asks process 1. */
	bool of_container;
	/* A file alone may tell that it is there: --source=NAME reads it unseen. */
	bool hidden;
	/*
	 * A variable, one of reads, that the service sets in the processes of its
	 * jobs alone: with it even a process without a rank is no shell
	 * that looks into an image. NULL: there is none, as of an allocation,
	 * where people log in.
	 */
	const char *job;
	/*
	 * Of several sources that are recognised by this variable the first that is
	 * there reads it, and no other one. NULL: it has none to share.
	 */
	const char *shares;
	/* How its jobs start a command once on each node; NULL: by srun or mpirun. */
	const char *once;
	unsigned traits;	/* what follows where it is the identity: bits of enum ri_trait */
	unsigned port;		/* on which its jobs meet where no variable says; 0: it has none */
	const char *cite;	/* of the rows that have none; NULL: all of them have */
	const struct ri_source_row *reads;	/* by RI_READS; end with a NULL name */
	const struct ri_shape *shapes;	/* of its jobs, by RI_SHAPES; none: it starts no job */
	size_t shape_count;
	/*
	 * What the signs among reads cannot say; runs where they are there. Some look-ups,
	 * no allocation, no system call: it runs at every start. NULL: the signs say it all.
	 */
	bool (*detect)(const struct ri_env *env);
	/* Say everything it knows; runs only where it is there. NULL: the rows, ri_claim_rows. */
	void (*read)(struct ri_reading *reading);
};

enum {
#define RI_SOURCE(name) RI_SOURCE_AT_##name,
#include "from/sources.def"
#undef RI_SOURCE
	RI_SOURCE_COUNT
};

#define RI_SOURCE(name) extern const struct ri_source ri_source_##name;
#include "from/sources.def"
#undef RI_SOURCE

/* The table, in order of precedence; ends with NULL. */
extern const struct ri_source *const ri_sources[];

/* The shape at this place, in the order of the sources; that of a name without a '\0'; or NULL. */
const struct ri_shape *ri_source_shape_at(size_t index);
const struct ri_shape *ri_source_shape_find(const char *name, size_t length);

/* Has the text no bytes but blanks, or none at all? */
bool ri_text_is_blank(const char *text);

/* Does the environment show this source? Not so of one by hand, which options show. */
bool ri_source_is_seen(const struct ri_source *source, const struct ri_env *env);

/*
 * Is the variable set, and no link to a Kubernetes service? And is it not blank, of a name that
 * an image may set to an empty value?
 */
bool ri_source_sees(const struct ri_env *env, const char *variable);
bool ri_source_sees_text(const struct ri_env *env, const char *variable);

/*
 * Does the environment describe a task that srun started (schedulers.c)? Slurm's variables
 * are in every process of a job: in its batch script and in a shell of salloc they
 * describe the job, and below launchers that srun started they describe these.
 */
bool ri_source_sees_slurm_task(const struct ri_env *env);

/* The source of this identity; of NULL, or another word, one of which all fields are 0. */
const struct ri_source *ri_source_of(const char *identity);

/* Does a program of this name, which may end in ".openmpi" or so, start the source's ranks? */
bool ri_source_is_launcher(const struct ri_source *source, const char *name);

/* Does a source that may be read say that this process is a job's, with a rank or without? */
bool ri_sources_say_job(const struct ri_env *env, const struct ri_wishes *wishes);

#endif
