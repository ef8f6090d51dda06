/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods of Kubernetes' own controllers and of its batch group: JobSet, LeaderWorkerSet,
 * Indexed Job. A pod is a node; what trains in it is not said.
 */
#include "from/reading.h"

#define JOB "kubernetes.io/docs/concepts/workloads/controllers/job"
#define LABELS "JobSet api/jobset/v1alpha2/jobset_types.go, labels"

static const struct ri_source_row jobset[] = {
	{ "JOBSET_NAME", "label jobset.sigs.k8s.io/jobset-name", LABELS, RI_ONE_SEEN | RI_TEXT,
	  RI_JOB_NAME, "simulated" },
	{ "REPLICATED_JOB_NAME",
	  "label jobset.sigs.k8s.io/replicatedjob-name; only its presence counts", LABELS,
	  RI_ONE_SEEN | RI_TEXT, .value = "workers" },
	{ "GLOBAL_REPLICAS", "label jobset.sigs.k8s.io/global-replicas, the Jobs of the set",
	  LABELS, .value = "1" },
	{ "JOB_COMPLETION_INDEX", "index of this pod in its Job", JOB ", completion mode",
	  RI_SEEN | RI_TEXT, .value = "<node>" },
	{ .name = NULL },
};

/*
 * Each of the set's Jobs counts its pods from 0, so the index is the node's place only where
 * the set has one Job.
 */
static void read_jobset(struct ri_reading *reading)
{
	const char *jobs = ri_reading_get(reading, "GLOBAL_REPLICAS");
	uint64_t number;

	ri_claim_rows(reading, jobset);
	if (jobs != NULL &&
		ri_number_read(jobs, (struct ri_range){ 1, 1 }, &number, NULL) == RI_NUMBER_OK)
		ri_claim_number(reading, RI_FACT_NODE_RANK, "JOB_COMPLETION_INDEX");
	else
		ri_claim_open(reading, RI_FACT_NODE_RANK, "JOB_COMPLETION_INDEX",
			"the index starts again at 0 in each Job of the set");
}

/*
 * The controller sets no variable; it labels the pod, and manifests hand the labels on by
 * the names that its examples use.
 */
const struct ri_source ri_source_jobset = {
	.name = "jobset",
	.summary = "pod of a Kubernetes JobSet of one Job: a node, if --nnodes gives their number",
	.identity = RI_SCOPE_NODE,
	.shares = "JOB_COMPLETION_INDEX",
	.reads = jobset,
	/* Its Job has backoffLimit 0, as in JobSet's examples of training: one pod ends all. */
	RI_SHAPES({ .name = "jobset", .summary = "a JobSet starts a pod for each node",
		.scope = RI_SCOPE_NODE, .reads = jobset, .beside = ri_shape_states_nodes,
		.port = 29500, .grace_s = 30,
		.succeeded = "Completed", .failed = "Failed", .stopped = "Failed",
		RI_CITE("JobSet api/jobset/v1alpha2/jobset_types.go, JobSetConditionType, "
			"FailurePolicy; " RI_SHAPE_POD) }),
	.read = read_jobset,
};

#define LWS "LeaderWorkerSet api/leaderworkerset/v1/leaderworkerset_types.go"

static const struct ri_source_row lws[] = {
	{ "LWS_LEADER_ADDRESS", "the host of the group's leader", LWS, RI_SEEN | RI_TEXT,
	  RI_MASTER, "<master>" },
	{ "LWS_GROUP_SIZE", "pods of the group, including the leader", LWS, RI_SEEN | RI_TEXT,
	  RI_NUMBER(NNODES), "<nodes>" },
	{ "LWS_WORKER_INDEX", "index of this pod in its group", LWS, RI_SEEN | RI_TEXT,
	  RI_NUMBER(NODE_RANK), "<node>" },
	{ .name = NULL },
};

/* Each group is a job of its own, and its leader has index 0. */
const struct ri_source ri_source_lws = {
	.name = "lws",
	.summary = "pod of a LeaderWorkerSet: a node of its group, and the leader's host",
	.identity = RI_SCOPE_NODE,
	.of_container = true,
	.traits = RI_TRAIT_NAMES_JOB,
	.reads = lws,
	/* RecreateGroupOnPodRestart, the usual policy, ends the whole group: no job with states. */
	RI_SHAPES({ .name = "lws",
		.summary = "a LeaderWorkerSet starts a pod for each node",
		.scope = RI_SCOPE_NODE, .reads = lws, .port = 29500, .grace_s = 30,
		RI_CITE(LWS ", RestartPolicy; " RI_SHAPE_POD) }),
};

static const struct ri_source_row indexed_job[] = {
	{ "JOB_COMPLETION_INDEX", "index of this pod in its Job", JOB ", completion mode",
	  RI_SEEN | RI_TEXT, RI_NUMBER(NODE_RANK), "<node>" },
	{ .name = NULL },
};

/*
 * It knows its index alone. Where no variable says how many pods train together it is
 * one of the many Indexed Jobs that do not.
 */
const struct ri_source ri_source_indexed_job = {
	.name = "indexed_job",
	.summary = "pod of a Kubernetes Indexed Job: a node, if --nnodes gives their number",
	.identity = RI_SCOPE_NODE,
	.shares = "JOB_COMPLETION_INDEX",	/* in a JobSet it is one of several Jobs' */
	.reads = indexed_job,
	/* A failed pod is replaced up to backoffLimit times, and the others run on. */
	RI_SHAPES({ .name = "indexed_job",
		.summary = "an Indexed Job starts a pod for each node",
		.scope = RI_SCOPE_NODE, .reads = indexed_job, .beside = ri_shape_states_nodes,
		.port = 29500, .grace_s = 30, .goes_on = true,
		.succeeded = "Complete", .failed = "Failed", .stopped = "Failed",
		RI_CITE(JOB ", Pod backoff failure policy, Terminal Job conditions; "
			RI_SHAPE_POD) }),
};
