/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every stage from environment to variables works with. Only findings,
 * arena and what the host has learned are written to.
 */
#ifndef RI_MODEL_CONTEXT_H
#define RI_MODEL_CONTEXT_H

#include "base/env.h"
#include "base/host.h"
#include "command/command.h"
#include "model/topology.h"

/*
 * What the user wants by options: facts stated by hand, and choices. The
 * options' reader has looked up the names of sources and frameworks; later rooms
 * check the rest.
 */
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

/* The first option or twin that states a fact, or NULL; the value that this one states, or NULL. */
const char *ri_wishes_subject(const struct ri_wishes *wishes);
const char *ri_wishes_get(const struct ri_wishes *wishes, const char *subject);

/* May this source say who we are? Shall nothing be read at all (--source=none)? */
bool ri_wishes_allow_source(const struct ri_wishes *wishes, const char *name);
bool ri_wishes_refuse_all(const struct ri_wishes *wishes);

/* May this framework be written for? Is it named in a list of them? */
bool ri_wishes_allow_framework(const struct ri_wishes *wishes, const char *name);
bool ri_wishes_name_framework(const struct ri_wishes *wishes, const char *name);

/* What only the machine can say of a place to meet at. Both ask the kernel. */
struct ri_meeting {
	bool (*is_here)(const char *host);	/* is it this machine, or may it be? */
	/* that one, or another one where it is in use; NULL: where several have to agree */
	unsigned (*pick_port)(unsigned usual);
};

struct ri_context {
	const struct ri_env *env;
	const struct ri_wishes *wishes;	/* of the user */
	struct ri_arena *arena;
	struct ri_findings *findings;
	const struct ri_command *command;	/* where there is none a process without words */
	struct ri_host *host;		/* the machine, which sources may ask, or NULL */
	const struct ri_meeting *meeting;	/* NULL: do not ask, as of a recorded machine */
	uint64_t fan_out;	/* processes of a node that are started here; 0: this is one */
};

/*
 * What a known launcher is told by this option, else by a variable that torchrun takes for it
 * (NULL: there is none); "" for an option without a value, NULL where it is not told.
 */
const char *ri_context_told(const struct ri_context *context, const char *option,
	const char *variable);

#endif
