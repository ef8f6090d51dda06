/* SPDX-License-Identifier: Apache-2.0 */
#include "play/play_job.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/host.h"
#include "from/sources.h"
#include "launch/placement.h"
#include "options/table.h"

/*
 * Options that the outer rankinit takes for itself: nothing is required of a machine that
 * only plays the others.
 */
static const int own[] = {
	RI_OPTION_simulate, RI_OPTION_log_prefix, RI_OPTION_node_rank, RI_OPTION_local_rank,
	RI_OPTION_require, -1,
};

struct ri_shape_member ri_members_at(const struct ri_members *members, size_t place)
{
	const struct ri_simulation *simulation = members->simulation;
	size_t each = simulation->shape->scope == RI_SCOPE_PROCESS ? simulation->ranks : 1;

	return (struct ri_shape_member){
		.nodes = simulation->nodes, .ranks = simulation->ranks,
		.node = place / each, .local_rank = place % each, .port = members->port,
	};
}

static int no_memory(struct ri_error *err)
{
	return ri_fail(err, RI_CODE_MEMORY, "--simulate",
		"no memory left for the members of the job");
}

int ri_members_choose(struct ri_members *out, const struct ri_options *options,
	const struct ri_node *machine, struct ri_error *err)
{
	const struct ri_simulation *simulation = &options->simulation;
	bool alone = simulation->shape->scope == RI_SCOPE_PROCESS;
	size_t ranks = simulation->nodes * simulation->ranks;
	size_t all = alone ? ranks : simulation->nodes;
	struct ri_error ignored = RI_ERROR_INIT;
	struct ri_node node = *machine;
	const size_t size = sizeof(out->program);
	ssize_t length = readlink("/proc/self/exe", out->program, size - 1);
	struct ri_budget budget;
	struct ri_cpus mask;

	out->simulation = simulation;
	out->options = options;
	out->env = machine->env;
	out->arena = machine->arena;
	out->port = ri_shape_port(simulation->shape);
	out->report = -1;
	out->local_rank = -1;
	/* The CPUs by all ranks of the machine: each node would take them all. */
	if (ri_env_get(machine->env, "OMP_NUM_THREADS") == NULL &&
		options->given.omp_threads.subject == NULL) {
		ri_placing_look(&node, &mask);
		if (ri_budget_find(&budget, &node, &ignored) == 0)
			out->threads = budget.usable <= ranks ? 1 : budget.usable / ranks;
	}
	/* this binary, by a name that ps shows */
	out->program[length < 0 ? 0 : length] = '\0';
	if (length <= 0 || access(out->program, X_OK) < 0 ||
		ri_peer_find(out->program) != RI_PEER_NONE)
		ri_text_copy(out->program, size, length > 0 ? "/proc/self/exe"
			: (const char *)getauxval(AT_EXECFN));
	out->places = ri_arena_array(out->arena, all, sizeof(*out->places));
	out->ranks = ri_arena_array(out->arena, all, sizeof(*out->ranks));
	if (out->places == NULL || out->ranks == NULL)
		return no_memory(err);
	for (size_t i = 0; i < all; i++)
		if (options->action != RI_ACTION_LAUNCH ||
			ri_simulation_fault_of(simulation, RI_FAULT_ABSENT,
				ri_members_at(out, i).node) == NULL)
			out->places[out->count++] = i;
	return 0;
}

static size_t count_words(char *const *words)
{
	size_t count = 0;

	while (words != NULL && words[count] != NULL)
		count++;
	return count;
}

static char *const *make_words(const struct ri_members *members, struct ri_error *err)
{
	const struct ri_options *options = members->options;
	const struct ri_simulation *simulation = members->simulation;
	char **given = ri_options_words(options, own, members->arena), **words;
	size_t options_count = count_words(given), count = 0;
	static char end[] = "--", prefix[] = "--log-prefix=node";

	words = ri_arena_array(members->arena, options_count + count_words(options->command) + 8,
		sizeof(*words));
	if (given == NULL || words == NULL) {
		no_memory(err);
		return NULL;
	}
	words[count++] = ri_arena_copy(members->arena, members->program, strlen(members->program));
	for (size_t i = 0; i < options_count; i++)
		words[count++] = given[i];
	if (simulation->shape->scope == RI_SCOPE_NODE) {
		words[count++] = ri_arena_format(members->arena, "--nproc-per-node=%zu",
			simulation->ranks);
		if (options->action == RI_ACTION_LAUNCH && options->log_prefix)
			words[count++] = prefix;
		if (members->report >= 0)
			words[count++] = ri_arena_format(members->arena, "--report=fd:%d",
				members->report);
		if (members->local_rank >= 0)
			words[count++] = ri_arena_format(members->arena, "--local-rank=%d",
				(int)members->local_rank);
	}
	for (size_t i = 0; i < count; i++)
		if (words[i] == NULL) {
			no_memory(err);
			return NULL;
		}
	words[count++] = end;
	for (char *const *word = options->command; word != NULL && *word != NULL; word++)
		words[count++] = *word;
	return words;
}

static int set(struct ri_env_edits *edits, const struct ri_members *members, const char *name,
	const char *value, struct ri_error *err)
{
	return value == NULL ? no_memory(err)
		: ri_env_edits_add(edits, (struct ri_env_edit){ name, value }, members->arena, err);
}

static int take_away(struct ri_env_edits *edits, const struct ri_members *members,
	const char *name, struct ri_error *err)
{
	return ri_env_find(members->env, name) == NULL ? 0
		: ri_env_edits_add(edits, (struct ri_env_edit){ name, NULL }, members->arena, err);
}

static char *make_overlay(const struct ri_members *members, const struct ri_shape_member *member)
{
	const struct ri_simulation *simulation = members->simulation;
	const struct ri_fault *late =
		ri_simulation_fault_of(simulation, RI_FAULT_LATE, member->node);
	struct ri_arena *arena = members->arena;
	struct ri_host_file files[RI_MAX_SHAPE_FILES + 3] = {
		{ .path = "/proc/net/if_inet6", .text = "" },
		{ .path = "/proc/net/fib_trie", .text = ri_arena_format(arena,
			"|-- %s\n/32 host LOCAL\n", ri_shape_host(member->node, arena)) },
	};
	const struct ri_fault *unfit =
		ri_simulation_fault_of(simulation, RI_FAULT_UNFIT, member->node);
	struct ri_overlay overlay = {
		.name = ri_arena_format(arena, "node%zu", member->node), .files = files,
		.from_ms = late == NULL || members->began_ms == 0
			? 0 : members->began_ms + late->at_ms,
		.job = members->began_ms == 0 ? NULL
			: ri_arena_format(arena, "%llu of process %d",
				(unsigned long long)members->began_ms, (int)getpid()),
		.unfit = unfit == NULL || members->began_ms == 0 ? 0 : unfit->attempt + 1,
	};
	struct ri_shape_row row;
	size_t count = 2;

	for (size_t i = 0; ri_shape_row_at(simulation->shape, i, &row); i++)
		if (row.name[0] == '/' && ri_shape_row_is_of(&row, member))
			files[count++] = (struct ri_host_file){
				.path = row.name, .text = ri_shape_value(&row, member, arena),
			};
	for (size_t i = 0; i < count; i++) {
		if (files[i].text == NULL)
			return NULL;
		files[i].length = strlen(files[i].text);
	}
	return overlay.name == NULL ? NULL : ri_overlay_write(&overlay, arena);
}

static char **make_environment(const struct ri_members *members,
	const struct ri_shape_member *member, struct ri_error *err)
{
	const struct ri_shape *shape = members->simulation->shape;
	struct ri_arena *arena = members->arena;
	struct ri_env_edits edits = { .count = 0 };
	const struct ri_source *source;
	struct ri_shape_row row;

	/* What another platform may have left here, and what the outer rankinit was told. */
	for (size_t i = 0; (source = ri_sources[i]) != NULL; i++)
		for (const struct ri_source_row *read = source->reads; read->name != NULL; read++)
			if (take_away(&edits, members, read->name, err) < 0)
				return NULL;
	for (size_t i = 0; own[i] >= 0; i++)
		if (take_away(&edits, members, ri_option_twin(&ri_option_table[own[i]]), err) < 0)
			return NULL;
	for (size_t i = 0; ri_shape_row_at(shape, i, &row); i++)
		if (row.name[0] != '/' && ri_shape_row_is_of(&row, member) &&
			set(&edits, members, row.name, ri_shape_value(&row, member, arena), err) <
				0)
			return NULL;
	if (set(&edits, members, RI_OVERLAY_VARIABLE, make_overlay(members, member), err) < 0)
		return NULL;
	if (members->port != ri_shape_port(shape) && !ri_shape_says_port(shape) &&
		members->options->given.master_port.subject == NULL &&
		set(&edits, members, "RANKINIT_MASTER_PORT",
			ri_arena_number(arena, members->port), err) < 0)
		return NULL;
	if (members->threads > 0 && set(&edits, members, "OMP_NUM_THREADS",
		ri_arena_number(arena, members->threads), err) < 0)
		return NULL;
	return ri_env_apply(members->env, &edits, arena, err);
}

int ri_members_prepare(struct ri_members *members, struct ri_launch *launch, struct ri_error *err)
{
	static const struct ri_privileges as_we_are;
	char *const *words = make_words(members, err);

	if (words == NULL)
		return -1;
	for (size_t i = 0; i < members->count; i++) {
		struct ri_shape_member member = ri_members_at(members, members->places[i]);
		struct ri_rank *rank = &members->ranks[i];

		*rank = (struct ri_rank){
			.argv = words, .envp = make_environment(members, &member, err),
		};
		if (rank->envp == NULL)
			return -1;
	}
	*launch = (struct ri_launch){
		.self = getpid(), .argv = words, .envp = members->ranks[0].envp, .terminal = -1,
		.input = -1, .outputs = { -1, -1 }, .privileges = &as_we_are,
		.signal_map = &members->options->signal_map,
	};
	return ri_launch_prepare(launch, members->arena, err);
}

int ri_members_print_env(struct ri_members *members, struct ri_error *err)
{
	const struct ri_simulation *simulation = members->simulation;
	const union ri_options_given *given = &members->options->given;
	const struct ri_range nodes = { 0, simulation->nodes - 1 };
	const struct ri_range ranks = { 0, simulation->ranks - 1 };
	uint64_t node = 0, local_rank = 0;
	struct ri_launch launch;

	if (given->node_rank.subject != NULL &&
		ri_value_number(&node, nodes, given->node_rank, err) < 0)
		return -1;
	if (given->local_rank.subject != NULL &&
		ri_value_number(&local_rank, ranks, given->local_rank, err) < 0)
		return -1;
	members->places[0] = node;
	if (simulation->shape->scope == RI_SCOPE_PROCESS)
		members->places[0] = node * simulation->ranks + local_rank;
	else
		members->local_rank = (int64_t)local_rank;
	members->count = 1;
	return ri_members_prepare(members, &launch, err) < 0 ? -1 : ri_launch_replace(&launch, err);
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

int ri_members_explain(struct ri_members *members, struct ri_error *err)
{
	const char *form = members->options->action_value;
	int first = 0, status = 0, stop;
	struct ri_launch launch;

	if (ri_members_prepare(members, &launch, err) < 0)
		return -1;
	launch.die_with_us = launch.self != 1;
	ri_mask_default_chld();
	for (size_t i = 0; i < members->count; i++) {
		size_t place = members->places[i], node = ri_members_at(members, place).node;
		char rank[48] = "";
		pid_t pid;

		/* "node 1, rank 3, 127.0.0.3" */
		if (members->simulation->shape->scope == RI_SCOPE_PROCESS)
			snprintf(rank, sizeof(rank), ", rank %zu", place);
		if (form == NULL || strcmp(form, "text") == 0)
			dprintf(STDOUT_FILENO, "%s== node %zu%s, %s\n", i > 0 ? "\n" : "", node,
				rank, ri_shape_host(node, members->arena));
		launch.envp = members->ranks[i].envp;
		pid = ri_launch_spawn(&launch, err);
		if (pid < 0)
			return -1;
		stop = wait_for_member(pid, &status);
		if (stop != 0)
			return 128 + stop;
		if (first == 0)
			first = ri_child_status(status);
	}
	return first;
}
