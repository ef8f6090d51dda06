/* SPDX-License-Identifier: Apache-2.0 */
#include "play/show_members.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options/table.h"
#include "system/mask.h"
#include "watch/obituary.h"

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

/* "node 1, rank 3, 127.0.0.3" */
static void print_member(const struct ri_members *members, size_t place, bool next)
{
	const struct ri_shape_member member = ri_members_at(members, place);
	char rank[48] = "";

	if (members->simulation->shape->scope == RI_SCOPE_PROCESS)
		snprintf(rank, sizeof(rank), ", rank %zu", place);
	dprintf(STDOUT_FILENO, "%s== node %zu%s, %s\n", next ? "\n" : "", member.node, rank,
		ri_shape_host(member.node, members->arena));
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
		pid_t pid;

		if (form == NULL || strcmp(form, "text") == 0)
			print_member(members, members->places[i], i > 0);
		launch.envp = members->ranks[i].envp;
		pid = ri_launch_spawn(&launch, err);
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
