/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each rank finds in its environment and in its words. Each has lists of its own,
 * and shares with the first the strings that it has as well.
 */
#ifndef RI_SHIM_RANKS_H
#define RI_SHIM_RANKS_H

#include "base/env.h"
#include "model/context.h"

struct ri_launch;
struct ri_options;
struct ri_placing;
struct ri_rank;
struct ri_topology;
struct ri_torch_files;

/* What one rank finds. */
struct ri_rank_view {
	size_t index;		/* among those that are started here */
	struct ri_env_edits edits;
	char *const *argv;	/* of the command, expanded; NULL: none was given */
};

/* What the view of every rank is made from. */
struct ri_rank_source {
	const struct ri_topology *topology;	/* of the first of them */
	const struct ri_placing *placing;
	const struct ri_torch_files *torch_files;	/* NULL: there are none */
	const struct ri_options *options;
	uint64_t attempt;	/* by --restarts; 0: the first */
	bool looks;		/* this node is looked at for them: see ri_options_scrub */
	struct ri_context context;
	struct ri_env_edits common;	/* that do not depend on who one is */
};

/* Work out what is common, once the rest is there. */
int ri_rank_source_complete(struct ri_rank_source *source, struct ri_error *err);

/* The view of the rank with this index among those that are started here. */
int ri_rank_view(struct ri_rank_view *out, const struct ri_rank_source *source, size_t index,
	struct ri_error *err);

/*
 * Tell the rank where torch may say why it fails: the first one, ri_ranks_prepare
 * does so for the others.
 */
int ri_rank_name_torch_file(struct ri_rank_view *view, const struct ri_rank_source *source,
	struct ri_error *err);

/*
 * Work out what each of the ranks has of its own, all of them before the first
 * is started. launch holds the lists of the first.
 */
int ri_ranks_prepare(struct ri_rank **out, const struct ri_rank_source *source,
	const struct ri_launch *launch, struct ri_error *err);

#endif
