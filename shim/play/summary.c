/* SPDX-License-Identifier: Apache-2.0 */
#include "play/summary.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "base/signals.h"
#include "base/text.h"
#include "system/log.h"
#include "watch/obituary.h"

/* What a node's report says of its first failure. */
struct told {
	bool failed;
	bool elsewhere;		/* its ranks only lost others, of other nodes */
	int64_t rank;		/* -1: it names none */
	char how[48];
};

static void describe_end(char *out, size_t size, const json_t *failure)
{
	const char *signal = json_string_value(json_object_get(failure, "signal"));
	const json_t *code = json_object_get(failure, "exit_code");

	if (signal != NULL)
		snprintf(out, size, "killed by %s", signal);
	else if (json_is_integer(code))
		snprintf(out, size, "exit status %d", (int)json_integer_value(code));
	else
		snprintf(out, size, "not started");
}

static void read_report(const json_t *report, struct told *told, size_t nodes)
{
	const json_t *topology = json_object_get(report, "topology");
	const json_t *place =
		json_object_get(json_object_get(topology, "node_rank"), "value");
	const json_t *failure = json_object_get(report, "first_failure");
	size_t node = json_is_integer(place) ? (size_t)json_integer_value(place) : nodes;
	const json_t *rank = json_object_get(failure, "rank");

	if (node >= nodes)
		return;
	/* of a node that started its ranks again the last one counts */
	told[node] = (struct told){ .failed = json_is_object(failure) };
	if (!told[node].failed)
		return;
	told[node].elsewhere = json_is_true(json_object_get(failure, "elsewhere"));
	told[node].rank = json_is_integer(rank) ? json_integer_value(rank) : -1;
	describe_end(told[node].how, sizeof(told[node].how), failure);
}

/* One document after the other. */
static void read_reports(int fd, struct told *told, size_t nodes)
{
	json_t *report;

	if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return;
	while ((report = json_loadfd(fd, JSON_DISABLE_EOF_CHECK, NULL)) != NULL) {
		read_report(report, told, nodes);
		json_decref(report);
	}
}

/* "node 1: rank 5 failed first, killed by SIGKILL; exit status 137 after 5.1 s" */
static void tell_node(size_t node, const struct ri_child *child, const struct told *told)
{
	double seconds = (double)(child->ended.tv_sec - child->started.tv_sec) +
		(double)(child->ended.tv_nsec - child->started.tv_nsec) / 1e9;
	char line[256], name[RI_SIGNAL_NAME];
	struct ri_text text;

	ri_text_init(&text, line, sizeof(line));
	if (child->lives)
		ri_text_add(&text, "still there: it could not be ended");
	else if (WIFSIGNALED(child->wait_status))
		ri_text_addf(&text, "its init was killed by %s after %.1f s",
			ri_signal_name(WTERMSIG(child->wait_status), name), seconds);
	else
		ri_text_addf(&text, "exit status %d after %.1f s",
			WEXITSTATUS(child->wait_status), seconds);
	if (told->failed && told->elsewhere)
		ri_text_add(&text, "; its ranks lost a rank of another node");
	else if (told->failed && told->rank >= 0)
		ri_text_addf(&text, "; rank %d failed first, %s", (int)told->rank, told->how);
	ri_log(RI_LEVEL_ALWAYS, "simulated: node %zu: %s", node, line);
}

/* How much a failed node has to say of the job: one that the link stopped has nothing. */
static int weigh(const struct ri_child *child, const struct told *told)
{
	if (WIFEXITED(child->wait_status) &&
		WEXITSTATUS(child->wait_status) == ri_code_status(RI_CODE_LINK_STOPPED))
		return 0;
	return told->failed && !told->elsewhere ? 2 : 1;
}

/* The node whose own failure came first, else whichever failed first; NULL: none did. */
static const struct ri_child *find_first(const struct ri_play_job *job, const struct told *told)
{
	const struct ri_child *first = NULL;
	int most = 0;

	for (size_t i = 0; i < job->children->started; i++) {
		const struct ri_child *child = &job->children->items[i];
		int weight = weigh(child, &told[job->members->places[i]]);

		if (child->lives || child->wait_status == 0)
			continue;
		if (first == NULL || weight > most ||
			(weight == most && child->order < first->order)) {
			first = child;
			most = weight;
		}
	}
	return first;
}

/* Returns how many never came. */
static size_t tell_absent(const struct ri_play_job *job)
{
	const struct ri_simulation *simulation = job->members->simulation;
	size_t count = 0;

	for (size_t node = 0; node < simulation->nodes; node++) {
		if (ri_simulation_fault_of(simulation, RI_FAULT_ABSENT, node) == NULL)
			continue;
		count++;
		ri_log(RI_LEVEL_ALWAYS, "simulated: node %zu: it never came", node);
	}
	return count;
}

int ri_play_job_tell(const struct ri_play_job *job, int status)
{
	static struct told told[RI_MAX_SIMULATED];
	const struct ri_simulation *simulation = job->members->simulation;
	const struct ri_shape *shape = simulation->shape;
	bool stopped = job->supervised->stop.asked || job->supervised->interrupt.signal != 0;
	bool of_nodes = shape->scope == RI_SCOPE_NODE;
	const struct ri_child *first = NULL;
	const char *state;

	ri_faults_tell(&job->faults);
	if (of_nodes) {
		read_reports(job->members->report, told, simulation->nodes);
		first = find_first(job, told);
	}
	/* those that run were stopped for the one that could not be started */
	if (first != NULL && job->children->refused == 0)
		status = ri_verdict_status(first->wait_status);
	if (job->options->quiet && status == 0)
		return 0;
	for (size_t i = 0; of_nodes && i < job->children->started; i++)
		tell_node(job->members->places[i], &job->children->items[i],
			&told[job->members->places[i]]);
	for (size_t i = job->children->started; of_nodes && i < job->children->count; i++)
		ri_log(RI_LEVEL_ALWAYS, "simulated: node %zu: it could not be started",
			job->members->places[i]);
	state = stopped ? shape->stopped : status != 0 ? shape->failed : shape->succeeded;
	/* what it makes of a job that is not whole is not known */
	if (tell_absent(job) > 0)
		state = NULL;
	ri_log(RI_LEVEL_ALWAYS, "simulated: the job's exit status is %d%s%s%s", status,
		state == NULL ? "" : "; there it would be ", state == NULL ? "" : state,
		state != NULL && stopped ? ", since it was stopped" : "");
	return status;
}
