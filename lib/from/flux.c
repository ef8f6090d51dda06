/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "flux": a task of a Flux job. Flux tells neither how many tasks the
 * node has nor which node it is, and its hosts only to those who ask it.
 */
#include "from/allocation.h"
#include "from/reading.h"

#define FLUX "flux-core doc/man7/flux-environment.rst"

static const struct ri_variable reads[] = {
	{ .name = "FLUX_TASK_RANK", .meaning = "rank", .cite = FLUX },
	{ .name = "FLUX_JOB_SIZE", .meaning = "world size", .cite = FLUX },
	{ .name = "FLUX_TASK_LOCAL_ID", .meaning = "local rank", .cite = FLUX },
	{ .name = "FLUX_JOB_NNODES", .meaning = "nodes of the job", .cite = FLUX },
	{ .name = "FLUX_JOB_ID", .meaning = "the job, as text", .cite = FLUX },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "FLUX_TASK_RANK") && ri_source_sees(env, "FLUX_JOB_SIZE");
}

static void read_flux(struct ri_reading *reading)
{
	ri_claim_number(reading, RI_FACT_RANK, "FLUX_TASK_RANK");
	ri_claim_number(reading, RI_FACT_WORLD_SIZE, "FLUX_JOB_SIZE");
	ri_claim_filled(reading, RI_FACT_LOCAL_RANK, "FLUX_TASK_LOCAL_ID");
	/* A launcher in one of its tasks may use fewer. */
	if (ri_allocation_is_direct(reading))
		ri_claim_filled(reading, RI_FACT_NNODES, "FLUX_JOB_NNODES");
	ri_claim_label(reading, RI_FACT_JOB_ID, "FLUX_JOB_ID");
}

static const struct ri_shape_row rows[] = {
	{ "FLUX_TASK_RANK", "<rank>", 0 },
	{ "FLUX_JOB_SIZE", "<world_size>", 0 },
	{ "FLUX_TASK_LOCAL_ID", "<local_rank>", 0 },
	{ "FLUX_JOB_NNODES", "<nodes>", 0 },
	{ "FLUX_JOB_ID", "\306\222F58", 0 },
	RI_SHAPE_STATES_MASTER,
	{ .name = NULL },
};

/* exit-timeout ends the other tasks 30 s after one has ended: here at once. */
static const struct ri_shape shapes[] = {
	{ .name = "flux", .summary = "flux run starts each task",
	  .scope = RI_SCOPE_PROCESS, .rows = rows, .port = 29500, .grace_s = 5,
	  .succeeded = "COMPLETED", .failed = "FAILED", .stopped = "CANCELED",
	  .cite = "flux-core doc/man5/flux-config-exec.rst, kill-timeout; "
		  "doc/man1/flux-shell.rst, exit-timeout; doc/man1/flux-jobs.rst" },
	{ .name = NULL },
};

const struct ri_source ri_source_flux = {
	.name = "flux",
	.summary = "a task of a Flux job",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_flux,
};
