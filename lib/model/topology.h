/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct ri_topology: who this process is, as a set of facts. Every fact
 * knows where it came from and which candidates it beat, so that messages,
 * `--explain` and the report all print from the same place.
 */
#ifndef RI_MODEL_TOPOLOGY_H
#define RI_MODEL_TOPOLOGY_H

#include "base/error.h"
#include "base/text.h"

enum ri_fact_id {
#define RI_FACT(symbol, name, group, min, max) RI_FACT_##symbol,
#include "model/facts.def"
#undef RI_FACT
	RI_FACT_COUNT
};

/* See facts.def. */
enum ri_fact_group {
	RI_GROUP_TUPLE,
	RI_GROUP_PLACE,
	RI_GROUP_SHARED,
	RI_GROUP_EXTRA,
};

/*
 * What an identity is of. A process has a rank; a node (a pod, a container)
 * has a place among the nodes, and who starts its processes gives them ranks.
 * Bits, since a source may know both.
 */
enum ri_scope {
	RI_SCOPE_NONE = 0,
	RI_SCOPE_PROCESS = 1,
	RI_SCOPE_NODE = 2,
};

/* Roles: a process that starts the ranks; the one node on which the job's command is started. */
#define RI_ROLE_LAUNCHER "launcher"
#define RI_ROLE_PRIMARY "primary"
/* Processes that serve or watch the ranks, and are none of them. */
#define RI_ROLE_PS "ps"
#define RI_ROLE_EVALUATOR "evaluator"

/* The source of what the user states, and of ranks that are started here. */
#define RI_BY_HAND "manual"

/* What follows from the source that says who we are for those that come after it: bits. */
enum ri_trait {
	RI_TRAIT_BY_HAND = 1,	/* the user states it */
	RI_TRAIT_ANYBODYS = 2,	/* nothing tells who set its variables: an image may have */
	RI_TRAIT_STORE = 4,	/* an agent of torchrun keeps a store for its ranks */
	RI_TRAIT_ASKS_RANKS = 8,	/* a node is asked to start as many ranks as there are */
	RI_TRAIT_NAMES_JOB = 16,	/* the name that it gives node 0 is a pod's, of one job */
	RI_TRAIT_BELOW = 32,	/* a rankinit above this one set its variables */
};

enum ri_fact_state {
	RI_STATE_ABSENT,	/* no source said it */
	RI_STATE_KNOWN,
	RI_STATE_BROKEN,	/* said, but in a way that cannot be used */
	RI_STATE_OPEN,		/* evidence was found, and it does not decide */
};

/* Which of several candidates wins; among equals the inner source's. */
enum ri_strength {
	RI_STRENGTH_DEFAULT,	/* holds until a source says better */
	RI_STRENGTH_SAID,
	RI_STRENGTH_STATED,	/* the variable that the frameworks read themselves */
	RI_STRENGTH_MANUAL,	/* an option of the user's */
};

/* One bit for each fact that another one was derived from. */
#define RI_FROM(symbol) (1u << RI_FACT_##symbol)

enum {
	/*
	 * MASTER_PORT where no source says one: torchrun's static default, and what most
	 * scripts write (PyTorch, torch/distributed/run.py, --master-port).
	 */
	RI_DEFAULT_PORT = 29500,
};

struct ri_origin {
	const char *source;	/* a source's name, "derived" or "default" */
	const char *variable;	/* NULL where it was not read from one */
	const char *raw;	/* its value, secrets masked, borrowed; "": variable is NULL */
	unsigned from;		/* derived: RI_FROM(...) | ... */
};

struct ri_fact {
	enum ri_fact_state state;
	enum ri_strength strength;
	uint64_t number;		/* of hosts: how many */
	const char *text;		/* of a fact that is no number */
	const char *const *list;	/* hosts alone, not ended by NULL */
	bool served;			/* role alone: the job has parameter servers */
	const char *reason;		/* broken: what was expected; open: what is missing */
	size_t fault_at;		/* broken: where in origin.raw it goes wrong */
	struct ri_origin origin;
	struct ri_fact *next;		/* the candidates that lost, best first */
};

struct ri_topology {
	const char *identity;	/* the source that says who we are; NULL: none does */
	enum ri_scope scope;	/* what it speaks of; of a node, the tuple is absent */
	unsigned traits;	/* of that source: bits of enum ri_trait */
	/* How a command is started once on each node, where these jobs have one way. */
	const char *once;
	const char *const *sources;	/* every source that had something to say */
	size_t source_count;
	struct ri_fact facts[RI_FACT_COUNT];
};

/* Its row in facts.def: "local_world_size", and the numbers that it may have. */
const char *ri_fact_name(enum ri_fact_id id);
enum ri_fact_group ri_fact_group(enum ri_fact_id id);
struct ri_range ri_fact_range(enum ri_fact_id id);

/* Is the fact known? Then *out is its number. */
bool ri_topology_get(const struct ri_topology *topology, enum ri_fact_id id, uint64_t *out);
bool ri_topology_knows(const struct ri_topology *topology, enum ri_fact_id id);

/* It is this number from now on, since it follows from others: RI_FROM(...) | ... */
void ri_topology_derive(struct ri_topology *topology, enum ri_fact_id id, uint64_t number,
	unsigned from);

/* The same as words for a hint: of a source, or of srun and mpirun. */
const char *ri_topology_once(const struct ri_topology *topology);

/* Does the job have ranks on another node, by whatever is known of it? */
bool ri_topology_is_wide(const struct ri_topology *topology);

/* Is this the job's launcher, which starts the ranks? */
bool ri_topology_is_launcher(const struct ri_topology *topology);

/* Is this a role beside the ranks, as a parameter server has? Has this process one? */
bool ri_role_is_beside(const char *role);
bool ri_topology_is_beside(const struct ri_topology *topology);

/*
 * What a message about the fact is about: the variable it was read from, for
 * a fact derived from one other that one's, else the name of the fact.
 */
const char *ri_topology_subject(const struct ri_topology *topology, enum ri_fact_id id);

/* A candidate that was said, but in a way that cannot be used; or NULL. */
const struct ri_fact *ri_fact_find_broken(const struct ri_fact *fact);

struct ri_context;

/*
 * What follows from the facts that were read, in the order in which it is done. No step takes
 * back what an earlier one said.
 *
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
 * place among them out of it, or the user lists hosts of which this is none: each node would run
 * a job of its own.
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
