/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every stage from environment to variables works with. Only findings
 * and arena are written to.
 */
#ifndef RI_MODEL_CONTEXT_H
#define RI_MODEL_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/env.h"
#include "base/finding.h"
#include "base/host.h"
#include "command/command.h"

struct ri_wishes;

struct ri_context {
	const struct ri_env *env;
	const struct ri_wishes *wishes;	/* of the user; NULL: none */
	struct ri_arena *arena;
	struct ri_findings *findings;
	const struct ri_command *command;	/* NULL: a process */
	struct ri_host *host;		/* whose files sources may read, or NULL */
	uint64_t fan_out;	/* processes of a node that are started here; 0: this is one */
	/*
	 * Does /proc on that host show our own PID namespace? Whoever fills
	 * this in has looked.
	 */
	bool proc_is_ours;
	const char *host_name;		/* of this machine; NULL: not known, or not wanted */
};

#endif
