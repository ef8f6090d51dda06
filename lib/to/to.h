/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the topology to variables: one framework (frameworks.def has them all), what its render
 * function works with, and what all of them come to. A failure is kept in err; the caller looks
 * there when the framework is done, so none has to.
 */
#ifndef RI_TO_TO_H
#define RI_TO_TO_H

#include "command/command.h"
#include "model/context.h"
#include "model/topology.h"

struct ri_writing;

/* One variable of a framework. --list and the documents print it. */
struct ri_variable {
	const char *name;
	const char *meaning;	/* what it says, in one line */
	const char *cite;	/* where that was read: a document or a source file */
};

#define RI_VARIABLES(...) (const struct ri_variable[]){ __VA_ARGS__, { .name = NULL } }

/* Facts under their usual names, RI_FROM(...) | ...: RANK, MASTER_ADDR. */
struct ri_share {
	unsigned gets;	/* of what is known */
	unsigned needs;	/* without which it cannot start */
};

/* One framework. What has no comment that says otherwise must be set. */
struct ri_framework {
	const char *name;	/* stable; stands in --frameworks */
	const char *summary;	/* one line for --list */
	const char *when;	/* in which launch what is written: a sentence for the documents */
	const struct ri_variable *writes;	/* by RI_VARIABLES; NULL: none */
	const struct ri_variable *looks;	/* ... at these alone; NULL: at none */
	/* It is written for where one of these speaks; ends with NULL. NULL: always. */
	const char *const *sources;
	/* The option that asks for it, whatever speaks, or NULL. NULL: none ever does. */
	const char *(*asked)(const struct ri_wishes *wishes);
	/*
	 * What each process gets: a rank, or the one of a node that starts ranks.
	 * What it needs must be told where the framework is asked for: else
	 * RI_CODE_FRAMEWORK_INCOMPLETE. Where to meet a launcher may know itself.
	 */
	struct ri_share rank;
	struct ri_share node;
	bool nameless;		/* render has something to say without an identity, too */
	/* Say what else the variables shall be. NULL: nothing. */
	void (*render)(struct ri_writing *writing, const struct ri_topology *topology);
	/* Judge what is there of it where it is not written for. NULL: nothing to judge. */
	void (*judge)(struct ri_writing *writing, const struct ri_topology *topology);
};

struct ri_writing {
	const struct ri_context *context;
	const struct ri_framework *framework;	/* whose turn it is */
	struct ri_env_edits wanted;	/* by all frameworks so far */
	struct ri_error *err;
};

/* Where the ranks of a job meet: both, or none. */
#define RI_RENDEZVOUS (RI_FROM(MASTER_ADDR) | RI_FROM(MASTER_PORT))

/* Names that are read by all of them: RANK, WORLD_SIZE ... MASTER_PORT, of the first facts. */
extern const char *const ri_usual_names[RI_FACT_MASTER_PORT + 1];

/*
 * The variable shall have this value, which must not be empty; NULL is one for which
 * there was no memory. Another framework may want the same; wanting another one is
 * RI_CODE_ENV_CONFLICT. The strings are borrowed.
 */
void ri_want(struct ri_writing *writing, const char *variable, const char *value);

/*
 * The variable shall not be there. Wanting a value for it is
 * RI_CODE_ENV_CONFLICT, in whatever order.
 */
void ri_want_gone(struct ri_writing *writing, const char *variable);

/* The variable shall have this number; the number or text of this fact, if it is known. */
void ri_want_number(struct ri_writing *writing, const char *variable, uint64_t number);
void ri_want_fact(struct ri_writing *writing, const char *variable,
	const struct ri_topology *topology, enum ri_fact_id id);

/* Is this framework named in --frameworks, or an option given that asks for it? */
bool ri_writing_is_asked(const struct ri_writing *writing);

/* Is this the name of the identity's source, or of another one that spoke? */
bool ri_writing_has_source(const struct ri_topology *topology, const char *const *names);

/* Is the command one on each node: by its mode, or since no ranks exist yet? */
bool ri_writing_is_of_nodes(const struct ri_writing *writing, const struct ri_topology *topology);

/*
 * What several ranks must not inherit from the one process that starts them, a launcher or
 * ourselves (here), stands in scrub.def: does that remove the variable of that name, which need
 * not end in '\0'? And remove all of these that are there.
 */
bool ri_scrub_removes(const char *name, size_t length, bool here);
void ri_scrub(struct ri_writing *writing);

/* The table; ends with NULL. */
extern const struct ri_framework *const ri_frameworks[];

/*
 * The variables that the command shall have and, as edits without a value,
 * those that it must not have. Ranks that are started here have RANK,
 * WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE among them in any case. Without
 * an identity none but how many ranks a launcher shall start, and none where
 * the command starts the whole job (context->command). No value is empty. Two
 * frameworks that want one variable to differ are RI_CODE_ENV_CONFLICT. A
 * framework whose option is given and whose name is not in --frameworks is
 * RI_CODE_OPTION_CONFLICT; what one lacks that is asked for is
 * RI_CODE_FRAMEWORK_INCOMPLETE. jansson's hash must have been seeded
 * (json_object_seed).
 */
int ri_variables_render(struct ri_env_edits *out, const struct ri_topology *topology,
	const struct ri_context *context, struct ri_error *err);

/*
 * Those of the variables that have to be edited: all but what has exactly
 * that value already and stands there once, or is absent as it should be.
 */
int ri_variables_reduce(struct ri_env_edits *out, const struct ri_env_edits *variables,
	const struct ri_context *context, struct ri_error *err);

/*
 * Findings about what the command makes of a topology that is complete: a
 * launcher that waits for nodes which are not started, or is not told of them
 * (RI_CODE_NODES_WAITED, RI_CODE_LAUNCH_ROLE, RI_CODE_SOURCE_INCOMPLETE), and one
 * process where ranks were asked for (RI_CODE_NPROC_UNUSED,
 * RI_CODE_LAUNCH_RANKLESS); torchrun that is told to meet on a node which is not
 * node 0 (RI_CODE_MASTER_LOOPBACK). Of the command of a rank, by its words:
 *
 * RI_CODE_LAUNCH_HIDDEN: a launcher in a shell's words, which cannot be told of
 * the job, so that each rank makes one of its own; a note where a shell's
 * script may have one in it. Not where its own words say where the nodes meet.
 * RI_CODE_RANKS_WAITED: it is told to use more devices than ranks are here, as
 * a Trainer of Lightning's, which starts ranks unless LOCAL_RANK is set.
 */
void ri_nodes_judge(const struct ri_topology *topology, const struct ri_context *context);

/*
 * RI_CODE_MASTER_LOOPBACK where rank 0 is on another node and the master, which
 * must be known, is each machine itself. Not where an option states it: nodes
 * may share a machine, or have a tunnel. Nor where no source said it: then
 * all processes were on one machine before a launcher took them for nodes.
 */
int ri_nodes_refuse_loopback(const struct ri_topology *topology, struct ri_error *err);

/* A TF_CONFIG that is there already, as TensorFlow would read it. */
struct ri_tf_config {
	size_t tasks;		/* in its cluster; 0: a job of this process alone */
	const char *reason;	/* why TensorFlow would refuse it; NULL: it would not */
};

/* Never fails. jansson's hash must have been seeded. */
void ri_tf_config_read(struct ri_tf_config *out, const char *text);

#endif
