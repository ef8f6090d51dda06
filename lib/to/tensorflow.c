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
#include <string.h>

#include "to/tf_config.h"
#include "to/writing.h"

#define RESOLVER \
	"TensorFlow tensorflow/python/distribute/cluster_resolver/tfconfig_cluster_resolver.py"

static const char name[] = "TF_CONFIG";

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
	ri_fail(err, RI_CODE_FRAMEWORK_INCOMPLETE, name, "%s", what);
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

static int find_process(struct ri_tf_job *job, const struct ri_topology *topology,
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
		ri_fail(err, RI_CODE_FRAMEWORK_INCOMPLETE, name, "%" PRIu64 " ranks on %" PRIu64
			" hosts, %" PRIu64 " of them here: rankinit cannot tell how many ports the "
			"other hosts need", world, job->count, job->local);
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

static int find_place(struct ri_tf_job *job, const struct ri_writing *writing,
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
	ri_fail(err, RI_CODE_FRAMEWORK_INCOMPLETE, name,
		"there are %" PRIu64 " hosts, but rankinit cannot tell which of them this is",
		job->count);
	return ri_fail_hint(err, "state --node-rank and one host for each node");
}

/* The last hosts have parameter servers, as many as the option says. */
static int assign_roles(struct ri_tf_job *job, uint64_t ps, const struct ri_wishes *wishes,
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
	const char *given = ri_env_get(writing->context->env, name);

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
		ri_findings_add(findings, RI_SEVERITY_WARNING, RI_CODE_ENV_DIFFERS, name,
			"it is that of one task, but %" PRIu64 " ranks are started here: it is %s",
			here, fate);
	else
		ri_findings_add(findings, RI_SEVERITY_WARNING, RI_CODE_ENV_DIFFERS, name,
			"it is for a job of %zu tasks, but according to %s this one has "
			"%" PRIu64 ": it is %s",
			given->tasks, topology->identity, count_tasks(writing, topology), fate);
}

static void remove_given(struct ri_writing *writing)
{
	if (ri_env_get(writing->context->env, name) != NULL)
		ri_want_gone(writing, name);
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
		ri_findings_add(writing->context->findings, RI_SEVERITY_WARNING,
			RI_CODE_ENV_IGNORED, name, "TensorFlow would reject it: %s", given.reason);
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
	uint64_t ps = wishes == NULL ? 0 : wishes->tf_ps_count;
	struct ri_error none = RI_ERROR_INIT, *err = &none;
	struct ri_tf_config given;
	struct ri_tf_job job = { .count = 0 };
	bool is_given = read_given(writing, &given) != NULL;
	/* one that is there speaks of a job, and TensorFlow takes it */
	bool speaks = is_given && given.reason == NULL && given.tasks > 0;
	const char *text;

	if (speaks && (wishes == NULL || find_option(wishes) == NULL) &&
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
	text = ri_tf_config_render(&job, writing->context->arena, writing->err);
	if (text != NULL)
		ri_want(writing, name, text);
}

const struct ri_framework ri_framework_tensorflow = {
	.name = "tensorflow",
	.summary = "TF_CONFIG for TensorFlow",
	.when = "A rank gets it with one task for each rank, a launcher or a node without ranks "
		"with one task for each node; a job of one task gets none. The platform's own "
		"TF_CONFIG is kept; if there is none, one is written only on request.",
	.writes = RI_VARIABLES(
		{ name,
		  "the addresses of all tasks, and which task this is; removed if it is empty or "
		  "belongs to another job", RESOLVER }),
	/* These platforms tell TensorFlow jobs, and may tell others too. */
	.sources = (const char *const[]){ "kubeflow_tf", "tf_config", "vertex", NULL },
	.asked = find_option,
	.render = render,
	.judge = judge,
};
