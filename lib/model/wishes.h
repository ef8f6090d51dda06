/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user wants by options: facts stated by hand, and choices. The
 * options' reader has looked up the names of sources and frameworks; later rooms
 * check the rest.
 */
#ifndef RI_MODEL_WISHES_H
#define RI_MODEL_WISHES_H

#include <stdbool.h>

#include "base/error.h"
#include "model/topology.h"

struct ri_wishes {
	struct ri_given facts[RI_FACT_COUNT];	/* of hosts: a list with commas between */
	struct ri_given hostfile;	/* the path; its content is in hostfile_text */
	const char *hostfile_text;	/* NULL where no file was read */
	struct ri_given nproc;	/* --nproc-per-node, in words */
	uint64_t nproc_count;	/* what they come to; 0: not stated */
	struct ri_given source;	/* that must say who we are; "none": nothing is read */
	const char *frameworks;	/* names with commas between, or "none"; NULL: auto */
	struct ri_given tf_ps;		/* TF_CONFIG: hosts, from the end, for parameter servers */
	uint64_t tf_ps_count;		/* what it comes to */
};

/* All of these take NULL for no wishes at all. */

/* The first option or twin that states a fact; NULL where there is none. */
const char *ri_wishes_subject(const struct ri_wishes *wishes);

/* The value that this option or twin states, or NULL. */
const char *ri_wishes_get(const struct ri_wishes *wishes, const char *subject);

/* May this source say who we are? */
bool ri_wishes_allow_source(const struct ri_wishes *wishes, const char *name);

/* Shall nothing be read at all (--source=none)? */
bool ri_wishes_refuse_all(const struct ri_wishes *wishes);

/* May this framework be written for? */
bool ri_wishes_allow_framework(const struct ri_wishes *wishes, const char *name);

/* Is it named in a list of frameworks? */
bool ri_wishes_name_framework(const struct ri_wishes *wishes, const char *name);

#endif
