/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clouds and their schedulers that start a command or a container on each node, and count
 * the nodes: SkyPilot, dstack, Volcengine, DGX Cloud Lepton, Beaker, AWS Batch, SageMaker.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "base/limits.h"
#include "from/hosts.h"

static void read_skypilot(struct ri_reading *reading)
{
	ri_claim_rows(reading, ri_source_skypilot.reads);
	ri_claim_first_host(reading);
}

const struct ri_source ri_source_skypilot = {
	.name = "skypilot",
	.summary = "a node of a SkyPilot task",
	.identity = RI_SCOPE_NODE,
	.cite = "docs.skypilot.co, Environment Variables and Secrets",
	.reads = RI_READS(
		{ "SKYPILOT_NODE_RANK", "index of this node", RI_SEEN, RI_NUMBER(NODE_RANK) },
		{ "SKYPILOT_NUM_NODES", "nodes", RI_ONE_SEEN, RI_FILLED(NNODES) },
		{ "SKYPILOT_NODE_IPS", "addresses of the nodes, one on each line, node 0 first",
		  RI_ONE_SEEN, RI_HOSTS('\n') },
		{ "SKYPILOT_NUM_GPUS_PER_NODE", "processes to start on each node; 0 without GPUs",
		  0, RI_GPUS },
		{ "SKYPILOT_TASK_ID", "name of the task", 0, RI_JOB_NAME,
		  "sky-2026-01-01-00-00-00-000000_simulated_1" }),
	/* Where a node fails, the others are ended. How long they have is not documented. */
	RI_SHAPES({ RI_SHAPE_OF(skypilot, NODE),
		.summary = "SkyPilot starts the command on each node",
		.grace_s = 5,
		.succeeded = "SUCCEEDED", .failed = "FAILED", .stopped = "CANCELLED",
		RI_CITE("SkyPilot sky/skylet/job_lib.py, JobStatus; pull request 3081") }),
	.read = read_skypilot,
};

const struct ri_source ri_source_dstack = {
	.name = "dstack",
	.summary = "a node of a dstack task",
	.identity = RI_SCOPE_NODE,
	.cite = "dstack.ai/docs/concepts/tasks, System environment variables",
	.reads = RI_READS(
		{ "DSTACK_NODE_RANK", "index of this node", RI_SEEN, RI_NUMBER(NODE_RANK) },
		{ "DSTACK_NODES_NUM", "nodes", RI_SEEN, RI_NUMBER(NNODES) },
		{ "DSTACK_MASTER_NODE_IP", "address of node 0", 0, RI_MASTER },
		{ "DSTACK_NODES_IPS", "addresses of the nodes, one on each line, node 0 first", 0,
		  RI_HOSTS('\n') },
		{ "DSTACK_GPUS_PER_NODE", "processes to start on each node; 0 without GPUs", 0,
		  RI_GPUS },
		{ "DSTACK_RUN_ID", "the run", 0, RI_JOB_NAME,
		  "51e837bf-fae9-4a37-ac9c-85c005606c22" }),
	/* A job of a run that fails ends the others. How long they have is not documented. */
	RI_SHAPES({ RI_SHAPE_OF(dstack, NODE),
		.summary = "dstack starts a task's container on each node",
		.grace_s = 10, .succeeded = "done", .failed = "failed", .stopped = "terminated",
		RI_CITE("dstack src/dstack/_internal/core/models/runs.py, RunStatus") }),
};

/*
 * The index counts the nodes of one role: it is the node's place where that is the
 * workers', and no TF_CONFIG tells more roles apart.
 */
static void read_volcengine(struct ri_reading *reading)
{
	const struct ri_env *env = reading->context->env;

	if (!ri_source_sees_text(env, "TF_CONFIG") && (!ri_source_sees_text(env, "MLP_ROLE") ||
		strcasecmp(ri_env_get(env, "MLP_ROLE"), "worker") == 0)) {
		ri_claim_rows(reading, ri_source_volcengine.reads);
		return;
	}
	ri_claim_label(reading, RI_FACT_JOB_ID, "MLP_TASK_ID");
	ri_claim_open(reading, RI_FACT_NODE_RANK, "MLP_ROLE_INDEX",
		"the index counts the nodes of its role alone");
}

/* A node of a custom training task of Volcengine's (BytePlus') machine learning platform. */
const struct ri_source ri_source_volcengine = {
	.name = "volcengine",
	.summary = "a worker of a training task of Volcengine or BytePlus",
	.identity = RI_SCOPE_NODE,
	.cite = "volcengine.com/docs/6459/75329",
	.reads = RI_READS(
		{ "MLP_ROLE", "this node's role; WORKER if absent", .value = "WORKER" },
		{ "MLP_ROLE_INDEX", "index of this node in its role", RI_SEEN,
		  RI_NUMBER(NODE_RANK) },
		{ "MLP_WORKER_NUM", "workers", RI_SEEN, RI_NUMBER(NNODES) },
		{ "MLP_WORKER_0_HOST", "host of worker 0", 0, RI_MASTER },
		{ "MLP_WORKER_0_PORT", "port of worker 0", 0, RI_FILLED(MASTER_PORT) },
		{ "MLP_WORKER_ALL_HOSTS", "hosts of the workers, separated by commas", 0,
		  RI_HOSTS(',') },
		{ "MLP_WORKER_GPU", "GPUs of each worker: processes to start there", 0, RI_GPUS },
		{ "MLP_TASK_ID", "the task", 0, RI_JOB_NAME, "t-20210924211641-nznsh" }),
	RI_SHAPES({ RI_SHAPE_OF(volcengine, NODE),
		.summary = "Volcengine starts a container for each worker",
		.port = 2222, .grace_s = 30, RI_CITE(RI_SHAPE_POD) }),
	.read = read_volcengine,
};

static const char prefix[] = "LEPTON_JOB_SERVICE_PREFIX", domain[] = "LEPTON_SUBDOMAIN";

/* No variable has the host of worker 0; the documentation makes it of these two. */
static void read_lepton(struct ri_reading *reading)
{
	const struct ri_env *env = reading->context->env;
	struct ri_endpoint endpoint;
	const char *host;

	ri_claim_rows(reading, ri_source_lepton.reads);
	if (!ri_source_sees_text(env, prefix) || !ri_source_sees_text(env, domain))
		return;
	host = ri_reading_format(reading, "%s-0.%s", ri_env_get(env, prefix),
		ri_env_get(env, domain));
	if (host == NULL)
		return;
	if (ri_endpoint_read(ri_span_of(host), &endpoint) && endpoint.port == 0)
		ri_claim_word(reading, RI_FACT_MASTER_ADDR, prefix, host, RI_STRENGTH_SAID);
	else
		ri_claim_broken(reading, RI_FACT_MASTER_ADDR, prefix,
			"what makes a host's name with \"-0.\" and LEPTON_SUBDOMAIN");
}

/* The host of worker 0 is no address in a simulated job: its author says one. */
const struct ri_source ri_source_lepton = {
	.name = "lepton",
	.summary = "a worker of a batch job of DGX Cloud Lepton",
	.identity = RI_SCOPE_NODE,
	.cite = "docs.nvidia.com/dgx-cloud/lepton, Batch Jobs, Environment Variables Reference",
	.reads = RI_READS(
		{ "LEPTON_JOB_WORKER_INDEX", "index of this worker", RI_SEEN,
		  RI_NUMBER(NODE_RANK) },
		{ "LEPTON_JOB_TOTAL_WORKERS", "workers of the job", RI_SEEN, RI_NUMBER(NNODES) },
		{ prefix, "with \"-0.\" and the sub-domain: the host of worker 0" },
		{ domain, "the sub-domain of the job's workers" },
		{ "LEPTON_RESOURCE_ACCELERATOR_NUM",
		  "GPUs of each worker: processes to start there", 0, RI_GPUS },
		{ "LEPTON_JOB_NAME", "name of the job", 0, RI_JOB_NAME, "env-job-98bw" },
		{ "LEPTON_JOB_FAILURE_COUNT", "failed attempts before this one", 0,
		  RI_FILLED(RESTART_COUNT), "0" }),
	RI_SHAPES({ RI_SHAPE_OF(lepton, NODE),
		.summary = "DGX Cloud Lepton starts a pod for each worker",
		.beside = ri_shape_states_master, .grace_s = 30, RI_CITE(RI_SHAPE_POD) }),
	.read = read_lepton,
};

/* as its users' public scripts have it: torchrun --rdzv_endpoint, --node_rank */
#define BEAKER "allenai/OLMo scripts/beaker"

/* AI2's. Replicas without a leader are jobs of their own. */
const struct ri_source ri_source_beaker = {
	.name = "beaker",
	.summary = "a replica of a Beaker task that has a leader",
	.identity = RI_SCOPE_NODE,
	.cite = BEAKER,
	.reads = RI_READS(
		{ "BEAKER_LEADER_REPLICA_HOSTNAME", "host of replica 0", RI_SEEN | RI_TEXT,
		  RI_MASTER },
		{ "BEAKER_REPLICA_RANK", "index of this replica", RI_SEEN, RI_NUMBER(NODE_RANK) },
		{ "BEAKER_REPLICA_COUNT", "replicas", RI_SEEN, RI_NUMBER(NNODES) }),
	/* How long a replica has after a stop is not documented. */
	RI_SHAPES({ RI_SHAPE_OF(beaker, NODE),
		.summary = "Beaker starts a container for each replica",
		.grace_s = 10, RI_CITE(BEAKER) }),
};

#define AWS_JOBS "docs.aws.amazon.com/batch/latest/userguide/job_env_vars.html"
#define NODE_INDEX "AWS_BATCH_JOB_NODE_INDEX"
#define MAIN_INDEX "AWS_BATCH_JOB_MAIN_NODE_INDEX"
#define MAIN_ADDRESS "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"

static void claim_aws_place(struct ri_reading *reading)
{
	const char *main_index = ri_reading_get(reading, MAIN_INDEX), *host;
	struct ri_range range = ri_fact_range(RI_FACT_NODE_RANK);
	uint64_t main = 0, nodes;
	struct ri_own_machine own;
	struct ri_fact *claim;

	/* the main node is node 0, where no variable names another one */
	if (ri_claim_get(reading, RI_FACT_NNODES, &nodes))
		range.max = nodes - 1;
	if (main_index != NULL && ri_number_read(main_index, range, &main, NULL) != RI_NUMBER_OK) {
		ri_claim_broken(reading, RI_FACT_NODE_RANK, MAIN_INDEX,
			"the index of a node, counted from 0");
		return;
	}
	claim = ri_claim_number(reading, RI_FACT_NODE_RANK, NODE_INDEX);
	if (claim == NULL || claim->state != RI_STATE_KNOWN)
		return;
	if (claim->number != main) {
		if (claim->number == 0)
			claim->number = main;
		return;
	}
	claim->number = 0;
	/* Rank 0 listens here, and others know this node by some address. */
	if (ri_source_sees_text(reading->context->env, MAIN_ADDRESS) ||
		reading->identity != NULL || !ri_own_read(&own, reading))
		return;
	host = ri_own_host(&own, reading->context->arena);
	claim = ri_claim_word(reading, RI_FACT_MASTER_ADDR,
		main_index != NULL ? MAIN_INDEX : NODE_INDEX, host, RI_STRENGTH_SAID);
	if (host == NULL)
		ri_claim_spoil(claim, RI_STATE_OPEN,
			"this is the main node, and its own address is unknown");
}

static void read_aws_batch(struct ri_reading *reading)
{
	const char *id = ri_reading_get(reading, "AWS_BATCH_JOB_ID");
	struct ri_fact *claim;

	ri_claim_rows(reading, ri_source_aws_batch.reads);
	claim_aws_place(reading);
	/* the same for all nodes of the job */
	if (id != NULL && id[0] != '\0')
		ri_claim_text(reading, RI_FACT_JOB_ID, "AWS_BATCH_JOB_ID",
			(struct ri_span){ id, strcspn(id, "#") });
	claim = ri_claim_filled(reading, RI_FACT_RESTART_COUNT, "AWS_BATCH_JOB_ATTEMPT");
	if (claim == NULL || claim->state != RI_STATE_KNOWN)
		return;
	if (claim->number > 0)
		claim->number--;
	else
		ri_claim_spoil(claim, RI_STATE_BROKEN, "an attempt, counted from 1");
}

/*
 * A node of a multi-node parallel job. The main node need not have index 0, but rank 0 has to
 * be there: the main node and node 0 change places, on all nodes alike. The main node is not
 * told its own address, so it is asked for it.
 */
const struct ri_source ri_source_aws_batch = {
	.name = "aws_batch",
	.summary = "a node of a multi-node parallel job of AWS Batch",
	.identity = RI_SCOPE_NODE,
	.job = "AWS_BATCH_JOB_ID",
	.cite = "docs.aws.amazon.com/batch/latest/userguide/mnp-env-vars.html",
	.reads = RI_READS(
		{ "AWS_BATCH_JOB_NUM_NODES", "nodes", RI_SEEN, RI_NUMBER(NNODES) },
		{ NODE_INDEX, "index of this node; 0 and the main node's index are exchanged",
		  RI_SEEN, .value = "<node>" },
		{ MAIN_INDEX, "index of the main node, which becomes node 0", .value = "0" },
		{ MAIN_ADDRESS, "address of the main node; absent on the main node itself", 0,
		  RI_MASTER, "" },
		{ "AWS_BATCH_JOB_ID",
		  "the job, and after a '#' the node; marks the process as part of a job even "
		  "without a rank", .value = "5e1b1f0c-7d5e-4a30-9f5e-2b8b8f6a1c7d#<node>",
		  .cite = AWS_JOBS },
		{ "AWS_BATCH_JOB_ATTEMPT", "attempts, including this one", .value = "1",
		  .cite = AWS_JOBS },
		RI_OWN_READS),
	/*
	 * The main node's end is that of the job, and the others are stopped then; where
	 * another one fails, the job goes on.
	 */
	RI_SHAPES({ RI_SHAPE_OF(aws_batch, NODE),
		.summary = "AWS Batch starts a container on each node",
		.rows = RI_SHAPE_ROWS({ MAIN_ADDRESS, "<master>", RI_OF_OTHERS }),
		.grace_s = 30, .goes_on = true,
		.succeeded = "SUCCEEDED", .failed = "FAILED", .stopped = "FAILED",
		RI_CITE("docs.aws.amazon.com/batch/latest/userguide/multi-node-parallel-jobs.html; "
			"docs.aws.amazon.com/batch/latest/userguide/job_timeouts.html") }),
	.read = read_aws_batch,
};

/*
 * A training job of Amazon SageMaker. SM_* are made by its Python toolkit, so for process 1 of
 * an image they do not exist yet; the service itself leaves a file.
 *
 * The hosts stand in the file sorted as text (algo-1, algo-10, algo-2), and
 * their order there is that of the nodes for everybody: it is never changed.
 * Instance groups are parts of the one list.
 */

#define GUIDE \
	"docs.aws.amazon.com/sagemaker, How Amazon SageMaker Provides Training Information"
#define TOOLKIT "sagemaker-training-toolkit "
#define CONFIG "/input/config/resourceconfig.json"

enum {
	/* TOOLKIT src/sagemaker_training/torch_distributed.py */
	DEFAULT_PORT = 7777,
};

/* Of a heterogeneous cluster: some groups only prepare data. */
static const char train_groups[] = "SM_DISTRIBUTION_INSTANCE_GROUPS";
static const char own_group[] = "SM_CURRENT_INSTANCE_GROUP";
static const char group_hosts[] = "SM_CURRENT_INSTANCE_GROUP_HOSTS";

static bool has_toolkit(const struct ri_env *env)
{
	return ri_source_sees_text(env, "SM_HOSTS") && ri_source_sees_text(env, "SM_CURRENT_HOST");
}

static bool sees_sagemaker(const struct ri_env *env)
{
	/* arn:aws:sagemaker:REGION:ACCOUNT:training-job/NAME */
	const char *arn = ri_env_get(env, "TRAINING_JOB_ARN");

	return (arn != NULL && strncmp(arn, "arn:", 4) == 0 &&
		strstr(arn, ":sagemaker:") != NULL) || has_toolkit(env);
}

/* What was said, and where. */
struct cluster {
	const json_t *hosts;
	const char *hosts_from;		/* a variable, or the file */
	const char *hosts_raw;
	const char *current;
	const char *current_from;
};

/* The list in the arena; NULL where it is none. */
static const char **copy_hosts(struct ri_reading *reading, const json_t *hosts)
{
	/* Never too many: neither a file nor a variable is that long. */
	size_t count = json_array_size(hosts);
	const char **list;

	if (count == 0)
		return NULL;
	list = ri_reading_allocate(reading, count, sizeof(*list));
	for (size_t i = 0; list != NULL && i < count; i++) {
		const char *host = json_string_value(json_array_get(hosts, i));

		if (host == NULL || !ri_is_host(ri_span_of(host)))
			return NULL;
		list[i] = ri_reading_copy(reading, host, strlen(host));
		if (list[i] == NULL)
			return NULL;
	}
	return list;
}

static void claim_cluster(struct ri_reading *reading, const struct cluster *cluster)
{
	const char *from = cluster->hosts_from, *raw = cluster->hosts_raw;
	const char **list = copy_hosts(reading, cluster->hosts);
	size_t count = json_array_size(cluster->hosts), found = 0;
	struct ri_fact *claim;

	if (list == NULL) {
		for (enum ri_fact_id id = RI_FACT_NODE_RANK; id <= RI_FACT_NNODES; id++)
			ri_claim_spoil(ri_claim_read(reading, id, from, raw), RI_STATE_BROKEN,
				"a list of host names in JSON");
		return;
	}
	claim = ri_claim_read(reading, RI_FACT_HOSTS, from, raw);
	if (claim == NULL)
		return;
	claim->list = list;
	claim->number = count;
	ri_claim_master(reading, claim, RI_STRENGTH_SAID);
	/* The index of this host, which has to stand in the list once. */
	claim = ri_claim_read(reading, RI_FACT_NODE_RANK, cluster->current_from, cluster->current);
	for (size_t i = 0; claim != NULL && i < count; i++)
		if (strcmp(list[i], cluster->current) == 0) {
			claim->number = i;
			found++;
		}
	if (found != 1)
		ri_claim_spoil(claim, RI_STATE_BROKEN,
			"a host that is in the list of hosts exactly once");
}

static void read_toolkit(struct ri_reading *reading)
{
	const char *raw = ri_reading_get(reading, train_groups);
	const char *group = ri_reading_get(reading, own_group), *name;
	json_t *groups = raw == NULL ? NULL : json_loads(raw, 0, NULL), *hosts;
	struct cluster cluster = {
		.hosts_from = "SM_HOSTS", .current_from = "SM_CURRENT_HOST",
		.current = ri_reading_get(reading, "SM_CURRENT_HOST"),
	};

	/* Are the hosts of this instance group the only ones that the distribution is for? */
	name = json_array_size(groups) == 1 ? json_string_value(json_array_get(groups, 0)) : NULL;
	if (name != NULL && group != NULL && strcmp(name, group) == 0 &&
		ri_reading_get(reading, group_hosts) != NULL)
		cluster.hosts_from = group_hosts;
	json_decref(groups);
	cluster.hosts_raw = ri_reading_get(reading, cluster.hosts_from);
	hosts = json_loads(cluster.hosts_raw, 0, NULL);
	cluster.hosts = hosts;
	claim_cluster(reading, &cluster);
	json_decref(hosts);
}

/* A run that needs the file is refused; one that has a rank without it goes on. */
static void refuse(struct ri_reading *reading, const char *path, const char *what)
{
	if (reading->identity != NULL)
		ri_warn(reading->context->findings, RI_CODE_ENV_IGNORED, path, "%s; it is not used",
			what);
	else
		ri_fail(reading->err, RI_CODE_FILE_SYNTAX, path, "%s", what);
}

static void claim_config(struct ri_reading *reading, const char *path, const json_t *config)
{
	const char *current = json_string_value(json_object_get(config, "current_host"));
	struct cluster cluster = {
		.hosts = json_object_get(config, "hosts"),
		.hosts_from = path, .current_from = path,
	};
	size_t size = json_dumpb(cluster.hosts, NULL, 0, JSON_COMPACT);
	char *raw;

	if (current == NULL || size == 0) {
		refuse(reading, path,
			"expected a JSON object with \"current_host\" and a list \"hosts\"");
		return;
	}
	cluster.current = ri_reading_copy(reading, current, strlen(current));
	if (cluster.current == NULL)
		return;
	raw = ri_reading_allocate(reading, size + 1, 1);
	if (raw == NULL)
		return;
	json_dumpb(cluster.hosts, raw, size, JSON_COMPACT);
	cluster.hosts_raw = raw;
	claim_cluster(reading, &cluster);
}

static void report_unreadable(struct ri_reading *reading, const char *path, int error)
{
	bool hosts = ri_source_sees_text(reading->context->env, "SM_HOSTS");
	struct ri_error *finding;

	if (reading->identity != NULL)
		return;
	finding = ri_warn(reading->context->findings, RI_CODE_SOURCE_INCOMPLETE, path,
		"cannot be read, so it is unknown which host this is: %s", strerror(error));
	/* one of the toolkit's two variables without the other is as good as none */
	if (hosts != ri_source_sees_text(reading->context->env, "SM_CURRENT_HOST"))
		ri_finding_hint(finding, "%s is set, but it is not used without %s",
			hosts ? "SM_HOSTS" : "SM_CURRENT_HOST",
			hosts ? "SM_CURRENT_HOST" : "SM_HOSTS");
}

static void read_config(struct ri_reading *reading)
{
	const char *base = ri_reading_get(reading, "SAGEMAKER_BASE_DIR");
	const char *path = ri_reading_format(reading, "%s" CONFIG,
		base == NULL || base[0] == '\0' ? "/opt/ml" : base);
	char what[RI_QUOTE_SIZE + 64];
	json_error_t error;
	json_t *config;
	long length;
	char *text;

	if (path == NULL)
		return;
	text = ri_reading_allocate(reading, RI_MAX_FILE, 1);
	if (text == NULL)
		return;
	length = ri_host_read(reading->context->host, path, text, RI_MAX_FILE);
	if (length < 0) {
		report_unreadable(reading, path, errno);
		return;
	}
	config = json_loadb(text, (size_t)length, 0, &error);
	if (config == NULL) {
		snprintf(what, sizeof(what), "line %d is not JSON: %s", error.line,
			RI_QUOTED(error.text));
		refuse(reading, path, what);
	} else {
		claim_config(reading, path, config);
	}
	json_decref(config);
}

static void read_sagemaker(struct ri_reading *reading)
{
	ri_claim_rows(reading, ri_source_sagemaker.reads);
	if (has_toolkit(reading->context->env))
		read_toolkit(reading);
	else if (reading->context->host != NULL)
		read_config(reading);
}

#define ARN "arn:aws:sagemaker:us-west-2:123456789012:training-job/simulated"
#define STOP \
	"docs.aws.amazon.com/sagemaker/latest/dg/API_StopTrainingJob.html; " \
	"API_DescribeTrainingJob.html, TrainingJobStatus"

const struct ri_source ri_source_sagemaker = {
	.name = "sagemaker",
	.summary = "a node of an Amazon SageMaker training job",
	.identity = RI_SCOPE_NODE,
	.hidden = true,
	.port = DEFAULT_PORT,
	.cite = TOOLKIT "src/sagemaker_training/environment.py",
	.reads = RI_READS(
		{ "TRAINING_JOB_ARN", "the job; used only to recognise SageMaker", .cite = GUIDE },
		{ "TRAINING_JOB_NAME", "name of the job", 0, RI_JOB_NAME, .cite = GUIDE },
		{ "/opt/ml" CONFIG, "current_host and hosts, the master first", .cite = GUIDE },
		{ "SAGEMAKER_BASE_DIR", "a folder to use instead of /opt/ml" },
		{ "SM_HOSTS", "the hosts as JSON, used instead of those in the file",
		  .cite = TOOLKIT "ENVIRONMENT_VARIABLES.md" },
		{ "SM_CURRENT_HOST", "this host", .cite = TOOLKIT "ENVIRONMENT_VARIABLES.md" },
		{ train_groups, "the instance groups that train, as JSON" },
		{ own_group, "this host's group" },
		{ group_hosts, "its hosts, used if no other group trains" },
		{ "SM_NUM_GPUS", "processes to start on each node; 0 without GPUs", 0, RI_GPUS,
		  .cite = TOOLKIT "ENVIRONMENT_VARIABLES.md" }),
	RI_SHAPES(
		{ .name = "sagemaker", .summary = "SageMaker starts a container on each instance",
		  .scope = RI_SCOPE_NODE, .port = DEFAULT_PORT, .grace_s = 120,
		  .rows = RI_SHAPE_ROWS(
			{ "TRAINING_JOB_ARN", ARN },
			{ "TRAINING_JOB_NAME", "simulated" },
			{ "/opt/ml" CONFIG, "{\"current_host\":\"<host>\",\"hosts\":"
				"[<each:,>\"<host>\"</each>]}" }),
		  .succeeded = "Completed", .failed = "Failed", .stopped = "Stopped",
		  RI_CITE(STOP) },
		{ .name = "sagemaker_toolkit",
		  .summary = "the same, where SageMaker's Python toolkit starts the script",
		  .scope = RI_SCOPE_NODE, .port = DEFAULT_PORT, .grace_s = 120,
		  /* Below the toolkit's entry point, which starts a user's script. */
		  .rows = RI_SHAPE_ROWS(
			{ "TRAINING_JOB_ARN", ARN },
			{ "TRAINING_JOB_NAME", "simulated" },
			{ "SM_HOSTS", "[<each:,>\"<host>\"</each>]" },
			{ "SM_CURRENT_HOST", "<host>" },
			{ "SM_NUM_GPUS", "<ranks>" }),
		  .succeeded = "Completed", .failed = "Failed", .stopped = "Stopped",
		  RI_CITE(STOP) }),
	.detect = sees_sagemaker,
	.read = read_sagemaker,
};
