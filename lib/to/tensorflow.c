/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framework "tensorflow": TF_CONFIG, which names the address of every task and
 * says which one this is. It is identity: one that speaks of another job makes
 * TensorFlow wait for that job's tasks, for ever and without a word. What the
 * platform gave stays, byte for byte.
 *
 * The order of the tasks is that of the hosts, and on each host that of the
 * local ranks. With the same number of ranks on every host that is the order
 * of the ranks where they are placed host by host, and every rank computes the
 * same list, whatever their order is.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/text.h"
#include "to/to.h"

#define RESOLVER \
	"TensorFlow tensorflow/python/distribute/cluster_resolver/tfconfig_cluster_resolver.py"

static const char tf_config[] = "TF_CONFIG";

/* Of the first task on each host: what TensorFlow's own examples and Kubeflow use. */
enum { TF_PORT = 2222 };

/* The tasks of a job, as many on each host, and which one this is. */
struct tf_job {
	const char *const *hosts;
	uint64_t count;		/* of hosts */
	uint64_t local;		/* tasks on each */
	uint64_t index;		/* of this one, on all hosts in order */
	uint64_t ps_from;	/* the first one that is a parameter server */
	bool chief;
};

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
static const char *name_job(const struct tf_job *job, uint64_t index, uint64_t *first)
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
static size_t render_address(const struct tf_job *job, uint64_t index, char *out, size_t size)
{
	const char *host = job->hosts[index / job->local];
	bool brackets = strchr(host, ':') != NULL;
	int length = snprintf(out, size, "%s%s%s:%" PRIu64, brackets ? "[" : "", host,
		brackets ? "]" : "", TF_PORT + index % job->local);

	return length < 0 ? 0 : (size_t)length;
}

static json_t *make_cluster(const struct tf_job *job)
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
static const char *make_config(const struct tf_job *job, struct ri_arena *arena)
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

static const char *refuse_length(const struct tf_job *job, uint64_t bytes, struct ri_error *err)
{
	ri_fail(err, RI_CODE_EXEC_TOO_BIG, tf_config,
		"with %" PRIu64 " hosts and %" PRIu64 " task%s on each it has at least %" PRIu64
		" bytes, but the kernel allows %d for one variable", job->count, job->local,
		job->local == 1 ? "" : "s", bytes, RI_MAX_VARIABLE);
	ri_fail_hint(err, job->local > 1
		? "start one process on each host, which uses all of its GPUs"
		: "use shorter host names");
	return NULL;
}

/* In the arena; NULL when out of memory, and where the kernel lets no variable be so long. */
static const char *write_config(const struct tf_job *job, struct ri_arena *arena,
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
		ri_fail(err, RI_CODE_MEMORY, tf_config, "no memory left to write it");
		return NULL;
	}
	bytes = sizeof(tf_config) + strlen(text) + 1;
	return bytes > RI_MAX_VARIABLE ? refuse_length(job, bytes, err) : text;
}

/* Those sources that are more than the variable itself. */
static const char *const platforms[] = { "kubeflow_tf", "vertex", NULL };

static const char *find_option(const struct ri_wishes *wishes)
{
	return wishes->tf_ps.value == NULL ? NULL : wishes->tf_ps.subject;
}

/* The tasks that the job has by its topology; 0 where it does not say. */
static uint64_t count_tasks(const struct ri_writing *writing, const struct ri_topology *topology)
{
	bool of_nodes = ri_writing_is_of_nodes(writing, topology);
	uint64_t count;

	return ri_topology_get(topology, of_nodes ? RI_FACT_NNODES : RI_FACT_WORLD_SIZE, &count)
		? count : 0;
}

static int refuse(struct ri_error *err, const char *what, const char *hint)
{
	ri_fail(err, RI_CODE_FRAMEWORK_INCOMPLETE, tf_config, "%s", what);
	return ri_fail_hint(err, "%s", hint);
}

/* Is the number read or certain, not one that rests on equally filled nodes? */
static bool is_certain(const struct ri_topology *topology, enum ri_fact_id id)
{
	const struct ri_fact *fact = &topology->facts[id];
	unsigned assumed = RI_FROM(RANK) | RI_FROM(LOCAL_WORLD_SIZE);

	if (fact->state != RI_STATE_KNOWN)
		return false;
	if (id == RI_FACT_NODE_RANK)
		return fact->origin.from != assumed;
	return fact->origin.from == 0 || fact->origin.from == RI_FROM(WORLD_SIZE);
}

static int find_process(struct tf_job *job, const struct ri_topology *topology,
	struct ri_error *err)
{
	uint64_t world = topology->facts[RI_FACT_WORLD_SIZE].number;
	uint64_t node = topology->facts[RI_FACT_NODE_RANK].number;

	job->local = topology->facts[RI_FACT_LOCAL_WORLD_SIZE].number;
	/* One on each node needs no assumption. */
	if (world == job->count)
		job->local = 1;
	else if (!is_certain(topology, RI_FACT_LOCAL_WORLD_SIZE))
		return refuse(err, "cannot tell how many ranks this node has",
			"state --local-world-size");
	if (world != job->count * job->local) {
		ri_fail(err, RI_CODE_FRAMEWORK_INCOMPLETE, tf_config, "%" PRIu64 " ranks on "
			"%" PRIu64 " hosts, %" PRIu64 " of them here: rankinit cannot tell how "
			"many ports the other hosts need", world, job->count, job->local);
		return ri_fail_hint(err, "start the same number of ranks on every host");
	}
	if (!ri_topology_knows(topology, RI_FACT_NODE_RANK) ||
		(job->local > 1 && !is_certain(topology, RI_FACT_NODE_RANK)))
		return refuse(err, "cannot tell which of the hosts this is",
			"state --node-rank, or --hosts, in which rankinit looks for this host's "
			"name");
	job->index = node * job->local + topology->facts[RI_FACT_LOCAL_RANK].number;
	return 0;
}

static int find_place(struct tf_job *job, const struct ri_writing *writing,
	const struct ri_topology *topology, struct ri_error *err)
{
	const struct ri_fact *hosts = &topology->facts[RI_FACT_HOSTS];
	const struct ri_fact *master = &topology->facts[RI_FACT_MASTER_ADDR];
	uint64_t nodes = 0;

	ri_topology_get(topology, RI_FACT_NNODES, &nodes);
	if (hosts->state == RI_STATE_KNOWN) {
		job->hosts = hosts->list;
		job->count = hosts->number;
	} else if (nodes == 1 && master->state == RI_STATE_KNOWN) {
		job->hosts = &master->text;
		job->count = 1;
	} else {
		return refuse(err, "TensorFlow needs the address of every task, and no source "
				   "lists the hosts of this job", "state --hosts or --hostfile");
	}
	if (!ri_writing_is_of_nodes(writing, topology))
		return find_process(job, topology, err);
	job->local = 1;
	job->index = topology->facts[RI_FACT_NODE_RANK].number;
	if (ri_topology_knows(topology, RI_FACT_NODE_RANK) && nodes == job->count)
		return 0;
	ri_fail(err, RI_CODE_FRAMEWORK_INCOMPLETE, tf_config,
		"there are %" PRIu64 " hosts, but rankinit cannot tell which of them this is",
		job->count);
	return ri_fail_hint(err, "state --node-rank and one host for each node");
}

/* The last hosts have parameter servers, as many as the option says. */
static int assign_roles(struct tf_job *job, uint64_t ps, const struct ri_wishes *wishes,
	struct ri_error *err)
{
	if (ps >= job->count)
		return ri_fail(err, RI_CODE_OPTION_VALUE, wishes->tf_ps.subject,
			"%" PRIu64 " of %" PRIu64 " hosts cannot be parameter servers: they never "
			"end, and the first host must end with the job", ps, job->count);
	job->ps_from = (job->count - ps) * job->local;
	/* a chief gives its work to workers: where none would be left, rank 0 is one itself */
	job->chief = ps > 0 && job->ps_from > 1;
	return 0;
}

/* The one that is there, or NULL. */
static const char *read_given(const struct ri_writing *writing, struct ri_tf_config *out)
{
	const char *given = ri_env_get(writing->context->env, tf_config);

	*out = (struct ri_tf_config){ .tasks = 0 };
	if (given == NULL || given[strspn(given, " \t\r\n")] == '\0')
		return NULL;
	ri_tf_config_read(out, given);
	return given;
}

/*
 * Does it speak of another job? Where a platform tells nodes who they are they
 * may be others than TensorFlow's: an evaluator is not in its cluster.
 */
static bool is_of_another_job(const struct ri_writing *writing,
	const struct ri_topology *topology, const struct ri_tf_config *given)
{
	uint64_t count = count_tasks(writing, topology);

	/* It names one task, in whose place we put more, whatever it counts. */
	if (writing->context->fan_out > 1)
		return given->tasks > 0;
	/* What the platform gave is right. */
	if (ri_writing_has_source(topology, platforms))
		return false;
	return topology->scope == RI_SCOPE_PROCESS && count > 0 && given->tasks > 0 &&
		given->tasks != count;
}

/* Of a job that this one is not part of, or of this one in another shape. */
static void report_other(const struct ri_writing *writing, const struct ri_topology *topology,
	const struct ri_tf_config *given, const char *fate)
{
	struct ri_findings *findings = writing->context->findings;
	uint64_t here = writing->context->fan_out;

	if (here > 1)
		ri_warn(findings, RI_CODE_ENV_DIFFERS, tf_config,
			"it is that of one task, but %" PRIu64 " ranks are started here: it is %s",
			here, fate);
	else
		ri_warn(findings, RI_CODE_ENV_DIFFERS, tf_config,
			"it is for a job of %zu tasks, but according to %s this one has %" PRIu64
			": it is %s", given->tasks, topology->identity, count_tasks(writing,
			topology), fate);
}

static void remove_given(struct ri_writing *writing)
{
	if (ri_env_get(writing->context->env, tf_config) != NULL)
		ri_want_gone(writing, tf_config);
}

/* TensorFlow takes an empty one for broken JSON; others never look. */
static void judge(struct ri_writing *writing, const struct ri_topology *topology)
{
	struct ri_tf_config given;

	if (read_given(writing, &given) == NULL) {
		remove_given(writing);
		return;
	}
	if (given.reason != NULL) {
		ri_warn(writing->context->findings, RI_CODE_ENV_IGNORED, tf_config,
			"TensorFlow would reject it: %s", given.reason);
		return;
	}
	if (!is_of_another_job(writing, topology, &given))
		return;
	report_other(writing, topology, &given, "removed");
	remove_given(writing);
}

static void render(struct ri_writing *writing, const struct ri_topology *topology)
{
	const struct ri_wishes *wishes = writing->context->wishes;
	uint64_t ps = wishes->tf_ps_count;
	struct ri_error none = RI_ERROR_INIT, *err = &none;
	struct ri_tf_config given;
	struct tf_job job = { .count = 0 };
	bool is_given = read_given(writing, &given) != NULL;
	/* one that is there speaks of a job, and TensorFlow takes it */
	bool speaks = is_given && given.reason == NULL && given.tasks > 0;
	const char *text;

	if (speaks && find_option(wishes) == NULL &&
		!is_of_another_job(writing, topology, &given))
		return;
	if (ri_writing_is_asked(writing))
		err = writing->err;
	/*
	 * Else, where it does not speak, the platform spoke, but not to TensorFlow. In a job of
	 * one task TensorFlow needs none, and waits for no peer.
	 */
	if ((err == &none && !speaks) || (count_tasks(writing, topology) == 1 && ps == 0)) {
		judge(writing, topology);
		return;
	}
	if (find_place(&job, writing, topology, err) < 0 ||
		assign_roles(&job, ps, wishes, err) < 0) {
		/* None was asked for: what others said of another job goes. */
		if (err == &none)
			judge(writing, topology);
		return;
	}
	if (speaks && is_of_another_job(writing, topology, &given))
		report_other(writing, topology, &given, "replaced");
	text = write_config(&job, writing->context->arena, writing->err);
	if (text != NULL)
		ri_want(writing, tf_config, text);
}

const struct ri_framework ri_framework_tensorflow = {
	.name = "tensorflow",
	.summary = "TF_CONFIG for TensorFlow",
	.when = "A rank gets it with one task for each rank, a launcher or a node without ranks "
		"with one task for each node; a job of one task gets none. The platform's own "
		"TF_CONFIG is kept; if there is none, one is written only on request.",
	.writes = RI_VARIABLES(
		{ tf_config,
		  "the addresses of all tasks, and which task this is; removed if it is empty or "
		  "belongs to another job", RESOLVER }),
	/* These platforms tell TensorFlow jobs, and may tell others too. */
	.sources = (const char *const[]){ "kubeflow_tf", "tf_config", "vertex", NULL },
	.asked = find_option,
	.render = render,
	.judge = judge,
};
