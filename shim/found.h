/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who we are, and what that makes of the environment: known before anything starts (find.c).
 * Then what each rank finds in its environment and in its words (ranks.c): each has lists of
 * its own, and shares with the first the strings that it has as well.
 */
#ifndef RI_SHIM_FOUND_H
#define RI_SHIM_FOUND_H

#include "launch/placement.h"
#include "report/restarts.h"
#include "system/log.h"

struct ri_launch;
struct ri_rank;
struct ri_torch_files;

/* What one rank finds. */
struct ri_rank_view {
	size_t index;		/* among those that are started here */
	struct ri_env_edits edits;
	char *const *argv;	/* of the command, expanded; NULL: none was given */
};

/*
 * options and env are read first; the rest is worked out from them. It lies where
 * struct ri_run does, and like that starts as zeroes.
 */
struct ri_found {
	struct ri_options options;
	struct ri_env env;
	struct ri_carried *carried;	/* what an attempt before this one left; NULL: none did */
	struct ri_host host;
	struct ri_command command;
	struct ri_topology topology;	/* of the first rank that is started here */
	struct ri_placing placing;
	struct ri_context context;	/* of what stands above, for the library */
	struct ri_env_edits common;	/* that do not depend on which rank one is */
	struct ri_rank_view first;
	const struct ri_torch_files *torch_files;	/* NULL: there are none */
	struct ri_error nproc_err;	/* why ranks could not be counted: the checks come first */
};

/*
 * Work out the rest. What has to be said goes to findings; all that is found
 * lives in arena. Returns 0, or -1 and why the launch is refused.
 */
int ri_found_fill(struct ri_found *found, struct ri_arena *arena, struct ri_findings *findings,
	struct ri_error *err);

/*
 * Is this process one of a job: by a rank or a place, or because a service says so? A
 * process that starts a whole job is not. Only for one of a job this node is looked at.
 */
bool ri_found_is_of_job(const struct ri_found *found);

/*
 * The rank of the command, where others of its job run below another rankinit, or
 * below none: one of mpirun's, of srun's, a pod's. Else -1.
 */
int64_t ri_found_single_rank(const struct ri_found *found);

/*
 * The rank that --nproc-per-node=1 starts of a job with others, which are on other nodes. Of it is
 * told as of several ranks. Else -1: also of a job of one rank, which is a command like any other.
 */
int64_t ri_found_own_rank(const struct ri_found *found);

/*
 * Is it one rank of a launcher that watches over it: a process manager's, or one of several that an
 * outer rankinit started? And is it one of the latter, which tells of all of them?
 */
bool ri_found_is_managed(const struct ri_found *found);
bool ri_found_is_of_ours(const struct ri_found *found);

/*
 * A warning where so many processes replace one file of --report or --state: the ranks of this
 * node, or all nodes of a simulated job, which have a disk of their own on the platform.
 */
void ri_found_judge_files(const struct ri_found *found, size_t count, bool of_nodes,
	struct ri_findings *findings);

/* Does a launcher start the ranks, for certain: one that is known, or by --launch? */
bool ri_found_is_launcher(const struct ri_found *found);

/* How often the ranks were started before, by --restarts. */
uint64_t ri_found_attempt(const struct ri_found *found);

/* By NO_COLOR and CLICOLOR_FORCE; without them, on a terminal. */
enum ri_log_color ri_found_color(const struct ri_found *found);

/* Work out what is common, once the rest is there. looks: see ri_options_scrub. */
int ri_ranks_find_common(struct ri_found *found, bool looks, struct ri_error *err);

/* The view of the rank with this index among those that are started here, in this arena. */
int ri_rank_view(struct ri_rank_view *out, const struct ri_found *found, size_t index,
	struct ri_arena *arena, struct ri_error *err);

/*
 * Tell the rank where torch may say why it fails: the first one, ri_ranks_prepare
 * does so for the others.
 */
int ri_rank_name_torch_file(struct ri_rank_view *view, const struct ri_found *found,
	struct ri_arena *arena, struct ri_error *err);

/*
 * Work out what each of the ranks has of its own, all of them before the first
 * is started. launch holds the lists of the first.
 */
int ri_ranks_prepare(struct ri_rank **out, const struct ri_found *found,
	const struct ri_launch *launch, struct ri_error *err);

#endif
