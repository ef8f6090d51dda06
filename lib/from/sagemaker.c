/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "sagemaker": a training job of Amazon SageMaker. SM_* are made by its
 * Python toolkit, so for process 1 of an image they do not exist yet; the
 * service itself leaves a file.
 *
 * The hosts stand in the file sorted as text (algo-1, algo-10, algo-2), and
 * their order there is that of the nodes for everybody: it is never changed.
 * Instance groups are parts of the one list.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/limits.h"
#include "from/reading.h"

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

static bool detect(const struct ri_env *env)
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

		if (host == NULL || !ri_is_host((struct ri_span){ host, strlen(host) }))
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
	claim = ri_claim_read(reading, RI_FACT_MASTER_ADDR, from, raw);
	if (claim != NULL)
		claim->text = list[0];
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
		ri_findings_add(reading->context->findings, RI_SEVERITY_WARNING,
			RI_CODE_ENV_IGNORED, path, "%s; it is not used", what);
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
	finding = ri_findings_add(reading->context->findings, RI_SEVERITY_WARNING,
		RI_CODE_SOURCE_INCOMPLETE, path,
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
	const char *path = ri_arena_format(reading->context->arena, "%s" CONFIG,
		base == NULL || base[0] == '\0' ? "/opt/ml" : base);
	char quoted[RI_QUOTE_SIZE], what[RI_QUOTE_SIZE + 64];
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
			ri_quote(quoted, sizeof(quoted), error.text));
		refuse(reading, path, what);
	} else {
		claim_config(reading, path, config);
	}
	json_decref(config);
}

static void read_sagemaker(struct ri_reading *reading)
{
	ri_claim_default_port(reading, DEFAULT_PORT);
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
	.reads = RI_READS(
		{ "TRAINING_JOB_ARN", "the job; used only to recognise SageMaker", .cite = GUIDE },
		{ "TRAINING_JOB_NAME", "name of the job", GUIDE, 0, RI_JOB_NAME },
		{ "/opt/ml" CONFIG, "current_host and hosts, the master first", .cite = GUIDE },
		{ "SAGEMAKER_BASE_DIR", "a folder to use instead of /opt/ml",
		  .cite = TOOLKIT "src/sagemaker_training/environment.py" },
		{ "SM_HOSTS", "the hosts as JSON, used instead of those in the file",
		  .cite = TOOLKIT "ENVIRONMENT_VARIABLES.md" },
		{ "SM_CURRENT_HOST", "this host", .cite = TOOLKIT "ENVIRONMENT_VARIABLES.md" },
		{ train_groups, "the instance groups that train, as JSON",
		  .cite = TOOLKIT "src/sagemaker_training/environment.py" },
		{ own_group, "this host's group",
		  .cite = TOOLKIT "src/sagemaker_training/environment.py" },
		{ group_hosts, "its hosts, used if no other group trains",
		  .cite = TOOLKIT "src/sagemaker_training/environment.py" },
		{ "SM_NUM_GPUS", "processes to start on each node; 0 without GPUs",
		  TOOLKIT "ENVIRONMENT_VARIABLES.md", 0, RI_GPUS }),
	RI_SHAPES(
		{ .name = "sagemaker", .summary = "SageMaker starts a container on each instance",
		  .scope = RI_SCOPE_NODE, .port = DEFAULT_PORT, .grace_s = 120,
		  .rows = RI_SHAPE_ROWS(
			{ "TRAINING_JOB_ARN", ARN, 0 },
			{ "TRAINING_JOB_NAME", "simulated", 0 },
			{ "/opt/ml" CONFIG, "{\"current_host\":\"<host>\",\"hosts\":"
				"[<each:,>\"<host>\"</each>]}", 0 }),
		  .succeeded = "Completed", .failed = "Failed", .stopped = "Stopped",
		  RI_CITE(STOP) },
		{ .name = "sagemaker_toolkit",
		  .summary = "the same, where SageMaker's Python toolkit starts the script",
		  .scope = RI_SCOPE_NODE, .port = DEFAULT_PORT, .grace_s = 120,
		  /* Below the toolkit's entry point, which starts a user's script. */
		  .rows = RI_SHAPE_ROWS(
			{ "TRAINING_JOB_ARN", ARN, 0 },
			{ "TRAINING_JOB_NAME", "simulated", 0 },
			{ "SM_HOSTS", "[<each:,>\"<host>\"</each>]", 0 },
			{ "SM_CURRENT_HOST", "<host>", 0 },
			{ "SM_NUM_GPUS", "<ranks>", 0 }),
		  .succeeded = "Completed", .failed = "Failed", .stopped = "Stopped",
		  RI_CITE(STOP) }),
	.detect = detect,
	.read = read_sagemaker,
};
