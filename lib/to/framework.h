/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_TO_FRAMEWORK_H
#define RI_TO_FRAMEWORK_H

#include <stdbool.h>

#include "model/topology.h"

struct ri_wishes;
struct ri_writing;

/* One variable of a framework. --list and the documents print it. */
struct ri_variable {
	const char *name;
	const char *meaning;	/* what it says, in one line */
	const char *cite;	/* where that was read: a document or a source file */
};

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
	const struct ri_variable *writes;	/* ends with a NULL name; NULL: none */
	const struct ri_variable *looks;	/* ... at these alone; NULL: at none */
	/* It is written for where one of these speaks; ends with NULL. NULL: always. */
	const char *const *sources;
	/* The option that asks for it, whatever speaks, or NULL. NULL: none ever does. */
	const char *(*asked)(const struct ri_wishes *wishes);
	/*
	 * What each process gets: a rank, or the one of a node that starts ranks.
	 * What it needs must be told where the framework is asked for: else
	 * RI_CODE_FRAMEWORK_INCOMPLETE. Where to meet a launcher may know itself
	 * (to/nodes.h).
	 */
	struct ri_share rank;
	struct ri_share node;
	bool nameless;		/* render has something to say without an identity, too */
	/* Say what else the variables shall be. NULL: nothing. */
	void (*render)(struct ri_writing *writing, const struct ri_topology *topology);
	/* Judge what is there of it where it is not written for. NULL: nothing to judge. */
	void (*judge)(struct ri_writing *writing, const struct ri_topology *topology);
};

#endif
