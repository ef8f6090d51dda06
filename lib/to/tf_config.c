/* SPDX-License-Identifier: Apache-2.0 */
#include "to/tf_config.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char variable[] = "TF_CONFIG";

/* What Python's int() makes of it: Kubernetes writes a number, some scripts a text. */
static bool read_index(const json_t *value, uint64_t *out)
{
	const struct ri_range any = { 0, UINT32_MAX };

	if (json_is_string(value))
		return ri_number_read(json_string_value(value), any, out, NULL) == RI_NUMBER_OK;
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*out = (uint64_t)json_integer_value(value);
	return true;
}

/*
 * TensorFlow tensorflow/python/distribute/multi_worker_util.py,
 * _validate_cluster_spec: the four jobs it knows, and where an evaluator may be.
 * TensorFlow 1 called the chief master.
 */
static const char *judge_task(json_t *cluster, json_t *task)
{
	static const char *const known[] = {
		"chief", "worker", "ps", "evaluator", "master", NULL,
	};
	const char *type = json_string_value(json_object_get(task, "type")), *const *name = known;
	json_t *job;
	uint64_t index;

	if (type == NULL || !read_index(json_object_get(task, "index"), &index))
		return "it does not give the type and index of this task";
	while (*name != NULL && strcmp(*name, type) != 0)
		name++;
	if (*name == NULL)
		return "its task type is not chief, worker, ps or evaluator";
	job = json_object_get(cluster, type);
	if (job == NULL)
		return strcmp(type, "evaluator") == 0 ? NULL : "its task type is not in its "
			"cluster";
	if (json_is_array(job) && index >= json_array_size(job))
		return "its task index is not in its cluster";
	return NULL;
}

void ri_tf_config_read(struct ri_tf_config *out, const char *text)
{
	json_t *config = json_loads(text, JSON_DECODE_ANY, NULL), *cluster, *tasks;
	const char *job;

	*out = (struct ri_tf_config){ .tasks = 0 };
	cluster = json_object_get(config, "cluster");
	/* Python looks for a key in a list, too, and does not find it. */
	if (!json_is_object(config) && !json_is_array(config))
		out->reason = "it is not a JSON object";
	else if (cluster != NULL && !json_is_object(cluster))
		out->reason = "its cluster is not a JSON object";
	/*
	 * A job's tasks: addresses in order, or address by index (TensorFlow
	 * tensorflow/python/training/server_lib.py, ClusterSpec).
	 */
	json_object_foreach(cluster, job, tasks) {
		if (!json_is_array(tasks) && !json_is_object(tasks)) {
			out->reason = "a job in its cluster is not a list of addresses";
			break;
		}
		out->tasks += json_is_array(tasks) ? json_array_size(tasks)
			: json_object_size(tasks);
	}
	if (out->reason == NULL && out->tasks > 0)
		out->reason = judge_task(cluster, json_object_get(config, "task"));
	json_decref(config);
}

/* Jobs in the order in which TensorFlow counts them, and where each begins. */
static const char *name_job(const struct ri_tf_job *job, uint64_t index, uint64_t *first)
{
	*first = 0;
	if (index >= job->ps_from) {
		*first = job->ps_from;
		return "ps";
	}
	if (!job->chief)
		return "worker";
	*first = index == 0 ? 0 : 1;
	return index == 0 ? "chief" : "worker";
}

/* "host:port"; an IPv6 address in brackets. Returns its length. */
static size_t render_address(const struct ri_tf_job *job, uint64_t index, char *out, size_t size)
{
	const char *host = job->hosts[index / job->local];
	bool brackets = strchr(host, ':') != NULL;
	int length = snprintf(out, size, "%s%s%s:%" PRIu64, brackets ? "[" : "", host,
		brackets ? "]" : "", RI_TF_PORT + index % job->local);

	return length < 0 ? 0 : (size_t)length;
}

static json_t *make_cluster(const struct ri_tf_job *job)
{
	json_t *cluster = json_object(), *tasks;
	char address[RI_MAX_NAME + 16];
	const char *name;
	uint64_t first;

	for (uint64_t i = 0; i < job->count * job->local; i++) {
		render_address(job, i, address, sizeof(address));
		name = name_job(job, i, &first);
		if (json_object_get(cluster, name) == NULL)
			json_object_set_new(cluster, name, json_array());
		tasks = json_object_get(cluster, name);
		if (json_array_append_new(tasks, json_string(address)) < 0) {
			json_decref(cluster);
			return NULL;
		}
	}
	return cluster;
}

/* The document, in the arena; NULL when out of memory. */
static const char *make_config(const struct ri_tf_job *job, struct ri_arena *arena)
{
	uint64_t first;
	const char *name = name_job(job, job->index, &first);
	json_t *config = json_object(), *task;
	/* "environment" is for old Estimators (the guides of Azure Machine Learning show it) */
	bool whole = json_object_set_new(config, "cluster", make_cluster(job)) == 0 &&
		json_object_set_new(config, "task", task = json_object()) == 0 &&
		json_object_set_new(task, "type", json_string(name)) == 0 &&
		json_object_set_new(task, "index",
			json_integer((json_int_t)(job->index - first))) == 0 &&
		json_object_set_new(config, "environment", json_string("cloud")) == 0;
	size_t size = whole ? json_dumpb(config, NULL, 0, JSON_COMPACT) : 0;
	char *text = size == 0 ? NULL : ri_arena_alloc(arena, size + 1);

	if (text != NULL && json_dumpb(config, text, size, JSON_COMPACT) != size)
		text = NULL;
	json_decref(config);
	return text;
}

static const char *refuse_length(const struct ri_tf_job *job, uint64_t bytes, struct ri_error *err)
{
	ri_fail(err, RI_CODE_EXEC_TOO_BIG, variable,
		"with %" PRIu64 " hosts and %" PRIu64 " task%s on each it has at least %" PRIu64
		" bytes, but the kernel allows %d for one variable", job->count, job->local,
		job->local == 1 ? "" : "s", bytes, RI_MAX_VARIABLE);
	ri_fail_hint(err, job->local > 1
		? "start one process on each host, which uses all of its GPUs"
		: "use shorter host names");
	return NULL;
}

const char *ri_tf_config_render(const struct ri_tf_job *job, struct ri_arena *arena,
	struct ri_error *err)
{
	char address[RI_MAX_NAME + 16];
	uint64_t bytes = 0;
	const char *text;

	/* by the addresses alone: what is far too long is never made */
	for (uint64_t i = 0; i < job->count * job->local; i++)
		bytes += render_address(job, i, address, sizeof(address)) + strlen("\"\",");
	if (bytes > RI_MAX_VARIABLE)
		return refuse_length(job, bytes, err);
	text = make_config(job, arena);
	if (text == NULL) {
		ri_fail(err, RI_CODE_MEMORY, variable, "no memory left to write it");
		return NULL;
	}
	bytes = sizeof(variable) + strlen(text) + 1;
	return bytes > RI_MAX_VARIABLE ? refuse_length(job, bytes, err) : text;
}
