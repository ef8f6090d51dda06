/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each member of a simulated job is started with: the words of a rankinit, and
 * the environment and the files that its platform would give it.
 */
#ifndef RI_SHIM_PLAY_START_MEMBER_H
#define RI_SHIM_PLAY_START_MEMBER_H

#include "base/env.h"
#include "options/options.h"

/* What they are made from. */
struct ri_members {
	const struct ri_simulation *simulation;
	const struct ri_options *options;
	const struct ri_env *env;	/* our own */
	const char *program;	/* path of this rankinit */
	unsigned port;		/* of the master; the nodes' own follow it */
	uint64_t threads;	/* OMP_NUM_THREADS of each rank; 0: as it is */
	int report;		/* descriptor to which each node writes its report, or -1 */
	uint64_t began_ms;	/* the job, CLOCK_MONOTONIC; 0: it does not, there is an answer */
	int64_t local_rank;	/* --print-env: of which of a node's ranks; -1: no matter */
	struct ri_arena *arena;
};

/* How many are started: each process, or one for each node. */
size_t ri_members_count(const struct ri_simulation *simulation);

/* The one at this place of all, whether or not it ever comes. */
struct ri_shape_member ri_members_at(const struct ri_members *members, size_t index);

/* The words, which are those of every member. NULL and RI_CODE_MEMORY. */
char *const *ri_members_words(const struct ri_members *members, struct ri_error *err);

/* The environment of one. NULL and RI_CODE_MEMORY. */
char **ri_members_environment(const struct ri_members *members,
	const struct ri_shape_member *member, struct ri_error *err);

#endif
