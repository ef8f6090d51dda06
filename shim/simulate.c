/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --simulate: the members of a platform's job, each below a rankinit of its own. shim/play makes
 * the job; here it meets what a launch of ranks fills in and tells, which is the run.
 */
#include "run.h"

#include "base/host.h"
#include "from/sources.h"
#include "play/play_job.h"
#include "system/clock.h"

static int refuse(struct ri_error *err, const char *subject, const char *hint, const char *why)
{
	ri_fail(err, RI_CODE_OPTION_CONFLICT, subject, "%s", why);
	return ri_fail_hint(err, "%s", hint);
}

#define SAID "its value says that already"
#define LOOKS "it looks at one machine, and a simulated job has none of its own"
#define CHOOSES "it chooses whose variables --print-env prints"

/* What has no meaning beside it. */
static const struct {
	int option;
	const char *why;
	bool prints;	/* but for --print-env */
} senseless[] = {
	{ RI_OPTION_rank, SAID, false },
	{ RI_OPTION_world_size, SAID, false },
	{ RI_OPTION_local_world_size, SAID, false },
	{ RI_OPTION_nnodes, SAID, false },
	{ RI_OPTION_master_addr, SAID, false },
	{ RI_OPTION_hosts, SAID, false },
	{ RI_OPTION_hostfile, SAID, false },
	{ RI_OPTION_source, SAID, false },
	{ RI_OPTION_nproc_per_node, SAID, false },
	{ RI_OPTION_root, LOOKS, false },
	{ RI_OPTION_check, LOOKS, false },
	{ RI_OPTION_node_rank, CHOOSES, true },
	{ RI_OPTION_local_rank, CHOOSES, true },
};

static int refuse_option(const struct ri_options *options, int number, const char *why,
	struct ri_error *err)
{
	const char *subject = options->given.at[number].subject;

	ri_fail(err, RI_CODE_OPTION_CONFLICT, subject, "cannot be combined with %s: %s",
		options->given.simulate.subject, why);
	return ri_fail_hint(err, "leave %s out", subject);
}

static int check_options(const struct ri_options *options, const struct ri_env *env,
	struct ri_error *err)
{
	const union ri_options_given *given = &options->given;

	if (options->peer != RI_PEER_NONE)
		return refuse(err, given->simulate.subject, "call it by the name rankinit",
			"needs rankinit's own options");
	if (ri_env_get(env, RI_OVERLAY_VARIABLE) != NULL)
		return refuse(err, given->simulate.subject, "leave one of the two out",
			"a simulated job cannot simulate another one");
	for (size_t i = 0; i < RI_ARRAY_SIZE(senseless); i++)
		if (given->at[senseless[i].option].subject != NULL &&
			!(senseless[i].prints && options->action == RI_ACTION_PRINT_ENV))
			return refuse_option(options, senseless[i].option, senseless[i].why, err);
	if (options->supervise == RI_SWITCH_NEVER &&
		options->simulation.shape->scope == RI_SCOPE_NODE)
		return refuse_option(options, RI_OPTION_supervise,
			"the rankinit of a node is the parent of its ranks", err);
	/* what each of them would say */
	return ri_options_check(options, err);
}

/* What one of them left here would be in each member too, and a rank of a real job plays none. */
static int refuse_platform(const struct ri_options *options, const struct ri_env *env,
	struct ri_error *err)
{
	const struct ri_source *source;
	const char *name = "its variables";

	for (size_t i = 0; (source = ri_sources[i]) != NULL; i++) {
		if (source->hidden || !ri_source_is_seen(source, env))
			continue;
		for (const struct ri_source_row *row = source->reads; row->name != NULL; row++)
			if (ri_env_get(env, row->name) != NULL) {
				name = row->name;
				break;
			}
		ri_fail(err, RI_CODE_OPTION_CONFLICT, options->given.simulate.subject,
			"cannot be used inside a real job: %s shows one of %s", name,
			source->name);
		return ri_fail_hint(err, "start it where no job runs, or unset %s", name);
	}
	return 0;
}

static int check_command(const struct ri_options *options, struct ri_command *command,
	struct ri_error *err)
{
	if (options->launch == RI_MODE_NONE)
		return refuse_option(options, RI_OPTION_launch,
			"it says that COMMAND starts the whole job, which is what is played", err);
	if (options->command == NULL && options->action != RI_ACTION_LAUNCH)
		return 0;
	if (options->command == NULL) {
		ri_fail(err, RI_CODE_COMMAND_MISSING, "COMMAND", "no command was given");
		return ri_fail_hint(err, "write what each of them runs: rankinit --simulate=%s -- "
			"python3 train.py", options->given.simulate.value);
	}
	ri_command_read(command, options->command, options->launch);
	if (command->mode != RI_MODE_NONE)
		return 0;
	return refuse(err, options->command[0],
		"leave it out: write the training program itself, or torchrun",
		"starts a whole job by itself, and --simulate plays who starts it");
}

static int launch_job(struct ri_run *run, struct ri_members *members)
{
	const struct ri_simulation *simulation = members->simulation;
	bool of_processes = simulation->shape->scope == RI_SCOPE_PROCESS;
	size_t ranks = simulation->nodes * simulation->ranks;
	struct ri_topology *topology = &run->found.topology;
	struct ri_play_job job = {
		.members = members, .options = &run->found.options,
		.children = &run->started.children, .output = &run->started.output,
		.supervised = &run->started.supervised,
	};
	int status;

	if (ri_play_job_prepare(&job, &run->err) < 0)
		return -1;
	run->ended.numbers = job.numbers;
	if (of_processes) {
		/* the verdict on these is ours, as that of their launcher */
		topology->scope = RI_SCOPE_PROCESS;
		topology->identity = simulation->shape->name;
		ri_topology_derive(topology, RI_FACT_RANK, 0, 0);
		ri_topology_derive(topology, RI_FACT_WORLD_SIZE, ranks, 0);
		ri_topology_derive(topology, RI_FACT_LOCAL_RANK, 0, 0);
		ri_topology_derive(topology, RI_FACT_LOCAL_WORLD_SIZE, ranks, 0);
		ri_topology_derive(topology, RI_FACT_NNODES, 1, 0);
		run->found.first.argv = run->found.options.command;
		run->found.command.mode = RI_MODE_PROCESS;
		run->found.context.fan_out = members->count;
		if (ri_run_reserve_telling(run) < 0)
			return -1;
	}
	ri_clock_read(CLOCK_REALTIME, &run->started.at);
	ri_judge_plan(ri_judge_answer, run, ri_run_ranks(run));
	status = ri_play_job_run(&job, &run->err);
	return ri_play_job_tell(&job, of_processes ? ri_run_tell(run, status) : status);
}

int ri_run_simulate(struct ri_run *run)
{
	const struct ri_options *options = &run->found.options;
	const struct ri_given *require = &options->checks.require;
	const struct ri_env *env = &run->found.env;
	const struct ri_node machine = {
		.host = &run->found.host, .env = &run->found.env, .arena = &run->arena,
		.findings = &run->findings,
	};
	static struct ri_members members;
	int status;

	run->found.host = (struct ri_host){ .root = -1, .path = "/", .live = true };
	if (check_options(options, env, &run->err) < 0 ||
		refuse_platform(options, env, &run->err) < 0 ||
		check_command(options, &run->found.command, &run->err) < 0 ||
		ri_members_choose(&members, options, &machine, &run->err) < 0)
		return ri_run_fail(run);
	/* on the platform each node has a disk of its own */
	if (options->simulation.shape->scope == RI_SCOPE_NODE && options->simulation.nodes > 1)
		ri_found_judge_files(&run->found, options->simulation.nodes, true, &run->findings);
	/* what a node of the platform has, this machine need not have */
	if (require->value != NULL)
		ri_warn(&run->findings, RI_CODE_CHECK_UNASKED, require->subject,
			"requirements not checked: this machine only plays the nodes of the job");
	ri_log_findings(&run->findings);
	if (options->action == RI_ACTION_PRINT_ENV)
		status = ri_members_print_env(&members, &run->err);
	else if (options->action == RI_ACTION_EXPLAIN)
		status = ri_members_explain(&members, &run->err);
	else
		status = launch_job(run, &members);
	return status < 0 ? ri_run_fail(run) : status;
}
