/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the topology to variables: one framework per file, and the table of
 * them all in frameworks.def.
 */
#ifndef RI_TO_TO_H
#define RI_TO_TO_H

#include <stddef.h>

#include "base/env.h"
#include "base/error.h"
#include "model/context.h"
#include "model/topology.h"
#include "model/variable.h"

struct ri_writing;

/* One framework. Every field must be set. */
struct ri_framework {
	const char *name;	/* stable; stands in --frameworks */
	const char *summary;	/* one line for --list */
	const struct ri_variable *writes;	/* ends with a NULL name */
	/* Say what the variables shall be. */
	void (*render)(struct ri_writing *writing, const struct ri_topology *topology);
};

/* The table; NULL past its end. */
const struct ri_framework *ri_framework_at(size_t index);

/*
 * The edits that give the command the topology: none at all without an
 * identity, none for a variable that has exactly that value already and
 * stands there once. No value is empty. Two frameworks that want one variable
 * to differ are RI_CODE_ENV_CONFLICT.
 */
int ri_edits_render(struct ri_env_edits *out, const struct ri_topology *topology,
	const struct ri_context *context, struct ri_error *err);

#endif
