/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every stage from environment to variables works with. Only findings,
 * arena and what the host has learned are written to.
 */
#ifndef RI_MODEL_CONTEXT_H
#define RI_MODEL_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/env.h"
#include "base/error.h"
#include "base/host.h"
#include "command/command.h"

struct ri_wishes;

/* What only the machine can say of a place to meet at. Both ask the kernel. */
struct ri_meeting {
	bool (*is_here)(const char *host);	/* is it this machine, or may it be? */
	unsigned (*pick_port)(unsigned usual);	/* that one, or another one where it is in use */
};

struct ri_context {
	const struct ri_env *env;
	const struct ri_wishes *wishes;	/* of the user; NULL: none */
	struct ri_arena *arena;
	struct ri_findings *findings;
	const struct ri_command *command;	/* NULL: a process */
	struct ri_host *host;		/* the machine, which sources may ask, or NULL */
	const struct ri_meeting *meeting;	/* NULL: do not ask, as of a recorded machine */
	uint64_t fan_out;	/* processes of a node that are started here; 0: this is one */
};

#endif
