/* SPDX-License-Identifier: Apache-2.0 */
#include "play/play_job.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "init/signalling.h"
#include "launch/master.h"
#include "link/link.h"
#include "report/members.h"
#include "system/clock.h"
#include "system/held_path.h"
#include "system/kept_fds.h"
#include "system/log.h"
#include "system/own_proc.h"

enum {
	TRIES = 16,
	BLOCK = 256,	/* ports that one job at a time is given some of */
	LAST = 65535,
	PROCESSES = 8192,
};

/*
 * A port is free until rank 0 listens, which takes it seconds: so a name says that it is
 * given away, with its block of ports. Returns the descriptor, or -1.
 */
static int hold(unsigned port)
{
	char name[32];

	snprintf(name, sizeof(name), "rankinit-simulated-%u", port / BLOCK);
	return ri_held_name(name);
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
	ri_signal_map_init(&options.exit_map);
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

/* --- what goes wrong in it, while the loop watches over it -------------------- */

static struct process {
	pid_t pid, parent;
	uint64_t started;
	bool fits;
} processes[PROCESSES];
static size_t count;

/* -1: whatever it has there. */
struct search {
	int64_t rank, local_rank;
};

/* Is the file that it runs our own? The kernel does not tell where the file may not be read. */
static bool is_rankinit(const struct ri_procstat *process)
{
	struct stat own, its;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)process->pid);
	if (stat("/proc/self/exe", &own) < 0 || stat(path, &its) < 0)
		return ri_leftovers_is_relay(process);
	return own.st_dev == its.st_dev && own.st_ino == its.st_ino;
}

static bool has(pid_t pid, const char *name, int64_t number)
{
	char value[32], wanted[32];

	snprintf(wanted, sizeof(wanted), "%d", (int)number);
	return number < 0 || (ri_proc_variable(pid, name, value, sizeof(value)) &&
		strcmp(value, wanted) == 0);
}

/* Is it below the member, or the member, and none between the two is a rank's already? */
static bool is_first_below(const struct process *process, pid_t member)
{
	const struct process *at = process;
	size_t parent;

	for (size_t depth = 0; depth < count; depth++) {
		if (at->fits && at != process)
			return false;
		if (at->pid == member)
			return true;
		for (parent = 0; parent < count && processes[parent].pid != at->parent;)
			parent++;
		if (parent == count)
			return false;
		at = &processes[parent];
	}
	return false;
}

/*
 * The eldest process that fits below the member, or the member itself; 0: there is none. One fits
 * where both numbers stand in its environment, as it was executed with (proc(5)).
 */
static pid_t find_rank(pid_t member, struct search search)
{
	const struct process *eldest = NULL;
	struct ri_proc_list list = ri_proc_list_open("/proc");
	struct ri_procstat process;

	count = 0;
	while (ri_descendants_next(&list, &process))
		if (count < PROCESSES && !process.dying)
			processes[count++] = (struct process){
				.pid = process.pid, .parent = process.parent,
				.started = process.started, .fits = !is_rankinit(&process) &&
					has(process.pid, "RANK", search.rank) &&
					has(process.pid, "LOCAL_RANK", search.local_rank),
			};
	for (size_t i = 0; i < count; i++)
		if (processes[i].fits && is_first_below(&processes[i], member) &&
			(eldest == NULL || processes[i].started < eldest->started))
			eldest = &processes[i];
	return eldest == NULL ? 0 : eldest->pid;
}

/* Those of a node's beginning are in what the node was started with. */
static const struct ri_fault *find_next(struct ri_play_job *job)
{
	const struct ri_simulation *simulation = job->members->simulation;

	while (job->next_fault < simulation->fault_count) {
		const struct ri_fault *fault = &simulation->faults[job->next_fault];

		if (fault->kind != RI_FAULT_ABSENT && fault->kind != RI_FAULT_LATE &&
			fault->kind != RI_FAULT_UNFIT)
			return fault;
		job->next_fault++;
	}
	return NULL;
}

static int64_t find_due(void *job)
{
	const struct ri_fault *fault = find_next(job);

	return fault == NULL ? INT64_MAX
		: ((struct ri_play_job *)job)->runs_since_ms + (int64_t)fault->at_ms;
}

/* The child in which the rank runs, and which is started alone or with its node; or NULL. */
static const struct ri_child *find_child(const struct ri_play_job *job, size_t rank)
{
	const struct ri_simulation *simulation = job->members->simulation;
	size_t place = simulation->shape->scope == RI_SCOPE_PROCESS
		? rank : rank / simulation->ranks;

	for (size_t i = 0; i < job->children->started; i++)
		if (job->members->places[i] == place)
			return &job->children->items[i];
	return NULL;
}

/* What the node and the others make of it is the link's business. */
static void cut(const struct ri_play_job *job, const struct ri_fault *fault)
{
	size_t first = fault->who * job->members->simulation->ranks;
	const struct ri_child *child = find_child(job, first);
	double seconds = (double)fault->at_ms / 1000;
	struct ri_proc_list list = ri_proc_list_open("/proc");
	bool shown = child != NULL && child->lives && ri_descendants_are_shown();
	struct ri_procstat process;
	pid_t helper = 0;

	while (ri_descendants_next(&list, &process))
		if (shown && process.parent == child->pid &&
			strcmp(process.name, RI_LINK_HELPER) == 0 && !process.dying)
			helper = process.pid;
	if (helper == 0) {
		ri_log(RI_LEVEL_WARNING, "simulated: node %zu has no link %g s after the start, so "
			"nothing is cut; it needs --link", fault->who, seconds);
		return;
	}
	ri_children_signal(helper, SIGKILL);
	ri_log(RI_LEVEL_ALWAYS, "simulated: the link of node %zu is cut, %g s after the start",
		fault->who, seconds);
}

static void hit(const struct ri_play_job *job, const struct ri_fault *fault)
{
	const struct ri_simulation *simulation = job->members->simulation;
	const struct ri_child *child = find_child(job, fault->who);
	int number = fault->kind == RI_FAULT_KILL ? SIGKILL : SIGSTOP;
	const char *name = fault->kind == RI_FAULT_KILL ? "SIGKILL" : "SIGSTOP";
	bool alone = simulation->shape->scope == RI_SCOPE_PROCESS;
	double seconds = (double)fault->at_ms / 1000;
	char how[96] = "";
	pid_t pid = 0;

	if (!ri_descendants_are_shown()) {
		ri_log(RI_LEVEL_WARNING, "simulated: /proc does not show rank %zu, so %s is not "
			"sent: mount a new one there", fault->who, name);
		return;
	}
	if (child != NULL && child->lives)
		pid = find_rank(child->pid, alone ? (struct search){ -1, -1 }
			: (struct search){ (int64_t)fault->who,
				(int64_t)(fault->who % simulation->ranks) });
	if (pid == 0) {
		if (!alone)
			snprintf(how, sizeof(how), "; its RANK=%zu and LOCAL_RANK=%zu are looked "
				"for", fault->who, fault->who % simulation->ranks);
		ri_log(RI_LEVEL_WARNING, "simulated: rank %zu does not run %g s after the start, "
			"so %s is not sent%s", fault->who, seconds, name, how);
		return;
	}
	ri_children_signal(pid, number);
	ri_log(RI_LEVEL_ALWAYS, "simulated: %s for rank %zu (pid %d), %g s after the start", name,
		fault->who, (int)pid, seconds);
}

static void let_happen(void *context)
{
	struct ri_play_job *job = context;
	const struct ri_fault *fault = find_next(job);

	if (fault == NULL)
		return;
	job->next_fault++;
	if (fault->kind == RI_FAULT_UNLINK)
		cut(job, fault);
	if (fault->kind == RI_FAULT_KILL || fault->kind == RI_FAULT_HANG)
		hit(job, fault);
	if (fault->kind != RI_FAULT_STOP)
		return;
	ri_log(RI_LEVEL_ALWAYS, "simulated: SIGTERM for the whole job, %g s after the start; "
		"SIGKILL follows after %u s", (double)fault->at_ms / 1000,
		job->members->simulation->shape->grace_s);
	ri_children_signal(getpid(), SIGTERM);
}

/* A warning for each rank's fault that the job did not live to see. */
static void tell_faults_unmet(const struct ri_play_job *job)
{
	const struct ri_simulation *simulation = job->members->simulation;

	for (size_t i = job->next_fault; i < simulation->fault_count; i++) {
		const struct ri_fault *fault = &simulation->faults[i];
		const char *name = fault->kind == RI_FAULT_KILL ? "kill"
			: fault->kind == RI_FAULT_HANG ? "hang"
			: fault->kind == RI_FAULT_UNLINK ? "unlink" : NULL;

		if (name != NULL)
			ri_log(RI_LEVEL_WARNING, "simulated: the job ended before %s=%zu@%g, so "
				"this did not happen", name, fault->who,
				(double)fault->at_ms / 1000);
	}
}

/* --- the run, and its account -------------------------------------------------- */

int ri_play_job_run(struct ri_play_job *job, struct ri_error *err)
{
	const struct ri_simulation *simulation = job->members->simulation;
	struct ri_launch *launch = &job->launch;
	struct ri_terminal terminal;
	const struct ri_timetable timetable = {
		.due = find_due, .act = let_happen, .context = job,
	};
	struct ri_supervisor sv = {
		.children = job->children, .rank = -1, .launch = launch, .options = job->options,
		.terminal = &terminal, .output = job->output, .result = job->supervised,
		.timetable = &timetable, .goes_on = simulation->shape->goes_on,
	};

	if (!job->options->quiet)
		ri_log(RI_LEVEL_ALWAYS, "simulated: %zu node%s of %s, %zu rank%s each, below %s; "
			"no GPU, no fabric", simulation->nodes, simulation->nodes == 1 ? "" : "s",
			simulation->shape->name, simulation->ranks,
			simulation->ranks == 1 ? "" : "s",
			launch->self == 1 ? "process 1" : "a subreaper");
	job->runs_since_ms = ri_now_ms();
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
	return ri_supervise_run(&sv);
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
	RI_TEXT(text, 256);

	if (child->lives)
		ri_text_add(&text, "still there: it could not be ended");
	else if (WIFSIGNALED(child->wait_status))
		ri_text_addf(&text, "its init was killed by %s after %.1f s",
			RI_SIGNAL_SHOWN(WTERMSIG(child->wait_status)), seconds);
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
	bool stopped = job->supervised->stop.signal != 0 || job->supervised->interrupt.signal != 0;
	bool of_nodes = shape->scope == RI_SCOPE_NODE;
	int reports = job->members->report;
	const struct ri_child *first = NULL;
	const char *state;
	json_t *report;

	tell_faults_unmet(job);
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
		status = ri_child_status(first->wait_status);
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
