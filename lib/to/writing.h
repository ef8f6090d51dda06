/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the render function of a framework works with. A failure is kept in
 * err; the caller looks there when the framework is done, so none has to.
 */
#ifndef RI_TO_WRITING_H
#define RI_TO_WRITING_H

#include "command/command.h"
#include "model/context.h"
#include "model/wishes.h"
#include "to/framework.h"

struct ri_writing {
	const struct ri_context *context;
	const struct ri_framework *framework;	/* whose turn it is */
	struct ri_env_edits wanted;	/* by all frameworks so far */
	struct ri_error *err;
};

/* Where the ranks of a job meet: both, or none. */
#define RI_RENDEZVOUS (RI_FROM(MASTER_ADDR) | RI_FROM(MASTER_PORT))

/*
 * The variable shall have this value, which must not be empty. Another
 * framework may want the same; wanting another one is RI_CODE_ENV_CONFLICT.
 * The strings are borrowed.
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

#endif
