/* SPDX-License-Identifier: Apache-2.0 */
#include "play/play_job.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "play/free_ports.h"
#include "system/clock.h"
#include "system/kept_fds.h"
#include "system/log.h"
#include "system/mask.h"
#include "watch/leftovers.h"
#include "watch/subreaper.h"

/* What the nodes write at their ends, for the account. */
static void open_report(struct ri_members *members)
{
	int fd;

	if (members->simulation->shape->scope != RI_SCOPE_NODE ||
		members->options->given.report.subject != NULL)
		return;
	fd = memfd_create("reports", 0);
	if (fd >= 0)
		fcntl(fd, F_SETFL, O_APPEND);
	ri_kept_fds_add(fd);
	members->report = fd;
}

/*
 * The loop has the platform's patience, and none of the options: they are those of
 * the members. With classes it has to know that a member's status is one.
 */
static struct ri_options loop_options(const struct ri_options *given)
{
	struct ri_options options = {
		.quiet = given->quiet, .verbose = given->verbose,
		.called = given->called, .log_prefix = given->log_prefix,
		.log_prefix_node = true, .grace_ms = given->simulation.shape->grace_s * 1000ULL,
		.command = given->command, .simulation = given->simulation,
		.exit_class = given->exit_class,
	};

	ri_signal_map_init(&options.signal_map);
	ri_exit_map_init(&options.exit_map);
	return options;
}

static int prepare_output(struct ri_play_job *job, struct ri_error *err)
{
	const struct ri_members *members = job->members;
	struct ri_output_wishes wishes = {
		.options = job->options, .count = members->count, .node = -1, .keeps_stderr = true,
		.bare = members->simulation->shape->scope == RI_SCOPE_NODE,
	};

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

int ri_play_job_prepare(struct ri_play_job *job, struct ri_error *err)
{
	struct ri_members *members = job->members;

	if (job->options->given.log_prefix.subject == NULL)
		job->options->log_prefix = true;
	members->port = ri_play_ports(members->port, members->simulation->nodes);
	members->began_ms = (uint64_t)ri_now_ms();
	open_report(members);
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
	return prepare_output(job, err);
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
	const struct ri_ranks_start start = {
		.ranks = job->members->ranks, .launch = launch, .children = job->children,
		.output = job->output,
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
	if (ri_ranks_spawn(&start, err) < 0) {
		ri_terminal_restore(&terminal);
		ri_log_error(err);
		ri_children_refuse(job->children, ri_code_status(err->code));
	}
	return ri_supervise_run(job->children, &setting);
}
