/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of such JSON, and the sources that have it: TF_CONFIG of any platform, Vertex AI. */
#include "from/hosts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

/* What a read works with. */
struct input {
	const struct ri_cluster_types *types;
	struct ri_reading *reading;
	json_t *cluster;
	json_t *task;
	bool at_index;		/* is it the task's index that is wrong? */
};

/* One type's tasks: a list, or an object of some of them by their index. */
struct pool {
	json_t *tasks;
	size_t count;
	bool sparse;
};

static json_t *get_member(json_t *pool, size_t index)
{
	char key[24];

	if (json_is_array(pool))
		return json_array_get(pool, index);
	snprintf(key, sizeof(key), "%zu", index);
	return json_object_get(pool, key);
}

/*
 * TensorFlow takes an object of all indices for a list, but one worker alone
 * may be all that it is told of (TFJob, EnableDynamicWorker).
 */
static struct pool find_pool(json_t *cluster, const char *type)
{
	struct pool pool = { .tasks = json_object_get(cluster, type) };

	if (json_is_array(pool.tasks)) {
		pool.count = json_array_size(pool.tasks);
		return pool;
	}
	pool.count = json_object_size(pool.tasks);
	pool.sparse = pool.count == 1;
	for (size_t i = 0; i < pool.count; i++)
		pool.sparse |= get_member(pool.tasks, i) == NULL;
	return pool;
}

/* Its place in a list of types; where it is none, the end. */
static size_t find_type(const char *const *types, const char *type)
{
	size_t at = 0;

	while (types[at] != NULL && strcmp(types[at], type) != 0)
		at++;
	return at;
}

static const char no_hosts[] = "lists of host:port", no_index[] = "a task with an index";

/* The hosts of all tasks with a rank, in order; *count of them, 0 where that is open. */
static const char *list_hosts(struct input *input, struct ri_cluster *out)
{
	const char *const *type = input->types->ranked;
	size_t room = 0, count = 0;
	const char **hosts;

	/* of them all, or of none: where one type is sparse, that is open */
	for (; *type != NULL; type++) {
		struct pool pool = find_pool(input->cluster, *type);

		if (pool.tasks != NULL && !json_is_array(pool.tasks) &&
			!json_is_object(pool.tasks))
			return no_hosts;
		if (pool.sparse)
			return NULL;
		room += pool.count;
	}
	hosts = ri_reading_allocate(input->reading, room + 1, sizeof(*hosts));
	if (hosts == NULL)
		return NULL;
	for (type = input->types->ranked; *type != NULL; type++) {
		struct pool pool = find_pool(input->cluster, *type);

		for (size_t i = 0; i < pool.count; i++) {
			const char *text = json_string_value(get_member(pool.tasks, i));
			struct ri_endpoint endpoint;

			if (text == NULL || !ri_endpoint_read(ri_span_of(text), &endpoint))
				return no_hosts;
			hosts[count] = ri_reading_copy(input->reading, endpoint.host.at,
				endpoint.host.length);
			if (hosts[count++] == NULL)
				return NULL;
		}
	}
	out->hosts = hosts;
	out->count = count;
	return NULL;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The index is a number, or a string that is one. */
static bool read_index(const json_t *task, uint64_t *out)
{
	const json_t *index = json_object_get(task, "index");
	const struct ri_range range = ri_fact_range(RI_FACT_NODE_RANK);

	if (json_is_string(index))
		return ri_number_read(json_string_value(index), range, out, NULL) == RI_NUMBER_OK;
	if (!json_is_integer(index) || json_integer_value(index) < 0 ||
		(uint64_t)json_integer_value(index) > range.max)
		return false;
	*out = (uint64_t)json_integer_value(index);
	return true;
}

/* Behind the string that starts at text. */
static const char *skip_string(const char *text)
{
	for (text++; *text != '"' && *text != '\0'; text++)
		if (*text == '\\' && text[1] != '\0')
			text++;
	return *text == '"' ? text + 1 : text;
}

static bool is_key(const char *string, const char *end, const char *key)
{
	return (size_t)(end - string) == strlen(key) + 2 &&
		strncmp(string + 1, key, strlen(key)) == 0;
}

/*
 * Where in a text that is JSON the task's index stands, which jansson does not
 * say; 0 where there is none, or its key is written with escapes.
 */
static size_t find_index(const char *text)
{
	const char *at = text, *end;
	bool in_task = false;
	unsigned depth = 0;
	size_t found = 0;

	for (; *at != '\0'; at = end) {
		end = *at == '"' ? skip_string(at) : at + 1;
		depth += *at == '{' || *at == '[';
		depth -= *at == '}' || *at == ']';
		if (*at != '"' || depth > 2 || end[strspn(end, " \t\r\n")] != ':')
			continue;
		if (depth == 1)
			in_task = is_key(at, end, "task");
		else if (in_task && is_key(at, end, "index"))
			found = (size_t)(end + strspn(end, " \t\r\n:") - text);
	}
	return found;
}

/* The task's place among all with a rank: behind those of the types before its own. */
static const char *find_place(struct input *input, struct ri_cluster *out)
{
	struct pool pool = find_pool(input->cluster, out->role);
	const char *fault;

	/* A master that the cluster does not list, as Batch AI has it: among whom is it? */
	if (pool.count == 0) {
		out->count = 0;
		return NULL;
	}
	input->at_index = true;
	if (!read_index(input->task, &out->index))
		return no_index;
	if (get_member(pool.tasks, out->index) == NULL) {
		fault = pool.sparse
			? ri_reading_format(input->reading, "the index of a listed \"%s\" task, "
				"but it is %" PRIu64, out->role, out->index)
			: ri_reading_format(input->reading, "an index below %zu, the number of "
				"\"%s\" tasks, but it is %" PRIu64, pool.count, out->role,
				out->index);
		return fault == NULL ? no_index : fault;
	}
	input->at_index = false;
	out->has_place = true;
	out->place = out->index;
	for (const char *const *type = input->types->ranked; *type != out->role; type++) {
		pool = find_pool(input->cluster, *type);
		out->has_place &= !pool.sparse;
		out->place += pool.count;
	}
	return NULL;
}

/* Returns what was expected, where the text is something else. */
static const char *read_task(struct input *input, struct ri_cluster *out)
{
	const char *type = json_string_value(json_object_get(input->task, "type")), *fault;
	const struct ri_cluster_types *types = input->types;
	const char *const *roles = types->roles == NULL ? types->others : types->roles;
	size_t at;

	if (type == NULL)
		return NULL;
	/* Whose tasks hold what the ranks learn: one of these may go, and the job goes on. */
	for (size_t i = 0; types->others[i] != NULL; i++)
		out->served |= strcmp(roles[i], RI_ROLE_PS) == 0 &&
			find_pool(input->cluster, types->others[i]).count > 0;
	at = find_type(types->others, type);
	if (types->others[at] != NULL) {
		out->role = roles[at];
		input->at_index = !read_index(input->task, &out->index);
		return input->at_index ? no_index : NULL;
	}
	out->role = types->ranked[find_type(types->ranked, type)];
	if (out->role == NULL)
		return NULL;
	fault = list_hosts(input, out);
	return fault != NULL ? fault : find_place(input, out);
}

/* The same of the whole text. */
static const char *read_root(struct input *input, json_t *root, struct ri_cluster *out)
{
	if (!json_is_object(root))
		return "a JSON object";
	input->cluster = json_object_get(root, "cluster");
	input->task = json_object_get(root, "task");
	if ((input->cluster != NULL && !json_is_object(input->cluster)) ||
		(input->task != NULL && !json_is_object(input->task)))
		return "cluster and task as JSON objects";
	out->lone = input->cluster == NULL && json_object_get(input->task, "type") != NULL;
	return json_object_size(input->cluster) == 0 ? NULL : read_task(input, out);
}

bool ri_cluster_read(struct ri_cluster *out, const char *text,
	const struct ri_cluster_types *types, struct ri_reading *reading)
{
	struct input input = { .types = types, .reading = reading };
	json_error_t error;
	json_t *root = json_loads(text, 0, &error);
	bool share_a_host = false;
	const char **sorted;

	*out = (struct ri_cluster){ .fault_at = root == NULL ? (size_t)error.position : 0 };
	/* Where its memory runs out jansson leaves its message empty. */
	if (root == NULL && error.text[0] == '\0')
		return ri_reading_need(reading, root) != NULL;
	out->fault = read_root(&input, root, out);
	if (input.at_index)
		out->fault_at = find_index(text);
	sorted = ri_reading_allocate(reading, out->count + 1, sizeof(*sorted));
	if (sorted != NULL && out->count > 0) {
		memcpy(sorted, out->hosts, out->count * sizeof(*sorted));
		qsort(sorted, out->count, sizeof(*sorted), compare);
		for (size_t i = 1; i < out->count; i++)
			share_a_host |= strcmp(sorted[i - 1], sorted[i]) == 0;
	}
	if (share_a_host) {
		out->has_place = false;
		out->count = 0;
	}
	json_decref(root);
	return reading->err->code == RI_CODE_NONE;
}

/* Claim what the variable's value says: a node's place and role, hosts, and the first. */
static void claim(struct ri_reading *reading, const char *variable,
	const struct ri_cluster_types *types)
{
	struct ri_cluster cluster;
	struct ri_fact *made;

	if (!ri_cluster_read(&cluster, ri_reading_get(reading, variable), types, reading))
		return;
	if (cluster.lone)
		ri_warn(reading->context->findings, RI_CODE_SOURCE_INCOMPLETE, variable,
			"has a task and no \"cluster\", so it is unknown which tasks there are: it "
			"is not used");
	if (cluster.fault != NULL) {
		made = ri_claim_broken(reading, RI_FACT_NODE_RANK, variable, cluster.fault);
		if (made != NULL)
			made->fault_at = cluster.fault_at;
	} else if (cluster.has_place) {
		ri_claim_value(reading, RI_FACT_NODE_RANK, variable, cluster.place);
	}
	if (cluster.count > 0) {
		ri_claim_value(reading, RI_FACT_NNODES, variable, cluster.count);
		made = ri_claim_list_of(reading, variable, cluster.hosts, cluster.count);
		/* Alone it may not even be reachable by that name. */
		if (cluster.count > 1)
			ri_claim_master(reading, made, RI_STRENGTH_DEFAULT);
	}
	made = cluster.role == NULL ? NULL
		: ri_claim_word(reading, RI_FACT_ROLE, variable, cluster.role, RI_STRENGTH_SAID);
	if (made == NULL)
		return;
	made->number = cluster.index;
	made->served = cluster.served;
}

/*
 * RANK, WORLD_SIZE and LOCAL_RANK count more than TF_CONFIG, which an image may
 * have. Of as many tasks as ranks it is of this job, and TensorFlow goes by it.
 */
static void report_beaten(struct ri_reading *reading, const struct ri_cluster_types *types)
{
	const char *variable = "TF_CONFIG";
	struct ri_cluster cluster;
	uint64_t rank, size;

	if (!ri_cluster_read(&cluster, ri_reading_get(reading, variable), types, reading) ||
		!cluster.has_place ||
		!ri_reading_number(reading, RI_FACT_RANK, "RANK", &rank) ||
		!ri_reading_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE", &size) ||
		size != cluster.count || rank == cluster.place)
		return;
	ri_finding_hint(ri_warn(reading->context->findings, RI_CODE_ENV_DIFFERS, variable,
		"this is rank %" PRIu64 " of %" PRIu64 ", but RANK is %" PRIu64
		": RANK is used, but TensorFlow follows %s", cluster.place, size, rank, variable),
		"an image should not set RANK, WORLD_SIZE or TF_CONFIG");
}

/*
 * Unless a launcher made ranks inside of the task: an image may have left TF_CONFIG behind.
 * Where the quartet and TF_CONFIG say different ranks of one job that is a finding.
 */
static void read_tf_config(struct ri_reading *reading)
{
	static const char *const ranked[] = { "chief", "master", "worker", NULL };
	static const char *const others[] = { RI_ROLE_PS, RI_ROLE_EVALUATOR, NULL };
	static const struct ri_cluster_types types = { .ranked = ranked, .others = others };
	uint64_t size;

	if (reading->identity != NULL)
		return;
	if (ri_quartet_sees(reading->context->env) &&
		ri_reading_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE", &size) && size > 1)
		report_beaten(reading, &types);
	else
		claim(reading, "TF_CONFIG", &types);
}

#define RESOLVER "TensorFlow tensorflow/python/distribute/cluster_resolver/" \
	"tfconfig_cluster_resolver.py"

/*
 * By whichever platform it was set. Chief (or master) and workers are nodes, in this order;
 * parameter servers and evaluators have a role and no rank. Its ports are TensorFlow's own.
 */
const struct ri_source ri_source_tf_config = {
	.name = "tf_config",
	.summary = "TF_CONFIG: chief and workers are nodes",
	.identity = RI_SCOPE_NODE,
	.shares = "TF_CONFIG",
	.reads = RI_READS(
		{ "TF_CONFIG", "JSON: the cluster, and this process's task in it",
		  RI_SEEN | RI_TEXT,
		  .value = "{\"cluster\":{\"worker\":[<each:,>\"<host>:<port>\"</each>]},"
		  "\"task\":{\"type\":\"worker\",\"index\":<node>}}", .cite = RESOLVER }),
	/* Many platforms set it: how they end the others is not known, and the least is here. */
	RI_SHAPES({ RI_SHAPE_OF(tf_config, NODE), .summary = "TF_CONFIG for a worker on each node",
		.grace_s = 5, RI_CITE(RESOLVER) }),
	.read = read_tf_config,
};

/* "JOB-worker-0.NAMESPACE.svc:2222", perhaps with a domain */
static bool names_services(const struct ri_env *env)
{
	const char *value = ri_env_get(env, "TF_CONFIG");

	return strstr(value, ".svc:") != NULL || strstr(value, ".svc.") != NULL;
}

/* A job with one replica has no TF_CONFIG. */
const struct ri_source ri_source_kubeflow_tf = {
	.name = "kubeflow_tf",
	.summary = "pod of a Kubeflow TFJob: chief and workers are nodes",
	.identity = RI_SCOPE_NODE,
	.shares = "TF_CONFIG",
	.reads = RI_READS(
		{ "TF_CONFIG", "JSON: the services of the cluster, and this pod's place among them",
		  RI_SEEN,
		  .cite =
		  "Kubeflow training-operator v1.9 pkg/controller.v1/tensorflow/tensorflow.go" }),
	.detect = names_services,
	.read = read_tf_config,
};

/* Anybody may call a variable so; its pools are Vertex's own. */
static bool sees_pools(const struct ri_env *env)
{
	const char *value = ri_env_get(env, "CLUSTER_SPEC");

	return value != NULL && strstr(value, "\"workerpool0\"") != NULL;
}

/*
 * The place of a pool says what it is for: the primary, the workers, then parameter or
 * reduction servers, and evaluators. Ranks are in the first two alone.
 */
static void read_vertex(struct ri_reading *reading)
{
	static const char *const ranked[] = { "workerpool0", "workerpool1", NULL };
	static const char *const others[] = { "workerpool2", "workerpool3", NULL };
	static const char *const roles[] = { RI_ROLE_PS, RI_ROLE_EVALUATOR };
	static const struct ri_cluster_types types = { ranked, others, roles };

	claim(reading, "CLUSTER_SPEC", &types);
}

#define PRIMARY "{\"cluster\":{\"workerpool0\":[\"<master>:2222\"]"
#define WORKERS ",\"workerpool1\":[<others:,>\"<host>:2222\"</others>]"
#define TASK(type, index) \
	"},\"environment\":\"cloud\",\"task\":{\"type\":\"" type "\",\"index\":" index "}}"

const struct ri_source ri_source_vertex = {
	.name = "vertex",
	.summary = "replica of a Vertex AI custom job: a node, in the first two pools",
	.identity = RI_SCOPE_NODE,
	.of_container = true,
	.traits = RI_TRAIT_NAMES_JOB,
	.reads = RI_READS(
		{ "CLUSTER_SPEC", "JSON: the pools, and the replica and pool of this process",
		  .cite = "cloud.google.com/vertex-ai/docs/training/distributed-training, "
		  "CLUSTER_SPEC; Configure a distributed training job" }),
	/*
	 * Vertex shuts all workers down where one fails for good. What a container is given to
	 * end is not documented; a Spot machine has 30 s.
	 */
	RI_SHAPES({ .name = "vertex",
		.summary = "Vertex AI starts a container for each replica",
		.scope = RI_SCOPE_NODE, .grace_s = 30,
		.rows = RI_SHAPE_ROWS(
			{ "CLUSTER_SPEC", PRIMARY TASK("workerpool0", "0"), RI_OF_ONE_NODE },
			{ "CLUSTER_SPEC", PRIMARY WORKERS TASK("workerpool0", "0"),
			  RI_OF_SEVERAL_NODES | RI_OF_FIRST },
			{ "CLUSTER_SPEC", PRIMARY WORKERS TASK("workerpool1", "<worker>"),
			  RI_OF_SEVERAL_NODES | RI_OF_OTHERS }),
		.succeeded = "JOB_STATE_SUCCEEDED", .failed = "JOB_STATE_FAILED",
		.stopped = "JOB_STATE_CANCELLED",
		RI_CITE("cloud.google.com/vertex-ai/docs/training/"
			"understanding-training-service; "
			"cloud.google.com/compute/docs/instances/spot") }),
	.detect = sees_pools,
	.read = read_vertex,
};
