/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods of Kubernetes' own controllers and of its batch group: JobSet, LeaderWorkerSet,
 * Indexed Job; of Volcano; of Kubeflow: PyTorchJob, JAXJob, MPIJob and their TrainJobs. A pod is
 * a node; what trains in it is not said.
 */
#include <inttypes.h>
#include <string.h>

#include "from/hosts.h"

/*
 * Did some MPI start this process, whether or not its tuple is whole? Then it is no launcher,
 * even if it inherited the variables of one.
 */
static bool sees_mpi_rank(const struct ri_env *env)
{
	static const char *const names[] = {
		"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMI_ID", "PMIX_RANK", "MV2_COMM_WORLD_RANK",
	};

	for (size_t i = 0; i < RI_ARRAY_SIZE(names); i++)
		if (ri_source_sees(env, names[i]))
			return true;
	return false;
}

#define JOB "kubernetes.io/docs/concepts/workloads/controllers/job"
#define RUN "PyTorch torch/distributed/run.py"

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
			"the index starts again at 0 in each Job of the set, unless "
			"GLOBAL_REPLICAS is 1");
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
	.cite = "JobSet api/jobset/v1alpha2/jobset_types.go, labels",
	.reads = RI_READS(
		{ "JOBSET_NAME", "label jobset.sigs.k8s.io/jobset-name", RI_ONE_SEEN | RI_TEXT,
		  RI_JOB_NAME, "simulated" },
		{ "REPLICATED_JOB_NAME",
		  "label jobset.sigs.k8s.io/replicatedjob-name; only its presence counts",
		  RI_ONE_SEEN | RI_TEXT, .value = "workers" },
		{ "GLOBAL_REPLICAS",
		  "label jobset.sigs.k8s.io/global-replicas, the Jobs of the set", .value = "1" },
		{ "JOB_COMPLETION_INDEX", "index of this pod in its Job", RI_SEEN | RI_TEXT,
		  .value = "<node>", .cite = JOB ", completion mode" },
		PODS_READS),
	/* Its Job has backoffLimit 0, as in JobSet's examples of training: one pod ends all. */
	RI_SHAPES({ RI_SHAPE_OF(jobset, NODE), .summary = "a JobSet starts a pod for each node",
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
	.cite = LWS,
	.reads = RI_READS(
		{ "LWS_LEADER_ADDRESS", "the host of the group's leader", RI_SEEN | RI_TEXT,
		  RI_MASTER },
		{ "LWS_GROUP_SIZE", "pods of the group, including the leader", RI_SEEN | RI_TEXT,
		  RI_NUMBER(NNODES) },
		{ "LWS_WORKER_INDEX", "index of this pod in its group", RI_SEEN | RI_TEXT,
		  RI_NUMBER(NODE_RANK) }),
	/* RecreateGroupOnPodRestart, the usual policy, ends the whole group: no job with states. */
	RI_SHAPES({ RI_SHAPE_OF(lws, NODE),
		.summary = "a LeaderWorkerSet starts a pod for each node",
		.grace_s = 30, RI_CITE(LWS ", RestartPolicy; " RI_SHAPE_POD) }),
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
		{ "JOB_COMPLETION_INDEX", "index of this pod in its Job", RI_SEEN | RI_TEXT,
		  RI_NUMBER(NODE_RANK), .cite = JOB ", completion mode" },
		PODS_READS),
	/* A failed pod is replaced up to backoffLimit times, and the others run on. */
	RI_SHAPES({ RI_SHAPE_OF(indexed_job, NODE),
		.summary = "an Indexed Job starts a pod for each node",
		.beside = ri_shape_states_nodes, .grace_s = 30, .goes_on = true,
		.succeeded = "Complete", .failed = "Failed", .stopped = "Failed",
		RI_CITE(JOB ", Pod backoff failure policy, Terminal Job conditions; "
			RI_SHAPE_POD) }),
	.read = read_indexed,
};

#define PLUGINS "Volcano pkg/controllers/job/plugins"
#define PHASES "Volcano apis pkg/apis/batch/v1alpha1/job.go, JobPhase, LifecyclePolicy"

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
		!sees_mpi_rank(env)) {
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
	count = ri_reading_format(reading, "%.*sNUM",
		(int)(strlen(task) - strlen("HOSTS")), task);
	ri_claim_number(reading, RI_FACT_NODE_RANK, find_index(env));
	if (count != NULL)
		ri_claim_filled(reading, RI_FACT_NNODES, count);
	ri_claim_gpus(reading, RI_FACT_NPROC, "MA_NUM_GPUS");
	hosts = ri_claim_hosts(reading, task, ',');
	if (hosts != NULL && hosts->state == RI_STATE_KNOWN)
		ri_claim_master(reading, hosts, RI_STRENGTH_DEFAULT);
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
	.cite = PLUGINS "/distributed-framework/pytorch/pytorch.go",
	.reads = RI_READS(
		{ "VC_TASK_INDEX", "index of this pod in its task", .cite = PLUGINS "/env/env.go" },
		{ "VK_TASK_INDEX", "the same, under its older name",
		  .cite = PLUGINS "/env/env.go" },
		{ "VC_<TASK>_HOSTS", "the pods of a task, separated by commas",
		  .cite = PLUGINS "/svc/svc.go" },
		{ "VC_<TASK>_NUM", "the number of those pods", .cite = PLUGINS "/svc/svc.go" },
		{ master_hosts, "with RANK and WORLD_SIZE: such a job, without an index" },
		{ master_count, "the master and ..." },
		{ worker_count,
		  "... the workers are the nodes, if WORLD_SIZE counts other pods, too",
		  .cite = "volcano-sh/volcano#4166" },
		{ "RANK", "index of this pod in the job, if LOCAL_RANK is absent" },
		{ "WORLD_SIZE", "pods of the job, likewise" },
		{ "MA_NUM_GPUS", "accelerators of the pod, in a job of ModelArts",
		  .cite = "Huawei Cloud ModelArts, Managing Environment Variables of a "
		  "Training Container" },
		{ "MPI_HOST", "the workers; set only in the pod that runs mpirun",
		  .cite = PLUGINS "/distributed-framework/mpi/mpi.go" }),
	/* Without policies the other pods run on where one fails. */
	RI_SHAPES(
		{ .name = "volcano",
		  .summary = "a Volcano job of one task starts a pod for each node",
		  .scope = RI_SCOPE_NODE, .grace_s = 30, .goes_on = true,
		  .rows = RI_SHAPE_ROWS(
			{ "VC_TASK_INDEX", "<node>" },
			{ "VK_TASK_INDEX", "<node>" },
			{ "VC_WORKER_HOSTS", "<each:,><host></each>" },
			{ "VC_WORKER_NUM", "<nodes>" }),
		  .succeeded = "Completed", .failed = "Failed", .stopped = "Aborted",
		  RI_CITE(PHASES "; " RI_SHAPE_POD) },
		{ .name = "volcano_pytorch",
		  .summary = "the same with master, workers and plugin pytorch",
		  .scope = RI_SCOPE_NODE, .port = 23456, .grace_s = 30, .goes_on = true,
		  .beside = ri_shape_states_master,
		  .rows = RI_SHAPE_ROWS(
			{ "VC_TASK_INDEX", "0", RI_OF_FIRST },
			{ "VC_TASK_INDEX", "<worker>", RI_OF_OTHERS },
			{ "VC_MASTER_HOSTS", "<master>" },
			{ "VC_MASTER_NUM", "1" },
			{ "VC_WORKER_HOSTS", "<others:,><host></others>", RI_OF_SEVERAL_NODES },
			{ "VC_WORKER_NUM", "<workers>", RI_OF_SEVERAL_NODES },
			{ "RANK", "<node>" },
			{ "WORLD_SIZE", "<nodes>" }),
		  .succeeded = "Completed", .failed = "Failed", .stopped = "Aborted",
		  RI_CITE(PHASES "; " RI_SHAPE_POD) }),
	.detect = sees_volcano,
	.read = read_volcano,
};

#define PYTORCH "Kubeflow training-operator v1.9 pkg/controller.v1/pytorch"
#define TORCH_TRAINER "Kubeflow trainer pkg/runtime/framework/plugins/torch/torch.go"
#define TRAINJOB "Kubeflow trainer pkg/apis/trainer/v1alpha1/trainjob_types.go; " RI_SHAPE_POD

static void read_kubeflow_pytorch(struct ri_reading *reading)
{
	/* Words of torchrun's, which understands them. */
	static const char *const words[] = { "auto", "cpu", "gpu", "xpu" };
	const struct ri_env *env = reading->context->env;
	const char *processes = ri_reading_get(reading, "PET_NPROC_PER_NODE");
	uint64_t rank, size, local_rank, node, nodes, each;
	bool of_image;
	size_t word = 0;

	ri_claim_rows(reading, ri_source_kubeflow_pytorch.reads);
	while (processes != NULL && word < RI_ARRAY_SIZE(words) &&
		strcmp(processes, words[word]) != 0)
		word++;
	if (word == RI_ARRAY_SIZE(words))
		ri_claim_filled(reading, RI_FACT_NPROC, "PET_NPROC_PER_NODE");
	/* An elastic job's nodes come and go, and torchrun gives out their ranks. */
	if (strchr(ri_reading_get(reading, "PET_NNODES"), ':') != NULL) {
		ri_claim_open(reading, RI_FACT_NNODES, "PET_NNODES", "the job is elastic");
		return;
	}
	ri_claim_filled(reading, RI_FACT_NNODES, "PET_NNODES");
	ri_claim_filled(reading, RI_FACT_NODE_RANK, "PET_NODE_RANK");
	/*
	 * LOCAL_RANK may be an image's. The others are still the operator's then: RANK is
	 * the pod's, and WORLD_SIZE counts processes that no launcher has started yet.
	 */
	of_image = !ri_source_sees_text(env, "LOCAL_WORLD_SIZE") &&
		ri_reading_number(reading, RI_FACT_LOCAL_RANK, "LOCAL_RANK", &local_rank) &&
		ri_reading_number(reading, RI_FACT_RANK, "RANK", &rank) &&
		ri_reading_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE", &size) &&
		ri_reading_number(reading, RI_FACT_NODE_RANK, "PET_NODE_RANK", &node) &&
		ri_reading_number(reading, RI_FACT_NNODES, "PET_NNODES", &nodes) &&
		ri_reading_number(reading, RI_FACT_NPROC, "PET_NPROC_PER_NODE", &each) &&
		local_rank == 0 && rank == node && each > 1 && size == nodes * each;
	/* the pod's own process reads this, and not a rank that was started in it */
	if (reading->identity == NULL && (!ri_quartet_sees(env) || of_image))
		ri_claim_filled(reading, RI_FACT_NODE_RANK, "RANK");
}

/*
 * PET_* are the defaults of torchrun's options, and the pod is a node: the launcher of its
 * processes gives them ranks.
 */
const struct ri_source ri_source_kubeflow_pytorch = {
	.name = "kubeflow_pytorch",
	.summary = "pod of a Kubeflow PyTorchJob or TrainJob: a node, and its master",
	.identity = RI_SCOPE_NODE,
	.traits = RI_TRAIT_ASKS_RANKS,
	.reads = RI_READS(
		{ "PET_NNODES", "nodes; MIN:MAX of an elastic job gives no number", RI_SEEN,
		  .value = "<nodes>", .cite = PYTORCH "/envvar.go, elastic.go; " TORCH_TRAINER },
		{ "PET_NODE_RANK", "index of this node; may be empty", RI_SEEN, .value = "<node>",
		  .cite = PYTORCH "/envvar.go; " TORCH_TRAINER },
		{ "PET_NPROC_PER_NODE", "processes to start, if it is a number", .value = "<ranks>",
		  .cite = PYTORCH "/envvar.go; " TORCH_TRAINER },
		{ "PET_MASTER_ADDR", "the host of node 0", 0, RI_MASTER,
		  .cite = PYTORCH "/master.go; " TORCH_TRAINER },
		{ "PET_MASTER_PORT", "port on which rank 0 listens", 0, RI_FILLED(MASTER_PORT),
		  .cite = PYTORCH "/master.go; " TORCH_TRAINER },
		{ "RANK", "the pod's index, if LOCAL_RANK is absent or comes from the image",
		  .cite = PYTORCH "/envvar.go" },
		{ "WORLD_SIZE", "only to see whether it counts processes of all pods",
		  .cite = PYTORCH "/envvar.go" }),
	/* CleanPodPolicy is None by default; a TrainJob is a JobSet, where one pod ends all. */
	RI_SHAPES(
		{ RI_SHAPE_OF(kubeflow_pytorch, NODE),
		  .summary = "a PyTorchJob starts a pod for each node",
		  .beside = ri_shape_states_master,
		  /*
		   * RANK is the pod's index and WORLD_SIZE counts processes where their number is
		   * known. So neither is anybody's rank, and MASTER_ADDR and MASTER_PORT are left
		   * to source "env": older operators told the first pod "localhost". A TrainJob
		   * sets none of them.
		   */
		  .rows = RI_SHAPE_ROWS(
			{ "RANK", "<node>" },
			{ "WORLD_SIZE", "<world_size>" }),
		  .port = 23456, .grace_s = 30, .goes_on = true,
		  .succeeded = "Succeeded", .failed = "Failed", .stopped = "Failed",
		  RI_CITE("Kubeflow training-operator v1.9 pkg/apis/kubeflow.org/v1/"
			"pytorch_defaults.go, common_types.go; " RI_SHAPE_POD) },
		{ .name = "kubeflow_trainjob", .summary = "a TrainJob starts a pod for each node",
		  .scope = RI_SCOPE_NODE, .reads = &ri_source_kubeflow_pytorch.reads, .grace_s = 30,
		  .succeeded = "Complete", .failed = "Failed", .stopped = "Failed",
		  RI_CITE(TRAINJOB) }),
	.read = read_kubeflow_pytorch,
};

#define JAX "Kubeflow training-operator v1.9 pkg/controller.v1/jax/envvar.go"
#define JAX_TRAINER "Kubeflow trainer pkg/runtime/framework/plugins/jax/jax.go"

static bool is_of_trainer(const struct ri_env *env)
{
	return ri_source_sees_text(env, "JAX_PROCESS_ID") &&
		ri_source_sees_text(env, "JAX_NUM_PROCESSES");
}

/* The names of a JAXJob are anybody's, so all three have to be there. */
static bool sees_jax_job(const struct ri_env *env)
{
	return is_of_trainer(env) ||
		(ri_source_sees_text(env, "PROCESS_ID") &&
			ri_source_sees_text(env, "NUM_PROCESSES") &&
			ri_source_sees_text(env, "COORDINATOR_ADDRESS"));
}

/*
 * A TrainJob of several slices gives each pod the index in its slice's Job, so that each id is
 * there twice (kubeflow/trainer#3537). One that lies outside of its slice is such for certain.
 */
static bool counts_in_slice(const struct ri_reading *reading)
{
	uint64_t id, all, slices, slice;

	if (!ri_reading_number(reading, RI_FACT_NODE_RANK, "JAX_PROCESS_ID", &id) ||
		!ri_reading_number(reading, RI_FACT_NNODES, "JAX_NUM_PROCESSES", &all) ||
		!ri_reading_number(reading, RI_FACT_NNODES, "MEGASCALE_NUM_SLICES", &slices) ||
		!ri_reading_number(reading, RI_FACT_NODE_RANK, "MEGASCALE_SLICE_ID", &slice) ||
		slice >= slices || all % slices != 0 || id / (all / slices) == slice)
		return false;
	ri_finding_hint(ri_warn(reading->context->findings, RI_CODE_ENV_IGNORED, "JAX_PROCESS_ID",
		"%" PRIu64 " is not used: it counts in its slice, as this is slice %" PRIu64
		" of %" PRIu64 ", with %" PRIu64 " processes in all, and each slice has that id",
		id, slice, slices, all), "state --node-rank=%" PRIu64, slice * (all / slices) + id);
	return true;
}

static void read_jax_job(struct ri_reading *reading)
{
	bool trainer = is_of_trainer(reading->context->env);
	const char *address = trainer ? "JAX_COORDINATOR_ADDRESS" : "COORDINATOR_ADDRESS";
	unsigned port;

	if (trainer && counts_in_slice(reading))
		ri_claim_open(reading, RI_FACT_NODE_RANK, "JAX_PROCESS_ID",
			"the id starts again at 0 in each slice");
	else
		ri_claim_number(reading, RI_FACT_NODE_RANK,
			trainer ? "JAX_PROCESS_ID" : "PROCESS_ID");
	ri_claim_number(reading, RI_FACT_NNODES, trainer ? "JAX_NUM_PROCESSES" : "NUM_PROCESSES");
	if (!trainer)
		ri_claim_filled(reading, RI_FACT_MASTER_PORT, "COORDINATOR_PORT");
	ri_claim_endpoint(reading, RI_FACT_MASTER_ADDR, address, &port);
	if (port != 0)
		ri_claim_value(reading, RI_FACT_MASTER_PORT, address, port);
}

/* With one process in each pod. */
const struct ri_source ri_source_jax_job = {
	.name = "jax_job",
	.summary = "pod of a Kubeflow JAXJob or JAX TrainJob: a node with one process",
	.identity = RI_SCOPE_NODE,
	.shares = "JOB_COMPLETION_INDEX",	/* of several slices it is the slice's */
	.cite = JAX,
	.reads = RI_READS(
		{ "JAX_PROCESS_ID", "index of this pod", .cite = JAX_TRAINER },
		{ "JAX_NUM_PROCESSES", "pods of the job", .cite = JAX_TRAINER },
		{ "JAX_COORDINATOR_ADDRESS", "host:port of pod 0", .cite = JAX_TRAINER },
		{ "MEGASCALE_NUM_SLICES", "slices of TPUs, each with as many pods, and ...",
		  .cite = "kubernetes-sigs/jobset#787" },
		{ "MEGASCALE_SLICE_ID", "... this one: an id outside of it counts in its slice",
		  .cite = "kubernetes-sigs/jobset#787; kubeflow/trainer#3537" },
		{ "PROCESS_ID", "index of this pod", .value = "<node>" },
		{ "NUM_PROCESSES", "pods of the job", .value = "<nodes>" },
		{ "COORDINATOR_ADDRESS", "the host of pod 0", .value = "<master>" },
		{ "COORDINATOR_PORT", "the port of pod 0", .value = "<master_port>" }),
	/* CleanPodPolicy is None by default; a TrainJob is a JobSet. */
	RI_SHAPES(
		{ RI_SHAPE_OF(jax_job, NODE), .summary = "a JAXJob starts a pod for each node",
		  .port = 6666, .grace_s = 30, .goes_on = true,
		  .succeeded = "Succeeded", .failed = "Failed", .stopped = "Failed",
		  RI_CITE("Kubeflow training-operator v1.9 "
			"pkg/apis/kubeflow.org/v1/jax_defaults.go; " RI_SHAPE_POD) },
		{ .name = "jax_job_trainjob",
		  .summary = "a JAX TrainJob starts a pod for each node",
		  .scope = RI_SCOPE_NODE, .grace_s = 30,
		  .rows = RI_SHAPE_ROWS(
			{ "JAX_PROCESS_ID", "<node>" },
			{ "JAX_NUM_PROCESSES", "<nodes>" },
			{ "JAX_COORDINATOR_ADDRESS", "<master>:<master_port>" }),
		  .succeeded = "Complete", .failed = "Failed", .stopped = "Failed",
		  RI_CITE(TRAINJOB) }),
	.detect = sees_jax_job,
	.read = read_jax_job,
};

#define OPERATOR "mpi-operator pkg/controller/mpi_job_controller.go"
#define TRAINER "Kubeflow trainer pkg/runtime/framework/plugins/mpi/mpi.go"
#define MEANING "path of the host file, which the operator mounts at " FOLDER
#define FOLDER "/etc/mpi/"

/* The first three of these. */
enum { PATHS = 3 };

static bool is_launcher(const struct ri_env *env)
{
	return ri_source_sees(env, "K_MPI_JOB_ROLE") &&
		strcmp(ri_env_get(env, "K_MPI_JOB_ROLE"), "launcher") == 0;
}

/* The variable that holds the operator's host file, or NULL: other files are no proof. */
static const char *find_path(const struct ri_env *env)
{
	for (size_t i = 0; i < PATHS; i++) {
		const char *path = ri_env_get(env, ri_source_kubeflow_mpi.reads[i].name);

		if (path != NULL && strncmp(path, FOLDER, strlen(FOLDER)) == 0)
			return ri_source_kubeflow_mpi.reads[i].name;
	}
	return NULL;
}

static bool sees_mpi_job(const struct ri_env *env)
{
	return is_launcher(env) || find_path(env) != NULL;
}

/*
 * Does this rank stand where it would if mpirun filled the hosts one after the
 * other, each with as many ranks? Then rank 0 is on the first one. Where ranks
 * went round all hosts in turn, too many other orders would look the same.
 */
static bool agrees(const struct ri_reading *reading, size_t hosts, uint64_t place)
{
	const char *source = reading->identity->name;
	uint64_t node, rank = 0, size = 0, local_rank = 0, local = 0;

	if (ri_claim_number_of(reading, RI_FACT_NODE_RANK, source, &node))
		return node == place;
	return ri_claim_number_of(reading, RI_FACT_RANK, source, &rank) &&
		ri_claim_number_of(reading, RI_FACT_WORLD_SIZE, source, &size) &&
		ri_claim_number_of(reading, RI_FACT_LOCAL_RANK, source, &local_rank) &&
		ri_claim_number_of(reading, RI_FACT_LOCAL_WORLD_SIZE, source, &local) &&
		local * hosts == size && rank - local_rank == place * local;
}

static void read_kubeflow_mpi(struct ri_reading *reading)
{
	const struct ri_context *context = reading->context;
	const struct ri_source *identity = reading->identity;
	const char *variable = find_path(context->env), *name;
	struct ri_hostfile file;
	size_t found = 0, length, place = 0;

	/* Where the launcher is a worker too, its ranks inherit all of its variables. */
	if (identity == NULL && !sees_mpi_rank(context->env))
		ri_claim_word(reading, RI_FACT_ROLE, is_launcher(context->env)
			? "K_MPI_JOB_ROLE" : variable, RI_ROLE_LAUNCHER, RI_STRENGTH_SAID);
	/* Is the master unknown, and are there ranks elsewhere? */
	if (identity == NULL || !identity->over_ssh || context->host == NULL ||
		variable == NULL || ri_reading_has_master(reading) ||
		ri_claim_of(reading, RI_FACT_LOCAL_WORLD_SIZE, identity->name) == NULL ||
		ri_identity_is_on_one_node(reading))
		return;
	if (!ri_hostfile_of_variable(&file, variable, reading))
		return;
	name = ri_host_name(context->host, context->arena);
	/* A pod's own name is the first label of the one in the host file. */
	for (size_t i = 0; name != NULL && i < file.count; i++) {
		length = strcspn(file.hosts[i], ".");
		if (strcspn(name, ".") == length && strncmp(file.hosts[i], name, length) == 0) {
			place = i;
			found++;
		}
	}
	if (found == 1 && agrees(reading, file.count, place))
		ri_claim_word(reading, RI_FACT_MASTER_ADDR, variable, file.hosts[0],
			RI_STRENGTH_DEFAULT);
}

/*
 * An MPIJob or an MPI TrainJob. Its launcher pod runs mpirun and is no rank, even where
 * only the variables for mpirun tell it from others: no identity, and no variable is set.
 *
 * mpirun carries these variables to the ranks. They come over ssh and lack
 * what their pod was given, so the host file is a last way to find the node
 * of rank 0, where it agrees with the rank's own place.
 */
const struct ri_source ri_source_kubeflow_mpi = {
	.name = "kubeflow_mpi",
	.summary = "Kubeflow MPIJob: the launcher, which is not a rank, and the first host",
	.identity = RI_SCOPE_NONE,
	.cite = OPERATOR,
	.reads = RI_READS(
		{ "OMPI_MCA_orte_default_hostfile", MEANING, .value = FOLDER "hostfile",
		  .cite = OPERATOR "; " TRAINER },
		{ "I_MPI_HYDRA_HOST_FILE", MEANING },
		{ "HYDRA_HOST_FILE", MEANING },
		{ "K_MPI_JOB_ROLE", "launcher or worker" }),
	/* One whose launcher is a worker, too (runLauncherAsWorker). */
	RI_SHAPES({ RI_SHAPE_OF(kubeflow_mpi, PROCESS),
		.summary = "an MPIJob's mpirun starts each rank",
		.rows = RI_SHAPE_ROWS(
			{ FOLDER "hostfile", "<each:><host> slots=<ranks>\n</each>" }),
		.beside = ri_shape_of_mpirun, .grace_s = 5,
		.succeeded = "Succeeded", .failed = "Failed", .stopped = "Failed",
		RI_CITE("mpi-operator pkg/apis/kubeflow/v2beta1/types.go, JobConditionType; "
			"Open MPI mpirun(1)") }),
	.detect = sees_mpi_job,
	.read = read_kubeflow_mpi,
};
