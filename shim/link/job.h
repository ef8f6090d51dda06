/* SPDX-License-Identifier: Apache-2.0 */
/* This node as one of its job's: what the link, and the roll call without it, know of it. */
#ifndef RI_SHIM_LINK_JOB_H
#define RI_SHIM_LINK_JOB_H

#include "base/error.h"
#include "launch/children.h"
#include "link/part.h"
#include "link/roll_call.h"
#include "options/options.h"
#include "system/mask.h"

struct ri_link_job {
	const struct ri_options *options;
	const struct ri_topology *topology;
	const struct ri_context *context;
	const char *host;		/* of this node; NULL: not known, or there is no link */
	const struct ri_children *children;
	const struct ri_stop *stop;	/* that came from outside */
	struct ri_link_part part;	/* of this node; take_part.c finds it, where it matters */
};

/*
 * --link: begin, where this node takes part; a link that cannot be is a warning. Returns 0, or -1
 * where its key cannot be used.
 */
int ri_link_join(struct ri_link_job *job, struct ri_error *err);

/* Without a link, is it missed here if the nodes do not meet? Then *roll is about that. */
bool ri_link_calls_roll(struct ri_link_job *job, struct ri_roll_call *roll);

#endif
