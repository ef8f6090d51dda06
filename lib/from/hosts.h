/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hosts of a job as platforms write them: lists and files of hosts, the machines of a
 * scheduler's allocation, TF_CONFIG and its like, what Open MPI's daemons say; and which host
 * this machine is. All names that are read live in the arena.
 */
#ifndef RI_FROM_HOSTS_H
#define RI_FROM_HOSTS_H

#include "from/reading.h"

/*
 * Lists in Slurm's notation (src/common/hostlist.c), which Intel MPI uses for
 * groups of hosts as well: "n[08-11,20],gpu[1-2]-ib", in the order in which
 * the nodes count. And how many tasks each of these nodes has: "2(x3),1".
 */

struct ri_hostlist {
	const char *const *hosts;	/* in order; one may stand there twice */
	size_t count;
	const char *reason;		/* what was expected; NULL where the list is good */
	size_t fault_at;		/* where the text goes wrong */
};

/*
 * Read the text. Commas and blanks separate; several pairs of brackets in a
 * name count like the digits of a number, the last one fastest; digits in
 * front of a number's value are kept ("n[08-10]"). A list that is empty or wrong,
 * or has more than RI_MAX_RANKS hosts, has a reason and no hosts. False when out of memory.
 */
bool ri_hostlist_read(struct ri_hostlist *out, const char *text, struct ri_reading *reading);

struct ri_tasks {
	uint64_t nodes;		/* entries, those in "(x3)" one by one */
	uint64_t tasks;		/* of them all */
	uint64_t here;		/* of the node that was asked for; 0: no entry */
};

/* Read tasks per node. False, and *out as it was, where it is no such list. */
bool ri_tasks_read(const char *text, uint64_t node, struct ri_tasks *out);

/* Claim the hosts of such a list: known, or broken. */
struct ri_fact *ri_claim_hostlist(struct ri_reading *reading, const char *variable);

/*
 * Host files as launchers and schedulers write them: on each line a host, and
 * how many ranks it takes as "slots=8" (Open MPI, DeepSpeed), "host:8" (Hydra,
 * Intel MPI) or by as many lines (PBS, LSF); a '#' starts a comment. A host
 * that stands on several lines is one host, at its first place.
 */
struct ri_hostfile {
	const char *const *hosts;
	size_t count;
	const uint32_t *slots;	/* of each of them; 1 where the line does not say */
	size_t bad_line;	/* neither host nor comment, counted from 1; 0: there is none */
};

/* Read the text. False when out of memory. With a bad line count is 0. */
bool ri_hostfile_read(struct ri_hostfile *out, const char *text, struct ri_reading *reading);

/* The slots that each host from that index on has; 0 where they differ or there is none. */
uint32_t ri_hostfile_share(const struct ri_hostfile *file, size_t from);

/* The same of a list with blanks, "a a b", or in pairs "a 2 b 1". */
bool ri_hostfile_of_words(struct ri_hostfile *out, const char *words, bool pairs,
	struct ri_reading *reading);

/* The same of the file that the variable names; false also where it cannot be read. */
bool ri_hostfile_of_variable(struct ri_hostfile *out, const char *variable,
	struct ri_reading *reading);

/*
 * Is a host of a list this machine? By address where the list has addresses, by name where it has
 * names. An address proves it only if no other machine has it too, so loopback and link-local
 * ones never count. A bridge such as docker0 has the same address everywhere: therefore one single
 * host of a list has to be this machine, and two that are say nothing.
 */

/* Where a machine lists its addresses, for tables of what a source reads. */
#define RI_OWN_READS \
	{ .name = "/proc/net/fib_trie", .meaning = "addresses of this machine", \
	  .cite = "Linux net/ipv4/fib_trie.c, fib_trie_seq_show" }, \
	{ .name = "/proc/net/if_inet6", .meaning = "the same, IPv6", \
	  .cite = "Linux net/ipv6/addrconf.c, if6_seq_show" }

/* IPv4 as ::ffff:a.b.c.d. */
struct ri_address {
	unsigned char bytes[16];
};

struct ri_own_machine {
	const char *name;		/* NULL: not known */
	struct ri_address *addresses;	/* that may be its own alone, sorted */
	size_t count;
	bool knows_ipv4;		/* all of them stand in addresses */
	bool knows_ipv6;
};

enum ri_is_own {
	RI_OWN_UNKNOWN,
	RI_OWN_NO,
	RI_OWN_YES,
};

/* Ask the context's machine. What cannot be read is unknown; false only when out of memory. */
bool ri_own_read(struct ri_own_machine *out, struct ri_reading *reading);

/* The same, but for the name, out of the texts of the two files; either of them may be NULL. */
bool ri_own_parse(struct ri_own_machine *out, const char *fib_trie, const char *if_inet6,
	struct ri_reading *reading);

/*
 * Is this host (ri_is_host takes it) the machine? Another name than its own is
 * unknown, since a machine may have several.
 */
enum ri_is_own ri_own_is(const struct ri_own_machine *own, const char *host);

/* The place of the one host that is the machine; false if not just one is. */
bool ri_own_find(const struct ri_own_machine *own, const struct ri_fact *hosts, uint64_t *place);

/*
 * How others reach this machine: its only IPv4 address, that of Docker's
 * bridge left out, else its name, else NULL.
 */
const char *ri_own_host(const struct ri_own_machine *own, struct ri_arena *arena);

/* Equal, or one of them is the other's first label: "node7", "node7.cluster". */
bool ri_is_same_host(const char *a, const char *b);

/*
 * JSON that describes a cluster and the task that reads it, as TF_CONFIG and
 * CLUSTER_SPEC do:
 *
 *     {"cluster": {"worker": ["host:port", ...], ...}, "task": {"type": "worker", "index": 0}}
 *
 * Other keys are ignored. {} is no cluster, and so is one without a task.
 */

/* The types of tasks. The first two lists end with NULL. */
struct ri_cluster_types {
	const char *const *ranked;	/* in the order of their ranks */
	const char *const *others;	/* that have a role, and no rank */
	const char *const *roles;	/* of the others, in that order; NULL: called as they are */
};

struct ri_cluster {
	const char *role;		/* the task's type or role, as asked for; or NULL */
	uint64_t index;			/* of the task among its type */
	bool served;			/* does the cluster list parameter servers? */
	bool has_place;			/* does the task have a rank? */
	uint64_t place;			/* ... which is this one */
	const char *const *hosts;	/* of all tasks with a rank, in order */
	size_t count;			/* of hosts; 0 where they are not all known */
	bool lone;			/* a task, and no cluster to be one of */
	const char *fault;		/* what was expected; NULL where nothing is wrong */
	size_t fault_at;		/* where in the text, if not as a whole; else 0 */
};

/*
 * Read the text. False when out of memory. The role is one of the types. With a fault
 * there is no place, but there are hosts if the task alone is wrong. An object of some workers by
 * their index, as TFJob gives it to workers that come and go, leaves open how
 * many there are. Tasks that share a host are processes, and no nodes: then
 * there is the role alone.
 */
bool ri_cluster_read(struct ri_cluster *out, const char *text,
	const struct ri_cluster_types *types, struct ri_reading *reading);

/*
 * What Open MPI's daemons tell their children about themselves, in two grammars.
 *
 * A daemon's URI: "<job>.<index>;tcp://a,b:port;tcp6://[c,d]:port" (Open MPI
 * 4.1, orte/mca/oob/base/oob_base_stubs.c and orte/mca/oob/tcp; a PMIx server
 * writes the same shape, openpmix src/mca/ptl).
 * The node list: "vm,n[1:0-1]-x@0(3)": names, with ranges in brackets after
 * the number of their digits, and after '@' the daemons that run there
 * (Open MPI 4.1, orte/mca/regx).
 */

/* The index of the daemon whose URI this is; false where there is none. */
bool ri_ompi_uri_index(const char *uri, uint64_t *index);

/*
 * The first address in uri that is no loopback and, where other is not NULL,
 * does not stand in other too: what two machines both have (a docker bridge)
 * is the way to neither. False where there is none.
 */
bool ri_ompi_uri_address(const char *uri, const char *other, struct ri_span *out);

/*
 * The name of the node that daemon index runs on; NULL where the list does not say, or cannot be
 * read.
 */
const char *ri_ompi_regex_host(const char *regex, uint64_t index, struct ri_reading *reading);

/* Of a rank what leads to its node. */
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
 * Which node the rank runs on. OMPI_COMM_WORLD_NODE_RANK does not say so: it counts processes on
 * the node (Open MPI 5.0, docs/tuning-apps/environment-var.rst).
 * Daemons are numbered as nodes are, but for mpirun's node, which is number 0
 * whether or not it has ranks, and for nodes that have none. False where what
 * is known leaves more than one answer, or none.
 */
bool ri_ompi_node_rank(const struct ri_ompi_place *place, uint64_t *node_rank);

#endif
