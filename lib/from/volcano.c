/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "volcano": a pod of a Volcano job. Its index counts the pods of its
 * task, and starts anew in the next one (master-0, worker-0). So it is the
 * node's place where the job has one task, or where the pytorch plugin counts
 * the pods of all of them: its RANK and WORLD_SIZE are those of pods. Huawei's
 * ModelArts starts such jobs of one task.
 */
#include <string.h>

#include "from/reading.h"

#define PLUGINS "Volcano pkg/controllers/job/plugins"
#define PHASES "Volcano apis pkg/apis/batch/v1alpha1/job.go, JobPhase, LifecyclePolicy"
#define PYTORCH PLUGINS "/distributed-framework/pytorch/pytorch.go"

/* Of the two tasks that the plugin takes by default: its --master and --worker. */
static const char master_hosts[] = "VC_MASTER_HOSTS";
static const char master_count[] = "VC_MASTER_NUM", worker_count[] = "VC_WORKER_NUM";

static const struct ri_source_row reads[] = {
	{ "VC_TASK_INDEX", "index of this pod in its task", .cite = PLUGINS "/env/env.go" },
	{ "VK_TASK_INDEX", "the same, under its older name", .cite = PLUGINS "/env/env.go" },
	{ "VC_<TASK>_HOSTS", "the pods of a task, separated by commas",
	  .cite = PLUGINS "/svc/svc.go" },
	{ "VC_<TASK>_NUM", "the number of those pods", .cite = PLUGINS "/svc/svc.go" },
	{ master_hosts, "with RANK and WORLD_SIZE: such a job, without an index", .cite = PYTORCH },
	{ master_count, "the master and ...", .cite = PYTORCH },
	{ worker_count, "... the workers are the nodes, if WORLD_SIZE counts other pods, too",
	  .cite = "volcano-sh/volcano#4166" },
	{ "RANK", "index of this pod in the job, if LOCAL_RANK is absent", .cite = PYTORCH },
	{ "WORLD_SIZE", "pods of the job, likewise", .cite = PYTORCH },
	{ "MA_NUM_GPUS", "accelerators of the pod, in a job of ModelArts",
	  .cite = "Huawei Cloud ModelArts, Managing Environment Variables of a Training "
	  "Container" },
	{ "MPI_HOST", "the workers; set only in the pod that runs mpirun",
	  .cite = PLUGINS "/distributed-framework/mpi/mpi.go" },
	{ .name = NULL },
};

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
static bool detect(const struct ri_env *env)
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

const struct ri_source ri_source_volcano = {
	.name = "volcano",
	.summary = "pod of a Volcano job: a node, or the launcher of an MPI job",
	.identity = RI_SCOPE_NODE,
	.traits = RI_TRAIT_NAMES_JOB,
	.reads = reads,
	/* Without policies the other pods run on where one fails. */
	RI_SHAPES(
		{ .name = "volcano",
		  .summary = "a Volcano job of one task starts a pod for each node",
		  .scope = RI_SCOPE_NODE, .port = 29500, .grace_s = 30, .goes_on = true,
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
		  .rows = RI_SHAPE_ROWS(
			{ "VC_TASK_INDEX", "0", RI_OF_FIRST },
			{ "VC_TASK_INDEX", "<worker>", RI_OF_OTHERS },
			{ "VC_MASTER_HOSTS", "<master>", 0 },
			{ "VC_MASTER_NUM", "1", 0 },
			{ "VC_WORKER_HOSTS", "<others:,><host></others>", RI_OF_SEVERAL_NODES },
			{ "VC_WORKER_NUM", "<workers>", RI_OF_SEVERAL_NODES },
			{ "RANK", "<node>", 0 },
			{ "WORLD_SIZE", "<nodes>", 0 },
			{ "MASTER_ADDR", "<master>", 0 },
			{ "MASTER_PORT", "<master_port>", 0 }),
		  .succeeded = "Completed", .failed = "Failed", .stopped = "Aborted",
		  RI_CITE(PHASES "; " RI_SHAPE_POD) }),
	.detect = detect,
	.read = read_volcano,
};
