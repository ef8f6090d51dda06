/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated job. Each member is started with the words of a rankinit, and with the environment
 * and the files of its platform; faults hit it; what the platform makes of its end is told.
 */
#ifndef RI_SHIM_PLAY_PLAY_JOB_H
#define RI_SHIM_PLAY_PLAY_JOB_H

#include "init/supervise.h"
#include "node/node.h"
#include "options/options.h"

/* Those that come, and what they are made from. */
struct ri_members {
	const struct ri_simulation *simulation;
	const struct ri_options *options;
	const struct ri_env *env;	/* our own */
	struct ri_arena *arena;
	char program[4096];	/* path of this rankinit */
	uint64_t threads;	/* OMP_NUM_THREADS of each rank; 0: as it is */
	size_t *places;		/* of each that comes, among all */
	size_t count;
	struct ri_rank *ranks;	/* what each is started with, made by ri_members_prepare */
	/* the caller's to change before that */
	unsigned port;		/* of the master; the nodes' own follow it */
	int report;		/* descriptor to which each node writes its report, or -1 */
	uint64_t began_ms;	/* the job, CLOCK_MONOTONIC; 0: it does not, there is an answer */
	int64_t local_rank;	/* --print-env: of which of a node's ranks; -1: no matter */
};

/* Who comes: without a launch all of them, and in their order. RI_CODE_MEMORY. */
int ri_members_choose(struct ri_members *out, const struct ri_options *options,
	const struct ri_node *machine, struct ri_error *err);

/* The one at this place of all, whether or not it ever comes. */
struct ri_shape_member ri_members_at(const struct ri_members *members, size_t place);

/* What each that comes is started with, and *launch for the first of them. RI_CODE_MEMORY. */
int ri_members_prepare(struct ri_members *members, struct ri_launch *launch, struct ri_error *err);

/* --print-env of the one that --node-rank and --local-rank say, by becoming it. Returns -1. */
int ri_members_print_env(struct ri_members *members, struct ri_error *err);

/* --explain of each. Returns the first exit status other than 0, 128 + N after a stop, or -1. */
int ri_members_explain(struct ri_members *members, struct ri_error *err);

struct ri_play_job {
	struct ri_members *members;
	struct ri_options *options;	/* become those of the loop when the members have theirs */
	struct ri_children *children;
	struct ri_output *output;
	struct ri_supervised *supervised;
	/* made by ri_play_job_prepare */
	struct ri_output_rank *numbers;	/* of each child */
	struct ri_launch launch;
	size_t next_fault;
	int64_t runs_since_ms;	/* CLOCK_MONOTONIC */
};

/* All that can fail before a member is started. Returns 0, or -1. */
int ri_play_job_prepare(struct ri_play_job *job, struct ri_error *err);

/*
 * Start the members and watch over them: those that run end where one cannot be started, and *err
 * is why, which is printed. Returns as ri_supervise_run().
 */
int ri_play_job_run(struct ri_play_job *job, struct ri_error *err);

/*
 * After the end: how each node ended, and the job; status is that of the first failure. Returns
 * the exit status of the job.
 */
int ri_play_job_tell(const struct ri_play_job *job, int status);

#endif
