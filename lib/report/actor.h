/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which actor or task of Ray's a driver ended of, by the exception that it ended with. An actor
 * outlives what it raises, and so no end of a process tells of it.
 */
#ifndef RI_REPORT_ACTOR_H
#define RI_REPORT_ACTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/* The spans point into the text that was read. */
struct ri_actor {
	struct ri_span name;	/* its class, "Worker"; of a task its function; or empty */
	bool is_task;
	struct ri_span host;	/* where it ran, by its address; or empty */
	int64_t pid;
	int64_t rank;		/* that its repr() tells; -1: it does not */
	bool raised;		/* an exception; else it died */
	int exit_code;		/* that Ray knows; -1: it does not */
	bool out_of_memory;
	struct ri_span exception;	/* that the driver ended with: "Type: message" */
};

/* Does a driver that wrote this to its stderr end with an exception of Ray's? */
bool ri_actor_is_rays(struct ri_span text);

/* The last one that this exception names, which is the innermost. False: it names none. */
bool ri_actor_find(struct ri_span text, struct ri_actor *out);

#endif
