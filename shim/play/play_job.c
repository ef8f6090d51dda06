/* SPDX-License-Identifier: Apache-2.0 */
#include "play/play_job.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "init/leftovers.h"
#include "launch/master.h"
#include "report/members.h"
#include "system/clock.h"
#include "system/kept_fds.h"
#include "system/log.h"

enum {
	TRIES = 16,
	BLOCK = 256,	/* ports that one job at a time is given some of */
	LAST = 65535,
};

/*
 * A port is free until rank 0 listens, which takes it seconds: so a name says that it is
 * given away, with its block of ports. It lies in the network namespace, as ports do, and goes
 * with its socket (unix(7), abstract). Returns the descriptor, or -1.
 */
static int hold(unsigned port)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
		"rankinit-simulated-%u", port / BLOCK);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&name,
		(socklen_t)(sizeof(name.sun_family) + 1 + (size_t)length)) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/*
 * So many ports in a row that no process uses and no other simulated job was given: from
 * usual on, where that may be. They are ours while this process runs. Where no such row
 * is found it is that from usual on all the same.
 */
static unsigned find_ports(unsigned usual, size_t count)
{
	unsigned first = usual;

	for (int tries = 0; tries < TRIES; tries++, first = ri_port_pick(0)) {
		unsigned last = first + (unsigned)count - 1, port = first;
		int one, other;

		while (port <= last && last <= LAST && ri_port_pick(port) == port)
			port++;
		if (port <= last)
			continue;
		/* a row lies in one block or in two */
		one = hold(first);
		other = one >= 0 && last / BLOCK != first / BLOCK ? hold(last) : -1;
		if (one >= 0 && (other >= 0 || last / BLOCK == first / BLOCK)) {
			ri_kept_fds_add(one);
			ri_kept_fds_add(other);
			return first;
		}
		if (one >= 0)
			close(one);
	}
	return usual;
}

/*
 * The loop has the platform's patience, and none of the options: they are those of
 * the members. With classes it has to know that a member's status is one.
 */
static struct ri_options loop_options(const struct ri_options *given)
{
	struct ri_options options = {
		.quiet = given->quiet, .verbose = given->verbose,
		.called = given->called,
		.log_prefix = given->log_prefix == RI_PREFIX_NONE ? RI_PREFIX_NONE : RI_PREFIX_NODE,
		.grace_ms = given->simulation.shape->grace_s * 1000ULL,
		.command = given->command, .simulation = given->simulation,
		.exit_class = given->exit_class,
	};

	ri_signal_map_init(&options.signal_map);
	ri_exit_map_init(&options.exit_map);
	return options;
}

int ri_play_job_prepare(struct ri_play_job *job, struct ri_error *err)
{
	struct ri_members *members = job->members;
	bool of_nodes = members->simulation->shape->scope == RI_SCOPE_NODE;
	struct ri_output_wishes wishes = {
		.options = job->options, .count = members->count, .node = -1, .keeps_stderr = true,
		.bare = of_nodes,
	};

	if (job->options->given.log_prefix.subject == NULL)
		job->options->log_prefix = RI_PREFIX_NODE;
	members->port = find_ports(members->port, members->simulation->nodes);
	members->began_ms = (uint64_t)ri_now_ms();
	if (of_nodes && members->options->given.report.subject == NULL) {
		/* what the nodes write at their ends, for the account */
		members->report = memfd_create("reports", 0);
		if (members->report >= 0)
			fcntl(members->report, F_SETFL, O_APPEND);
		ri_kept_fds_add(members->report);
	}
	if (ri_members_prepare(members, &job->launch, err) < 0 ||
		ri_children_init(job->children, members->count, members->arena, err) < 0)
		return -1;
	*job->options = loop_options(job->options);
	job->launch.input = ri_ranks_open_input(err);
	if (job->launch.input < 0)
		return -1;
	ri_mask_default_chld();
	ri_orphans_adopt(job->launch.self);
	ri_leftovers_add_relay(members->program);
	job->numbers = ri_arena_array(members->arena, members->count, sizeof(*job->numbers));
	if (job->numbers == NULL)
		return ri_fail(err, RI_CODE_MEMORY, "COMMAND", "no memory left for its output");
	for (size_t i = 0; i < members->count; i++) {
		struct ri_shape_member member = ri_members_at(members, members->places[i]);

		job->numbers[i] = (struct ri_output_rank){
			members->places[i], member.local_rank, (int64_t)member.node,
		};
	}
	wishes.ranks = job->numbers;
	return ri_output_prepare(job->output, &wishes, members->arena, err);
}

int ri_play_job_run(struct ri_play_job *job, struct ri_error *err)
{
	const struct ri_simulation *simulation = job->members->simulation;
	struct ri_launch *launch = &job->launch;
	struct ri_terminal terminal;
	const struct ri_timetable timetable = {
		.due = ri_faults_due, .act = ri_faults_act, .context = &job->faults,
	};
	const struct ri_supervise setting = {
		.rank = -1, .launch = launch, .options = job->options, .terminal = &terminal,
		.output = job->output, .result = job->supervised, .timetable = &timetable,
		.goes_on = simulation->shape->goes_on, .silent = true,
	};

	if (!job->options->quiet)
		ri_log(RI_LEVEL_ALWAYS, "simulated: %zu node%s of %s, %zu rank%s each, below %s; "
			"no GPU, no fabric", simulation->nodes, simulation->nodes == 1 ? "" : "s",
			simulation->shape->name, simulation->ranks,
			simulation->ranks == 1 ? "" : "s",
			launch->self == 1 ? "process 1" : "a subreaper");
	job->faults = (struct ri_faults){
		.members = job->members, .children = job->children, .began_ms = ri_now_ms(),
	};
	ri_terminal_find(&terminal, launch->self);
	ri_terminal_share(&terminal);
	launch->new_group = !terminal.shared;
	launch->die_with_us = launch->self != 1;
	if (ri_ranks_spawn(job->members->ranks, launch, job->children, job->output, err) < 0) {
		ri_terminal_restore(&terminal);
		ri_log_error(err);
		ri_children_refuse(job->children, ri_code_status(err->code));
	}
	ri_supervise_let_go(job->output);
	return ri_supervise_run(job->children, &setting);
}

/* What a node's report says of its first failure. */
struct told {
	bool failed;
	bool elsewhere;		/* its ranks only lost others, of other nodes */
	int64_t rank;		/* -1: it names none */
	char how[48];
};

static void read_report(const json_t *report, struct told *told, size_t nodes,
	struct ri_arena *arena)
{
	const json_t *topology = json_object_get(report, "topology");
	const json_t *place = json_object_get(topology, "node_rank");
	const json_t *failure = json_object_get(report, "first_failure");
	int64_t node = ri_member_number(json_object_get(place, "value"), (int64_t)nodes - 1);
	struct ri_report_failure said;

	if (node < 0)
		return;
	/* of a node that started its ranks again the last one counts */
	told += node;
	*told = (struct told){ .failed = json_is_object(failure) };
	if (!told->failed)
		return;
	ri_members_read(ri_report_failure, failure, &said, arena);
	told->elsewhere = said.elsewhere;
	told->rank = said.rank;
	if (said.signal != NULL)
		snprintf(told->how, sizeof(told->how), "killed by %s", said.signal);
	else if (said.exit_code >= 0)
		snprintf(told->how, sizeof(told->how), "exit status %d", (int)said.exit_code);
	else
		snprintf(told->how, sizeof(told->how), "not started");
}

/* "node 1: rank 5 failed first, killed by SIGKILL; exit status 137 after 5.1 s" */
static void tell_node(size_t node, const struct ri_child *child, const struct told *told)
{
	double seconds = ri_seconds_between(child->started, child->ended);
	char name[RI_SIGNAL_NAME];
	RI_TEXT(text, 256);

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
	ri_log(RI_LEVEL_ALWAYS, "simulated: node %zu: %s", node, text.bytes);
}

/* The node whose own failure came first, else whichever failed first; NULL: none did. */
static const struct ri_child *find_first(const struct ri_play_job *job, const struct told *told)
{
	const struct ri_child *first = NULL;
	int most = 0;

	for (size_t i = 0; i < job->children->started; i++) {
		const struct ri_child *child = &job->children->items[i];
		const struct told *node = &told[job->members->places[i]];
		int weight = node->failed && !node->elsewhere ? 2 : 1;

		/* one that the link stopped has nothing to say of the job */
		if (WIFEXITED(child->wait_status) &&
			WEXITSTATUS(child->wait_status) == ri_code_status(RI_CODE_LINK_STOPPED))
			weight = 0;
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

int ri_play_job_tell(const struct ri_play_job *job, int status)
{
	static struct told told[RI_MAX_SIMULATED];
	const struct ri_simulation *simulation = job->members->simulation;
	const struct ri_shape *shape = simulation->shape;
	bool stopped = job->supervised->stop.asked || job->supervised->interrupt.signal != 0;
	bool of_nodes = shape->scope == RI_SCOPE_NODE;
	int reports = job->members->report;
	const struct ri_child *first = NULL;
	const char *state;
	json_t *report;

	ri_faults_tell(&job->faults);
	/* one document after the other */
	if (of_nodes && reports >= 0 && lseek(reports, 0, SEEK_SET) == 0)
		while ((report = json_loadfd(reports, JSON_DISABLE_EOF_CHECK, NULL)) != NULL) {
			read_report(report, told, simulation->nodes, job->members->arena);
			json_decref(report);
		}
	if (of_nodes)
		first = find_first(job, told);
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
	for (size_t node = 0; node < simulation->nodes; node++) {
		if (ri_simulation_fault_of(simulation, RI_FAULT_ABSENT, node) == NULL)
			continue;
		ri_log(RI_LEVEL_ALWAYS, "simulated: node %zu: it never came", node);
		/* what it makes of a job that is not whole is not known */
		state = NULL;
	}
	ri_log(RI_LEVEL_ALWAYS, "simulated: the job's exit status is %d%s%s%s", status,
		state == NULL ? "" : "; there it would be ", state == NULL ? "" : state,
		state != NULL && stopped ? ", since it was stopped" : "");
	return status;
}
