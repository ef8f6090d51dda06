/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "jobset": a pod of a JobSet. The controller sets no variable; it
 * labels the pod, and manifests hand the labels on by the names that its
 * examples use. Each of the set's Jobs counts its pods from 0, so the index is
 * the node's place only where the set has one Job.
 */
#include "from/reading.h"

#define LABELS "JobSet api/jobset/v1alpha2/jobset_types.go, labels"

static const struct ri_variable reads[] = {
	{ .name = "JOBSET_NAME", .meaning = "label jobset.sigs.k8s.io/jobset-name",
	  .cite = LABELS },
	{ .name = "REPLICATED_JOB_NAME",
	  .meaning = "label jobset.sigs.k8s.io/replicatedjob-name; only its presence counts",
	  .cite = LABELS },
	{ .name = "GLOBAL_REPLICAS",
	  .meaning = "label jobset.sigs.k8s.io/global-replicas, the Jobs of the set",
	  .cite = LABELS },
	{ .name = "JOB_COMPLETION_INDEX", .meaning = "index of this pod in its Job",
	  .cite = "kubernetes.io/docs/concepts/workloads/controllers/job, completion mode" },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees_text(env, "JOB_COMPLETION_INDEX") &&
		(ri_source_sees_text(env, "JOBSET_NAME") ||
			ri_source_sees_text(env, "REPLICATED_JOB_NAME"));
}

static bool is_one_job(const struct ri_reading *reading)
{
	const char *jobs = ri_reading_get(reading, "GLOBAL_REPLICAS");
	const struct ri_range one = { 1, 1 };
	uint64_t number;

	return jobs != NULL && ri_number_read(jobs, one, &number, NULL) == RI_NUMBER_OK;
}

static void read_jobset(struct ri_reading *reading)
{
	ri_claim_label(reading, RI_FACT_JOB_ID, "JOBSET_NAME");
	if (is_one_job(reading))
		ri_claim_number(reading, RI_FACT_NODE_RANK, "JOB_COMPLETION_INDEX");
	else
		ri_claim_open(reading, RI_FACT_NODE_RANK, "JOB_COMPLETION_INDEX",
			"the index starts again at 0 in each Job of the set");
}

static const struct ri_shape_row rows[] = {
	{ "JOBSET_NAME", "simulated", 0 },
	{ "REPLICATED_JOB_NAME", "workers", 0 },
	{ "GLOBAL_REPLICAS", "1", 0 },
	{ "JOB_COMPLETION_INDEX", "<node>", 0 },
	RI_SHAPE_STATES_NNODES,
	RI_SHAPE_STATES_MASTER,
	{ .name = NULL },
};

/* Its Job has backoffLimit 0, as in JobSet's examples of training: one pod ends all. */
static const struct ri_shape shapes[] = {
	{ .name = "jobset", .summary = "a JobSet starts a pod for each node",
	  .scope = RI_SCOPE_NODE, .rows = rows, .port = 29500, .grace_s = 30,
	  .succeeded = "Completed", .failed = "Failed", .stopped = "Failed",
	  .cite = "JobSet api/jobset/v1alpha2/jobset_types.go, JobSetConditionType, FailurePolicy; "
		  RI_SHAPE_POD },
	{ .name = NULL },
};

const struct ri_source ri_source_jobset = {
	.name = "jobset",
	.summary = "pod of a Kubernetes JobSet of one Job: a node, if --nnodes gives their number",
	.identity = RI_SCOPE_NODE,
	.shares = "JOB_COMPLETION_INDEX",
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_jobset,
};
