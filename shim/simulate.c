/* SPDX-License-Identifier: Apache-2.0 */
/* --simulate: the members of a platform's job, each below a rankinit of its own. */
#include "run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/terminal.h"
#include "options/peer.h"
#include "options/value.h"
#include "play/summary.h"
#include "play/faults.h"
#include "play/refuse.h"
#include "play/start_member.h"
#include "play/free_ports.h"
#include "system/clock.h"
#include "system/mask.h"
#include "system/kept_fds.h"
#include "watch/subreaper.h"
#include "watch/leftovers.h"

/* A job in the making. */
struct play {
	struct ri_run *run;
	struct ri_simulation simulation;
	struct ri_members members;
	size_t *places;		/* of each child among the members */
	size_t count;
	struct ri_launch launch;
	char program[4096];
};

/* The CPUs by all ranks of the machine: each node would take them all. */
static uint64_t share_threads(struct ri_run *run, const struct ri_simulation *simulation)
{
	size_t ranks = simulation->nodes * simulation->ranks;
	struct ri_node node = {
		.host = &run->found.host, .env = &run->found.env, .arena = &run->arena,
		.findings = &run->findings,
	};
	struct ri_error err = RI_ERROR_INIT;
	struct ri_budget budget;
	struct ri_cpus mask;

	if (ri_env_get(&run->found.env, "OMP_NUM_THREADS") != NULL ||
		run->found.options.given.omp_threads.subject != NULL)
		return 0;
	ri_placing_look(&node, &mask);
	if (ri_budget_find(&budget, &node, &err) < 0)
		return 0;
	return budget.usable <= ranks ? 1 : budget.usable / ranks;
}

/* This binary, by a name that ps shows. */
static void find_program(struct play *play)
{
	ssize_t length = readlink("/proc/self/exe", play->program, sizeof(play->program) - 1);
	const char *started = (const char *)getauxval(AT_EXECFN);

	play->program[length < 0 ? 0 : length] = '\0';
	if (length <= 0 || access(play->program, X_OK) < 0 ||
		ri_peer_find(play->program) != RI_PEER_NONE)
		ri_text_copy(play->program, sizeof(play->program),
			length > 0 ? "/proc/self/exe" : started);
	play->members.program = play->program;
}

/* Those that come, in their order. */
static int choose_members(struct play *play)
{
	struct ri_run *run = play->run;
	size_t all = ri_members_count(&play->simulation);

	play->places = ri_arena_array(&run->arena, all, sizeof(*play->places));
	run->started.ranks = ri_arena_array(&run->arena, all, sizeof(*run->started.ranks));
	if (play->places == NULL || run->started.ranks == NULL)
		return ri_fail(&run->err, RI_CODE_MEMORY, "--simulate",
			"no memory left for the members of the job");
	for (size_t i = 0; i < all; i++) {
		struct ri_shape_member member = ri_members_at(&play->members, i);

		if (ri_simulation_fault_of(&play->simulation, RI_FAULT_ABSENT, member.node) ==
				NULL ||
			run->found.options.action != RI_ACTION_LAUNCH)
			play->places[play->count++] = i;
	}
	return 0;
}

static int prepare_members(struct play *play)
{
	struct ri_run *run = play->run;
	char *const *words = ri_members_words(&play->members, &run->err);

	if (words == NULL)
		return -1;
	for (size_t i = 0; i < play->count; i++) {
		struct ri_shape_member member = ri_members_at(&play->members, play->places[i]);

		run->started.ranks[i].argv = words;
		run->started.ranks[i].envp = ri_members_environment(&play->members, &member,
			&run->err);
		if (run->started.ranks[i].envp == NULL)
			return -1;
	}
	play->launch = (struct ri_launch){
		.self = getpid(), .argv = words, .envp = run->started.ranks[0].envp, .terminal = -1,
		.input = -1, .outputs = { -1, -1 }, .privileges = &run->started.privileges,
		.signal_map = &run->found.options.signal_map,
	};
	return ri_launch_prepare(&play->launch, &run->arena, &run->err);
}

static int prepare(struct play *play)
{
	struct ri_run *run = play->run;
	const struct ri_options *options = &run->found.options;

	if (ri_simulate_check(options, &run->found.env, &run->found.command, &run->err) < 0)
		return -1;
	run->found.host = (struct ri_host){ .root = -1, .path = "/", .live = true };
	play->simulation = run->found.options.simulation;
	play->members = (struct ri_members){
		.simulation = &play->simulation, .options = options, .env = &run->found.env,
		.arena = &run->arena, .report = -1,
		.local_rank = -1, .port = ri_shape_port(play->simulation.shape),
		.threads = share_threads(run, &play->simulation),
	};
	find_program(play);
	ri_simulate_judge(options, &run->findings);
	return choose_members(play);
}

/* What the nodes write at their ends, for the account. */
static void open_report(struct play *play)
{
	int fd;

	if (play->simulation.shape->scope != RI_SCOPE_NODE ||
		play->run->found.options.given.report.subject != NULL)
		return;
	fd = memfd_create("reports", 0);
	if (fd >= 0)
		fcntl(fd, F_SETFL, O_APPEND);
	ri_kept_fds_add(fd);
	play->members.report = fd;
}

/*
 * The loop has the platform's patience, and none of the options: they are those of
 * the members.
 */
static struct ri_options loop_options(const struct ri_options *given, const struct ri_shape *shape)
{
	struct ri_options options = {
		.settle_ms = given->settle_ms, .quiet = given->quiet, .verbose = given->verbose,
		.color = given->color, .called = given->called, .log_prefix = given->log_prefix,
		.log_prefix_node = true, .grace_ms = shape->grace_s * 1000ULL,
		.command = given->command,
	};

	if (given->given.log_prefix.subject == NULL)
		options.log_prefix = true;
	ri_signal_map_init(&options.signal_map);
	ri_exit_map_init(&options.exit_map);
	return options;
}

static int prepare_output(struct play *play)
{
	struct ri_run *run = play->run;
	struct ri_output_rank *ranks = ri_arena_array(&run->arena, play->count, sizeof(*ranks));
	struct ri_output_wishes wishes = {
		.options = &run->found.options, .ranks = ranks, .count = play->count, .node = -1,
		.keeps_stderr = true, .bare = play->simulation.shape->scope == RI_SCOPE_NODE,
	};

	if (ranks == NULL)
		return ri_fail(&run->err, RI_CODE_MEMORY, "COMMAND",
			"no memory left for its output");
	for (size_t i = 0; i < play->count; i++) {
		struct ri_shape_member member = ri_members_at(&play->members, play->places[i]);

		ranks[i] = (struct ri_output_rank){
			.rank = play->places[i], .local_rank = member.local_rank,
			.node = (int64_t)member.node,
		};
	}
	run->ended.numbers = ranks;
	return ri_output_prepare(&run->started.output, &wishes, &run->arena, &run->err);
}

/* Of a job of processes the verdict is ours, as that of its launcher. */
static void describe_job(struct play *play)
{
	struct ri_topology *topology = &play->run->found.topology;
	size_t ranks = play->simulation.nodes * play->simulation.ranks;

	topology->scope = RI_SCOPE_PROCESS;
	topology->identity = play->simulation.shape->name;
	ri_topology_derive(topology, RI_FACT_RANK, 0, 0);
	ri_topology_derive(topology, RI_FACT_WORLD_SIZE, ranks, 0);
	ri_topology_derive(topology, RI_FACT_LOCAL_RANK, 0, 0);
	ri_topology_derive(topology, RI_FACT_LOCAL_WORLD_SIZE, ranks, 0);
	ri_topology_derive(topology, RI_FACT_NNODES, 1, 0);
	play->run->found.first.argv = play->run->found.options.command;
	play->run->found.command.mode = RI_MODE_PROCESS;
	play->run->found.source.context.fan_out = play->count;
}

static int watch(struct play *play)
{
	struct ri_run *run = play->run;
	const struct ri_simulation *simulation = &play->simulation;
	struct ri_terminal terminal;
	struct ri_faults faults = {
		.simulation = simulation, .children = &run->started.children,
		.places = play->places,
		.began_ms = ri_now_ms(),
	};
	const struct ri_timetable timetable = {
		.due = ri_faults_due, .act = ri_faults_act, .context = &faults,
	};
	const struct ri_supervise setting = {
		.rank = -1, .launch = &play->launch, .options = &run->found.options,
		.terminal = &terminal, .output = &run->started.output,
		.result = &run->started.supervised,
		.timetable = &timetable, .goes_on = simulation->shape->goes_on, .silent = true,
	};
	const struct ri_ranks_start start = {
		.ranks = run->started.ranks, .launch = &play->launch,
		.children = &run->started.children, .output = &run->started.output,
	};
	struct ri_job_account account = {
		.simulation = simulation, .children = &run->started.children,
		.places = play->places,
		.report = play->members.report,
	};

	ri_terminal_find(&terminal, play->launch.self);
	ri_terminal_share(&terminal);
	play->launch.new_group = !terminal.shared;
	play->launch.die_with_us = play->launch.self != 1;
	ri_clock_read(CLOCK_REALTIME, &run->started.at);
	if (ri_ranks_spawn(&start, &run->err) < 0) {
		ri_terminal_restore(&terminal);
		ri_log_error(&run->err);
		ri_children_refuse(&run->started.children, ri_run_refusal(run));
	}
	account.status = ri_supervise_run(&run->started.children, &setting);
	account.stopped = run->started.supervised.stop.asked ||
		run->started.supervised.interrupt.signal != 0;
	account.quiet = run->found.options.quiet;
	if (simulation->shape->scope == RI_SCOPE_PROCESS)
		account.status = ri_run_tell(run, account.status);
	ri_faults_tell(&faults);
	return ri_job_account_tell(&account);
}

static int launch_job(struct play *play)
{
	struct ri_run *run = play->run;
	const struct ri_simulation *simulation = &play->simulation;

	if (run->found.options.given.log_prefix.subject == NULL)
		run->found.options.log_prefix = true;
	play->members.port = ri_play_ports(ri_shape_port(simulation->shape), simulation->nodes);
	play->members.began_ms = (uint64_t)ri_now_ms();
	open_report(play);
	if (prepare_members(play) < 0 ||
		ri_children_init(&run->started.children, play->count, &run->arena, &run->err) < 0)
		return -1;
	run->found.options = loop_options(&run->found.options, simulation->shape);
	play->launch.input = ri_ranks_open_input(&run->err);
	if (play->launch.input < 0)
		return -1;
	ri_mask_default_chld();
	if (ri_orphans_adopt(play->launch.self, &run->found.options, &run->err) < 0 ||
		prepare_output(play) < 0)
		return -1;
	ri_leftovers_add_relay(play->program);
	describe_job(play);
	if (simulation->shape->scope == RI_SCOPE_PROCESS && ri_run_reserve_telling(run) < 0)
		return -1;
	if (!run->found.options.quiet)
		ri_log(RI_LEVEL_ALWAYS, "simulated: %zu node%s of %s, %zu rank%s each, below %s; "
			"no GPU, no fabric", simulation->nodes, simulation->nodes == 1 ? "" : "s",
			simulation->shape->name, simulation->ranks,
			simulation->ranks == 1 ? "" : "s",
			play->launch.self == 1 ? "process 1" : "a subreaper");
	return watch(play);
}

/* --print-env of one of them, by becoming it. */
static int become_member(struct play *play)
{
	struct ri_run *run = play->run;
	const struct ri_simulation *simulation = &play->simulation;
	uint64_t node = 0, local_rank = 0;
	const struct ri_range nodes = { 0, simulation->nodes - 1 };
	const struct ri_range ranks = { 0, simulation->ranks - 1 };
	const union ri_options_given *given = &run->found.options.given;

	if (given->node_rank.subject != NULL &&
		ri_value_number(&node, nodes, given->node_rank, &run->err) < 0)
		return -1;
	if (given->local_rank.subject != NULL &&
		ri_value_number(&local_rank, ranks, given->local_rank, &run->err) < 0)
		return -1;
	play->places[0] = node;
	if (simulation->shape->scope == RI_SCOPE_PROCESS)
		play->places[0] = node * simulation->ranks + local_rank;
	else
		play->members.local_rank = (int64_t)local_rank;
	play->count = 1;
	if (prepare_members(play) < 0)
		return -1;
	ri_launch_replace(&play->launch, &run->err);
	return -1;
}

/* "node 1, rank 3, 127.0.0.3" */
static void print_member(const struct play *play, const struct ri_shape_member *member, bool next)
{
	bool alone = play->simulation.shape->scope == RI_SCOPE_PROCESS;
	char rank[48] = "";

	if (alone)
		snprintf(rank, sizeof(rank), ", rank %zu",
			member->node * member->ranks + member->local_rank);
	dprintf(STDOUT_FILENO, "%s== node %zu%s, %s\n", next ? "\n" : "", member->node, rank,
		ri_shape_host(member->node, play->members.arena));
}

/*
 * Its end; a stop is passed on, which it may be too late for. Returns the stop's number,
 * or 0.
 */
static int wait_for_member(pid_t pid, int *status)
{
	enum { PATIENCE_MS = 1000 };
	siginfo_t info;
	struct rusage usage;
	int stop = 0, number;

	while (ri_children_reap(pid, status, WNOHANG, &usage) == 0) {
		number = ri_mask_wait_for(ri_mask_stops() | RI_MASK_OF(SIGCHLD), &info,
			PATIENCE_MS);
		if (number == SIGCHLD || (number == 0 && stop == 0))
			continue;
		ri_children_signal(pid, stop == 0 ? number : SIGKILL);
		if (stop != 0)
			break;
		stop = number;
	}
	return stop;
}

/* One after the other, each below a line that says whose it is. */
static int explain_members(struct play *play)
{
	struct ri_run *run = play->run;
	bool text = run->found.options.action_value == NULL ||
		strcmp(run->found.options.action_value, "text") == 0;
	int first = 0, status = 0, stop;

	if (prepare_members(play) < 0)
		return -1;
	play->launch.die_with_us = play->launch.self != 1;
	ri_mask_default_chld();
	for (size_t i = 0; i < play->count; i++) {
		struct ri_shape_member member = ri_members_at(&play->members, play->places[i]);
		pid_t pid;

		if (text)
			print_member(play, &member, i > 0);
		play->launch.envp = run->started.ranks[i].envp;
		pid = ri_launch_spawn(&play->launch, &run->err);
		if (pid < 0)
			return -1;
		stop = wait_for_member(pid, &status);
		if (stop != 0)
			return 128 + stop;
		if (first == 0)
			first = ri_verdict_status(status);
	}
	return first;
}

int ri_run_simulate(struct ri_run *run)
{
	static struct play play;
	int status = -1;

	play.run = run;
	if (prepare(&play) == 0) {
		ri_log_findings(&run->findings);
		if (run->found.options.action == RI_ACTION_PRINT_ENV)
			status = become_member(&play);
		else if (run->found.options.action == RI_ACTION_EXPLAIN)
			status = explain_members(&play);
		else
			status = launch_job(&play);
	}
	return status < 0 ? ri_run_fail(run) : status;
}
