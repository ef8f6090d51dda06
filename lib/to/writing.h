/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One framework, and what its render function works with. A failure is kept in
 * err; the caller looks there when the framework is done, so none has to.
 */
#ifndef RI_TO_WRITING_H
#define RI_TO_WRITING_H

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
	 * RI_CODE_FRAMEWORK_INCOMPLETE. Where to meet a launcher may know itself
	 * (to/to.h).
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

/* The variable shall have this number. */
void ri_want_number(struct ri_writing *writing, const char *variable, uint64_t number);

/* The variable shall have the number or text of this fact, if it is known. */
void ri_want_fact(struct ri_writing *writing, const char *variable,
	const struct ri_topology *topology, enum ri_fact_id id);

/* The option that asks for this framework, or NULL. */
const char *ri_writing_option(const struct ri_writing *writing);

/* Is this framework named in --frameworks, or an option given that asks for it? */
bool ri_writing_is_asked(const struct ri_writing *writing);

/* Is this the name of the identity's source, or of another one that spoke? */
bool ri_writing_has_source(const struct ri_topology *topology, const char *const *names);

/* Is there one process on each node: by the command, or since no ranks exist yet? */
bool ri_writing_is_of_nodes(const struct ri_writing *writing, const struct ri_topology *topology);

/* How the command is launched. */
enum ri_mode ri_writing_mode(const struct ri_writing *writing);

/*
 * Does scrub.def remove the variable of that name, which need not end in '\0'? It has what
 * several ranks must not inherit from the one process that starts them, a launcher or
 * ourselves. here: we start the ranks ourselves.
 */
bool ri_scrub_removes(const char *name, size_t length, bool here);

/* Remove everything that is there and in the table. */
void ri_scrub(struct ri_writing *writing);

#endif
