/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "indexed_job": a pod of an Indexed Job of Kubernetes, which knows its
 * index alone. Where no variable says how many pods train together it is
 * one of the many Indexed Jobs that do not.
 */
#include "from/reading.h"

static const struct ri_variable reads[] = {
	{ .name = "JOB_COMPLETION_INDEX", .meaning = "index of this pod in its Job",
	  .cite = "kubernetes.io/docs/concepts/workloads/controllers/job, completion mode" },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees_text(env, "JOB_COMPLETION_INDEX");
}

static void read_indexed_job(struct ri_reading *reading)
{
	ri_claim_number(reading, RI_FACT_NODE_RANK, "JOB_COMPLETION_INDEX");
}

static const struct ri_shape_row rows[] = {
	{ "JOB_COMPLETION_INDEX", "<node>", 0 },
	RI_SHAPE_STATES_NNODES,
	RI_SHAPE_STATES_MASTER,
	{ .name = NULL },
};

/* A failed pod is replaced up to backoffLimit times, and the others run on. */
static const struct ri_shape shapes[] = {
	{ .name = "indexed_job", .summary = "an Indexed Job starts a pod for each node",
	  .scope = RI_SCOPE_NODE, .rows = rows, .port = 29500, .grace_s = 30, .goes_on = true,
	  .succeeded = "Complete", .failed = "Failed", .stopped = "Failed",
	  .cite = "kubernetes.io/docs/concepts/workloads/controllers/job, Pod backoff failure "
		  "policy, Terminal Job conditions; " RI_SHAPE_POD },
	{ .name = NULL },
};

const struct ri_source ri_source_indexed_job = {
	.name = "indexed_job",
	.summary = "pod of a Kubernetes Indexed Job: a node, if --nnodes gives their number",
	.identity = RI_SCOPE_NODE,
	.shares = "JOB_COMPLETION_INDEX",	/* in a JobSet it is one of several Jobs' */
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_indexed_job,
};
