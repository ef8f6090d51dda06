/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods of Kubernetes' own controllers and of its batch group: JobSet, LeaderWorkerSet,
 * Indexed Job, and of Volcano. A pod is a node; what trains in it is not said.
 */
#include <string.h>

#include "from/reading.h"

#define JOB "kubernetes.io/docs/concepts/workloads/controllers/job"
#define RUN "PyTorch torch/distributed/run.py"
#define LABELS "JobSet api/jobset/v1alpha2/jobset_types.go, labels"

#define PODS_READS \
	{ "NNODES", "pods of the Job, if NPROC_PER_NODE or MASTER_ADDR is set, too", \
	  .cite = RUN ", --nnodes" }, \
	{ "NPROC_PER_NODE", "processes to start on each node, beside NNODES", \
	  .cite = RUN ", --nproc-per-node" }

/*
 * A manifest may say how many pods there are, beside what else only a launch needs; and the index
 * counts up to that.
 */
static void claim_pods(struct ri_reading *reading)
{
	const struct ri_env *env = reading->context->env;
	uint64_t index, nodes;

	if (!ri_claim_get(reading, RI_FACT_NODE_RANK, &index) ||
		!ri_reading_number(reading, RI_FACT_NNODES, "NNODES", &nodes) || index >= nodes ||
		(!ri_source_sees_text(env, "NPROC_PER_NODE") &&
			!ri_source_sees_text(env, "MASTER_ADDR")))
		return;
	ri_claim_number(reading, RI_FACT_NNODES, "NNODES");
	ri_claim_gpus(reading, RI_FACT_NPROC, "NPROC_PER_NODE");
}

/*
 * Each of the set's Jobs counts its pods from 0, so the index is the node's place only where
 * the set has one Job.
 */
static void read_jobset(struct ri_reading *reading)
{
	const char *jobs = ri_reading_get(reading, "GLOBAL_REPLICAS");
	uint64_t number;

	ri_claim_rows(reading, ri_source_jobset.reads);
	if (jobs != NULL &&
		ri_number_read(jobs, (struct ri_range){ 1, 1 }, &number, NULL) == RI_NUMBER_OK)
		ri_claim_number(reading, RI_FACT_NODE_RANK, "JOB_COMPLETION_INDEX");
	else
		ri_claim_open(reading, RI_FACT_NODE_RANK, "JOB_COMPLETION_INDEX",
			"the index starts again at 0 in each Job of the set");
	claim_pods(reading);
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
	.reads = RI_READS(
		{ "JOBSET_NAME", "label jobset.sigs.k8s.io/jobset-name", LABELS,
		  RI_ONE_SEEN | RI_TEXT, RI_JOB_NAME, "simulated" },
		{ "REPLICATED_JOB_NAME",
		  "label jobset.sigs.k8s.io/replicatedjob-name; only its presence counts", LABELS,
		  RI_ONE_SEEN | RI_TEXT, .value = "workers" },
		{ "GLOBAL_REPLICAS",
		  "label jobset.sigs.k8s.io/global-replicas, the Jobs of the set", LABELS,
		  .value = "1" },
		{ "JOB_COMPLETION_INDEX", "index of this pod in its Job", JOB ", completion mode",
		  RI_SEEN | RI_TEXT, .value = "<node>" },
		PODS_READS),
	/* Its Job has backoffLimit 0, as in JobSet's examples of training: one pod ends all. */
	RI_SHAPES({ .name = "jobset", .summary = "a JobSet starts a pod for each node",
		.scope = RI_SCOPE_NODE, .reads = &ri_source_jobset.reads,
		.beside = ri_shape_states_nodes, .grace_s = 30,
		.succeeded = "Completed", .failed = "Failed", .stopped = "Failed",
		RI_CITE("JobSet api/jobset/v1alpha2/jobset_types.go, JobSetConditionType, "
			"FailurePolicy; " RI_SHAPE_POD) }),
	.read = read_jobset,
};

#define LWS "LeaderWorkerSet api/leaderworkerset/v1/leaderworkerset_types.go"

/* Each group is a job of its own, and its leader has index 0. */
const struct ri_source ri_source_lws = {
	.name = "lws",
	.summary = "pod of a LeaderWorkerSet: a node of its group, and the leader's host",
	.identity = RI_SCOPE_NODE,
	.of_container = true,
	.traits = RI_TRAIT_NAMES_JOB,
	.reads = RI_READS(
		{ "LWS_LEADER_ADDRESS", "the host of the group's leader", LWS, RI_SEEN | RI_TEXT,
		  RI_MASTER, "<master>" },
		{ "LWS_GROUP_SIZE", "pods of the group, including the leader", LWS,
		  RI_SEEN | RI_TEXT, RI_NUMBER(NNODES), "<nodes>" },
		{ "LWS_WORKER_INDEX", "index of this pod in its group", LWS, RI_SEEN | RI_TEXT,
		  RI_NUMBER(NODE_RANK), "<node>" }),
	/* RecreateGroupOnPodRestart, the usual policy, ends the whole group: no job with states. */
	RI_SHAPES({ .name = "lws",
		.summary = "a LeaderWorkerSet starts a pod for each node",
		.scope = RI_SCOPE_NODE, .reads = &ri_source_lws.reads, .grace_s = 30,
		RI_CITE(LWS ", RestartPolicy; " RI_SHAPE_POD) }),
};

static void read_indexed(struct ri_reading *reading)
{
	ri_claim_rows(reading, ri_source_indexed_job.reads);
	claim_pods(reading);
}

/*
 * It knows its index alone. Where no variable says how many pods train together it is
 * one of the many Indexed Jobs that do not.
 */
const struct ri_source ri_source_indexed_job = {
	.name = "indexed_job",
	.summary = "pod of a Kubernetes Indexed Job: a node, if --nnodes gives their number",
	.identity = RI_SCOPE_NODE,
	.shares = "JOB_COMPLETION_INDEX",	/* in a JobSet it is one of several Jobs' */
	.reads = RI_READS(
		{ "JOB_COMPLETION_INDEX", "index of this pod in its Job", JOB ", completion mode",
		  RI_SEEN | RI_TEXT, RI_NUMBER(NODE_RANK), "<node>" },
		PODS_READS),
	/* A failed pod is replaced up to backoffLimit times, and the others run on. */
	RI_SHAPES({ .name = "indexed_job",
		.summary = "an Indexed Job starts a pod for each node",
		.scope = RI_SCOPE_NODE, .reads = &ri_source_indexed_job.reads,
		.beside = ri_shape_states_nodes, .grace_s = 30, .goes_on = true,
		.succeeded = "Complete", .failed = "Failed", .stopped = "Failed",
		RI_CITE(JOB ", Pod backoff failure policy, Terminal Job conditions; "
			RI_SHAPE_POD) }),
	.read = read_indexed,
};

#define PLUGINS "Volcano pkg/controllers/job/plugins"
#define PHASES "Volcano apis pkg/apis/batch/v1alpha1/job.go, JobPhase, LifecyclePolicy"
#define PYTORCH PLUGINS "/distributed-framework/pytorch/pytorch.go"

/* Of the two tasks that the plugin takes by default: its --master and --worker. */
static const char master_hosts[] = "VC_MASTER_HOSTS";
static const char master_count[] = "VC_MASTER_NUM", worker_count[] = "VC_WORKER_NUM";

static const char *find_index(const struct ri_env *env)
{
	if (ri_source_sees_text(env, "VC_TASK_INDEX"))
		return "VC_TASK_INDEX";
	return ri_source_sees_text(env, "VK_TASK_INDEX") ? "VK_TASK_INDEX" : NULL;
}

static bool counts_pods(const struct ri_env *env)
{
	return ri_source_sees_text(env, "RANK") && ri_source_sees_text(env, "WORLD_SIZE") &&
		!ri_source_sees_text(env, "LOCAL_RANK");
}

/* A job may have the plugins pytorch and svc, and not env, which sets the index. */
static bool sees_volcano(const struct ri_env *env)
{
	return find_index(env) != NULL || (counts_pods(env) &&
		ri_source_sees_text(env, "MASTER_ADDR") && ri_source_sees_text(env, master_hosts));
}

/*
 * The job's one task, as the name of its list of hosts, VC_<TASK>_HOSTS; NULL where it has more
 * or none. Of two variables of one name the first counts.
 */
static const char *find_task(struct ri_reading *reading)
{
	static const char start[] = "VC_", end[] = "_HOSTS";
	const struct ri_env *env = reading->context->env;
	const char *found = NULL;

	for (size_t i = 0; i < env->count; i++) {
		const struct ri_env_entry *entry = &env->entries[i];
		size_t length = entry->name_length;
		const char *name;

		if (length <= strlen(start) + strlen(end) ||
			strncmp(entry->text, start, strlen(start)) != 0 ||
			strncmp(entry->text + length - strlen(end), end, strlen(end)) != 0)
			continue;
		name = ri_reading_copy(reading, entry->text, length);
		if (name == NULL)
			return NULL;
		if (ri_env_find(env, name) != entry)
			continue;
		if (found != NULL)
			return NULL;
		found = name;
	}
	return found;
}

static void read_volcano(struct ri_reading *reading)
{
	const struct ri_env *env = reading->context->env;
	uint64_t masters, workers, pods;
	const char *task, *count;
	struct ri_fact *hosts;

	if (reading->identity == NULL && ri_source_sees_text(env, "MPI_HOST") &&
		!ri_source_sees_mpi_rank(env)) {
		ri_claim_word(reading, RI_FACT_ROLE, "MPI_HOST", RI_ROLE_LAUNCHER,
			RI_STRENGTH_SAID);
		return;
	}
	if (counts_pods(env)) {
		ri_claim_number(reading, RI_FACT_NODE_RANK, "RANK");
		/* of all tasks, a tensorboard's too, which has no rank */
		if (ri_reading_number(reading, RI_FACT_NNODES, master_count, &masters) &&
			ri_reading_number(reading, RI_FACT_NNODES, worker_count, &workers) &&
			ri_reading_number(reading, RI_FACT_NNODES, "WORLD_SIZE", &pods) &&
			masters + workers < pods)
			ri_claim_value(reading, RI_FACT_NNODES, worker_count, masters + workers);
		else
			ri_claim_number(reading, RI_FACT_NNODES, "WORLD_SIZE");
		return;
	}
	task = find_task(reading);
	if (task == NULL) {
		ri_claim_open(reading, RI_FACT_NODE_RANK, find_index(env),
			"the index starts again at 0 in each task");
		return;
	}
	count = ri_arena_format(reading->context->arena, "%.*sNUM",
		(int)(strlen(task) - strlen("HOSTS")), task);
	ri_claim_number(reading, RI_FACT_NODE_RANK, find_index(env));
	if (count != NULL)
		ri_claim_filled(reading, RI_FACT_NNODES, count);
	ri_claim_gpus(reading, RI_FACT_NPROC, "MA_NUM_GPUS");
	hosts = ri_claim_hosts(reading, task, ',');
	if (hosts != NULL && hosts->state == RI_STATE_KNOWN)
		ri_claim_word(reading, RI_FACT_MASTER_ADDR, task, hosts->list[0],
			RI_STRENGTH_DEFAULT);
}

/*
 * A pod's index counts the pods of its task, and starts anew in the next one (master-0, worker-0).
 * So it is the node's place where the job has one task, or where the pytorch plugin counts the pods
 * of all of them: its RANK and WORLD_SIZE are those of pods. Huawei's ModelArts starts such jobs of
 * one task.
 */
const struct ri_source ri_source_volcano = {
	.name = "volcano",
	.summary = "pod of a Volcano job: a node, or the launcher of an MPI job",
	.identity = RI_SCOPE_NODE,
	.traits = RI_TRAIT_NAMES_JOB,
	.reads = RI_READS(
		{ "VC_TASK_INDEX", "index of this pod in its task", .cite = PLUGINS "/env/env.go" },
		{ "VK_TASK_INDEX", "the same, under its older name",
		  .cite = PLUGINS "/env/env.go" },
		{ "VC_<TASK>_HOSTS", "the pods of a task, separated by commas",
		  .cite = PLUGINS "/svc/svc.go" },
		{ "VC_<TASK>_NUM", "the number of those pods", .cite = PLUGINS "/svc/svc.go" },
		{ master_hosts, "with RANK and WORLD_SIZE: such a job, without an index",
		  .cite = PYTORCH },
		{ master_count, "the master and ...", .cite = PYTORCH },
		{ worker_count,
		  "... the workers are the nodes, if WORLD_SIZE counts other pods, too",
		  .cite = "volcano-sh/volcano#4166" },
		{ "RANK", "index of this pod in the job, if LOCAL_RANK is absent",
		  .cite = PYTORCH },
		{ "WORLD_SIZE", "pods of the job, likewise", .cite = PYTORCH },
		{ "MA_NUM_GPUS", "accelerators of the pod, in a job of ModelArts",
		  .cite = "Huawei Cloud ModelArts, Managing Environment Variables of a Training "
		  "Container" },
		{ "MPI_HOST", "the workers; set only in the pod that runs mpirun",
		  .cite = PLUGINS "/distributed-framework/mpi/mpi.go" }),
	/* Without policies the other pods run on where one fails. */
	RI_SHAPES(
		{ .name = "volcano",
		  .summary = "a Volcano job of one task starts a pod for each node",
		  .scope = RI_SCOPE_NODE, .grace_s = 30, .goes_on = true,
		  .rows = RI_SHAPE_ROWS(
			{ "VC_TASK_INDEX", "<node>", 0 },
			{ "VK_TASK_INDEX", "<node>", 0 },
			{ "VC_WORKER_HOSTS", "<each:,><host></each>", 0 },
			{ "VC_WORKER_NUM", "<nodes>", 0 }),
		  .succeeded = "Completed", .failed = "Failed", .stopped = "Aborted",
		  RI_CITE(PHASES "; " RI_SHAPE_POD) },
		{ .name = "volcano_pytorch",
		  .summary = "the same with master, workers and plugin pytorch",
		  .scope = RI_SCOPE_NODE, .port = 23456, .grace_s = 30, .goes_on = true,
		  .beside = ri_shape_states_master,
		  .rows = RI_SHAPE_ROWS(
			{ "VC_TASK_INDEX", "0", RI_OF_FIRST },
			{ "VC_TASK_INDEX", "<worker>", RI_OF_OTHERS },
			{ "VC_MASTER_HOSTS", "<master>", 0 },
			{ "VC_MASTER_NUM", "1", 0 },
			{ "VC_WORKER_HOSTS", "<others:,><host></others>", RI_OF_SEVERAL_NODES },
			{ "VC_WORKER_NUM", "<workers>", RI_OF_SEVERAL_NODES },
			{ "RANK", "<node>", 0 },
			{ "WORLD_SIZE", "<nodes>", 0 }),
		  .succeeded = "Completed", .failed = "Failed", .stopped = "Aborted",
		  RI_CITE(PHASES "; " RI_SHAPE_POD) }),
	.detect = sees_volcano,
	.read = read_volcano,
};
