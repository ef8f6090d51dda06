/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --simulate: the members of a platform's job, each below a rankinit of its own. shim/play makes
 * the job; here it meets what a launch of ranks fills in and tells, which is the run.
 */
#include "run.h"

#include "play/play_job.h"
#include "play/refuse.h"
#include "system/clock.h"

/* The verdict on these is ours, as that of their launcher. */
static int prepare_telling(struct ri_run *run, const struct ri_members *members)
{
	const struct ri_simulation *simulation = members->simulation;
	struct ri_topology *topology = &run->found.topology;
	size_t ranks = simulation->nodes * simulation->ranks;

	topology->scope = RI_SCOPE_PROCESS;
	topology->identity = simulation->shape->name;
	ri_topology_derive(topology, RI_FACT_RANK, 0, 0);
	ri_topology_derive(topology, RI_FACT_WORLD_SIZE, ranks, 0);
	ri_topology_derive(topology, RI_FACT_LOCAL_RANK, 0, 0);
	ri_topology_derive(topology, RI_FACT_LOCAL_WORLD_SIZE, ranks, 0);
	ri_topology_derive(topology, RI_FACT_NNODES, 1, 0);
	run->found.first.argv = run->found.options.command;
	run->found.command.mode = RI_MODE_PROCESS;
	run->found.source.context.fan_out = members->count;
	return ri_run_reserve_telling(run);
}

static int launch_job(struct ri_run *run, struct ri_members *members)
{
	bool of_processes = members->simulation->shape->scope == RI_SCOPE_PROCESS;
	struct ri_play_job job = {
		.members = members, .options = &run->found.options,
		.children = &run->started.children, .output = &run->started.output,
		.supervised = &run->started.supervised,
	};
	int status;

	if (ri_play_job_prepare(&job, &run->err) < 0)
		return -1;
	run->ended.numbers = job.numbers;
	if (of_processes && prepare_telling(run, members) < 0)
		return -1;
	ri_clock_read(CLOCK_REALTIME, &run->started.at);
	status = ri_play_job_run(&job, &run->err);
	return ri_play_job_tell(&job, of_processes ? ri_run_tell(run, status) : status);
}

int ri_run_simulate(struct ri_run *run)
{
	const struct ri_options *options = &run->found.options;
	const struct ri_node machine = {
		.host = &run->found.host, .env = &run->found.env, .arena = &run->arena,
		.findings = &run->findings,
	};
	static struct ri_members members;
	int status;

	run->found.host = (struct ri_host){ .root = -1, .path = "/", .live = true };
	if (ri_simulate_check(options, &run->found.env, &run->found.command, &run->err) < 0 ||
		ri_members_choose(&members, options, &machine, &run->err) < 0)
		return ri_run_fail(run);
	ri_simulate_judge(options, &run->findings);
	ri_log_findings(&run->findings);
	if (options->action == RI_ACTION_PRINT_ENV)
		status = ri_members_print_env(&members, &run->err);
	else if (options->action == RI_ACTION_EXPLAIN)
		status = ri_members_explain(&members, &run->err);
	else
		status = launch_job(run, &members);
	return status < 0 ? ri_run_fail(run) : status;
}
