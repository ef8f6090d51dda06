/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rankinit, top to bottom: read the options, find out who we are, write it
 * the way frameworks want it, start the command, watch over it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/env.h"
#include "base/limits.h"
#include "base/number.h"
#include "children.h"
#include "from/from.h"
#include "hosts.h"
#include "launch.h"
#include "log.h"
#include "mask.h"
#include "nproc.h"
#include "options.h"
#include "own_proc.h"
#include "port.h"
#include "print.h"
#include "privileges.h"
#include "ranks.h"
#include "seed.h"
#include "step.h"
#include "supervise.h"
#include "terminal.h"
#include "to/command.h"
#include "to/nodes.h"

extern char **environ;

/*
 * All state of a run. Nothing of it is ever freed, and all of it starts as
 * zeroes: an initialiser would make the binary 80 KiB larger.
 */
static struct {
	struct ri_arena arena;
	struct ri_findings findings;
	struct ri_options options;
	struct ri_privileges privileges;
	struct ri_env env;
	struct ri_command command;
	struct ri_topology topology;	/* of the first rank that is started here */
	struct ri_rank_source source;
	struct ri_rank_view first;
	struct ri_rank *ranks;
	struct ri_children children;
	struct ri_host host;
	struct ri_error err;
} run;

/* The exit status of an error, rewritten if --exit-map says so. */
static int fail(void)
{
	ri_log_error(&run.err);
	return run.options.exit_map.to[ri_code_status(run.err.code)];
}

static enum ri_log_color choose_color(const struct ri_options *options)
{
	const char *no_color = ri_env_get(&run.env, "NO_COLOR");	/* no-color.org */

	if (options->color != RI_AUTO)
		return options->color == RI_YES ? RI_LOG_COLOR : RI_LOG_PLAIN;
	return no_color == NULL || no_color[0] == '\0' ? RI_LOG_COLOR_ON_TERMINAL : RI_LOG_PLAIN;
}

static int read_options(char **argv)
{
	const struct ri_options *options = &run.options;
	int status;

	/* an error may come before the options are read */
	ri_exit_map_init(&run.options.exit_map);
	if (!ri_mask_is_set()) {
		ri_fail(&run.err, RI_CODE_SIGNALS_REFUSED, "rt_sigprocmask",
			"the kernel refused to block signals: %s", strerror(errno));
		return ri_fail_hint(&run.err, "allow this call in the seccomp profile");
	}
	if (ri_env_init(&run.env, environ, &run.arena, &run.err) < 0)
		return -1;
	status = ri_options_read(&run.options, argv, &run.env, &run.findings, &run.err);
	ri_log_init(options->quiet, options->verbose, choose_color(options));
	return status;
}

/*
 * Does /proc show our own container, and is there something to ask it? A
 * recorded one counts as recorded. What process 1 was given it knows itself.
 */
static bool may_ask_proc(unsigned wants)
{
	pid_t self;

	if (run.options.root.value != NULL)
		return true;
	self = getpid();
	return (self != 1 || (wants & RI_WANTS_PLACE) != 0) && ri_proc_is_ours(self);
}

/* Opens nothing where no file will be read. wants: bits of enum ri_want. */
static int open_root(unsigned wants)
{
	const char *root = run.options.root.value;
	bool must = root != NULL || run.options.user.text != NULL ||
		run.options.wishes.hostfile.value != NULL || ri_nproc_wants_files(&run.options);

	run.host = (struct ri_host){ .root = -1, .live = root == NULL };
	if (!must && (wants & (RI_WANTS_FILES | RI_WANTS_PROC)) == 0)
		return 0;
	run.host.root = open(root == NULL ? "/" : root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (run.host.root >= 0 || !must)
		return 0;
	ri_fail(&run.err, RI_CODE_FILE_UNREADABLE, root == NULL ? "/" : root,
		"cannot be opened: %s", strerror(errno));
	return ri_fail_errno(&run.err, errno);
}

/* Options that go together only where no ranks are started here. */
static int check_fan_out(const char *subject)
{
	if (ri_wishes_refuse_all(&run.options.wishes)) {
		ri_fail(&run.err, RI_CODE_OPTION_CONFLICT, subject,
			"with %s=none no rank would be told which one it is",
			run.options.wishes.source.subject);
		return ri_fail_hint(&run.err, "leave one of them out");
	}
	if (run.options.supervise == RI_NO && run.source.context.fan_out > 1) {
		ri_fail(&run.err, RI_CODE_OPTION_CONFLICT, subject,
			"several ranks need a parent, so rankinit cannot become one of them");
		return ri_fail_hint(&run.err, "leave --supervise=never out");
	}
	return 0;
}

/* Does the command run in ranks that are started here? */
static int count_ranks(void)
{
	struct ri_wishes *wishes = &run.options.wishes;

	if (run.command.mode == RI_MODE_NONE || wishes->nproc.value == NULL)
		return 0;
	if (ri_nproc_count(&run.options, &run.env, &run.host, &run.err) < 0)
		return -1;
	if (run.command.mode != RI_MODE_PROCESS)
		return 0;
	run.source.context.fan_out = wishes->nproc_count;
	return check_fan_out(wishes->nproc.subject);
}

/* In a launcher's container even a script starts the whole job. */
static void settle_role(void)
{
	const struct ri_fact *role = &run.topology.facts[RI_FACT_ROLE];

	if (run.topology.identity != NULL || role->state != RI_STATE_KNOWN ||
		strcmp(role->text, RI_ROLE_LAUNCHER) != 0 || run.options.launch != RI_MODE_AUTO)
		return;
	run.command.mode = RI_MODE_NONE;
	run.source.context.fan_out = 0;
}

/* Who are we? wants: bits of enum ri_want. */
static int read_topology(unsigned wants)
{
	struct ri_topology *topology = &run.topology;
	struct ri_context *context = &run.source.context;

	/* Who starts the whole job is no part of it: not even a contradiction matters. */
	if (run.command.mode == RI_MODE_NONE)
		return 0;
	if (ri_hosts_prepare(&run.options.wishes, context, wants, &run.err) < 0 ||
		ri_topology_read(topology, context, &run.err) < 0)
		return -1;
	settle_role();
	if (ri_nodes_settle(topology, context, &run.err) < 0 ||
		ri_nodes_fan_out(topology, context, &run.err) < 0)
		return -1;
	if (context->fan_out > 0 && run.options.root.value == NULL)
		ri_port_settle(topology, &run.findings);
	return 0;
}

/* What the sources could use of this machine, and can have: bits of enum ri_want. */
static unsigned find_wants(void)
{
	struct ri_context *context = &run.source.context;
	unsigned wants;

	ri_command_read(&run.command, run.options.command, run.options.launch);
	wants = ri_sources_want(&run.env, &run.options.wishes);
	if ((wants & RI_WANTS_PROC) != 0)
		context->proc_is_ours = may_ask_proc(wants);
	return context->proc_is_ours ? wants : wants & ~(unsigned)RI_WANTS_PROC;
}

/* Who are we, and what does that make of the environment? */
static int make_view(void)
{
	unsigned wants = 0;

	run.source = (struct ri_rank_source){
		.topology = &run.topology,
		.options = &run.options,
		.context = {
			.env = &run.env, .wishes = &run.options.wishes, .arena = &run.arena,
			.findings = &run.findings, .command = &run.command,
		},
	};
	if (!run.options.disabled)
		wants = find_wants();
	if (open_root(wants) < 0)
		return -1;
	if (!run.options.disabled) {
		if (run.host.root >= 0)
			run.source.context.host = &run.host;
		if (count_ranks() < 0 || read_topology(wants) < 0)
			return -1;
	}
	if (ri_rank_source_complete(&run.source, &run.err) < 0)
		return -1;
	return ri_rank_view(&run.first, &run.source, 0, &run.err);
}

/*
 * Become the command only where a process manager owns this one rank, and
 * nothing asks for a parent.
 */
static bool becomes_command(pid_t self)
{
	const struct ri_options *options = &run.options;

	if (options->supervise != RI_AUTO)
		return options->supervise == RI_NO;
	return ri_source_manages(run.topology.identity) && self != 1 && options->grace_ms == 0 &&
		!options->maps_exits && !options->maps_signals && !options->signal_group &&
		options->subreaper != RI_YES && run.source.context.fan_out == 0;
}

/* All that takes memory, and what ranks beside the first one read. */
static int prepare(struct ri_launch *launch)
{
	size_t count = run.source.context.fan_out;

	if (ri_children_init(&run.children, count == 0 ? 1 : count, &run.arena, &run.err) < 0 ||
		ri_launch_prepare(launch, &run.arena, &run.err) < 0)
		return -1;
	if (count == 0)
		return 0;
	run.children.are_ranks = true;
	ri_topology_get(&run.topology, RI_FACT_RANK, &run.children.first_rank);
	if (count == 1)
		return 0;
	launch->input = ri_ranks_open_input(&run.err);
	return launch->input < 0 ||
			ri_ranks_prepare(&run.ranks, &run.source, launch, &run.err) < 0
		? -1
		: 0;
}

static int start(void)
{
	struct ri_launch launch = {
		.self = getpid(),
		.argv = run.first.argv,
		.terminal = -1,
		.input = -1,
		.privileges = &run.privileges,
	};
	struct ri_terminal terminal;

	launch.envp = ri_env_apply(&run.env, &run.first.edits, &run.arena, &run.err);
	if (launch.envp == NULL || prepare(&launch) < 0)
		return fail();
	ri_mask_default_chld();
	if (becomes_command(launch.self)) {
		ri_launch_replace(&launch, &run.err);
		return fail();
	}
	if (ri_supervise_adopt(launch.self, run.options.subreaper, &run.err) < 0)
		return fail();
	ri_terminal_find(&terminal, launch.self);
	if (run.children.count > 1)
		ri_terminal_share(&terminal);
	launch.terminal = terminal.is_front ? terminal.fd : -1;
	launch.told_by_step = ri_step_tells_all(&run.env);
	launch.new_group = !terminal.shared && !launch.told_by_step;
	launch.die_with_us = launch.self != 1;
	if (ri_ranks_spawn(run.ranks, &launch, &run.children, &run.err) < 0) {
		ri_terminal_restore(&terminal);
		if (run.children.started == 0)
			return fail();
		ri_log_error(&run.err);
		ri_log(RI_LEVEL_ALWAYS, "rank %llu was not started; the %zu before it are stopped",
			(unsigned long long)(run.children.first_rank + run.children.started),
			run.children.started);
		run.children.refused = ri_code_status(run.err.code);
	}
	return run.options.exit_map.to[ri_supervise_run(&run.children, &launch, &run.options,
		&terminal)];
}

static int launch_command(void)
{
	if (run.options.command == NULL) {
		ri_fail(&run.err, RI_CODE_COMMAND_MISSING, "COMMAND", "there is no command to run");
		ri_fail_hint(&run.err, "usage: rankinit [OPTION]... [--] COMMAND [ARG]...; "
				       "see rankinit --help");
		return fail();
	}
	if (run.options.root.value != NULL) {
		ri_fail(&run.err, RI_CODE_OPTION_CONFLICT, run.options.root.subject,
			"a command cannot be launched on a recorded machine");
		ri_fail_hint(&run.err, "--root goes with --explain and --print-env");
		return fail();
	}
	if (make_view() < 0)
		return fail();
	ri_log_findings(&run.findings);
	if (ri_privileges_prepare(&run.privileges, &run.options, &run.host, &run.arena,
		    &run.err) < 0)
		return fail();
	if (run.host.root >= 0)
		close(run.host.root);
	return start();
}

/*
 * --local-rank names the rank whose variables are printed, where several are
 * started here; it does not state a fact then. As part of a whole tuple it does.
 */
static int choose_rank(uint64_t *chosen)
{
	struct ri_stated *stated = &run.options.wishes.facts[RI_FACT_LOCAL_RANK];
	const char *subject = stated->subject;
	struct ri_range range = { 0, RI_MAX_LOCAL - 1 };

	*chosen = 0;
	if (run.options.wishes.nproc.value == NULL || stated->value == NULL ||
		run.options.wishes.facts[RI_FACT_RANK].value != NULL)
		return make_view();
	if (ri_number_read(stated->value, range, chosen, NULL) != RI_NUMBER_OK)
		*chosen = RI_MAX_LOCAL;
	stated->value = NULL;
	if (make_view() < 0)
		return -1;
	if (*chosen >= run.source.context.fan_out && run.source.context.fan_out > 0)
		return ri_fail(&run.err, RI_CODE_OPTION_VALUE, subject,
			"expected one of the ranks that are started here, 0 to %d",
			(int)run.source.context.fan_out - 1);
	return 0;
}

static int print_env(void)
{
	struct ri_rank_view view;
	uint64_t index;

	if (choose_rank(&index) < 0)
		return -1;
	ri_log_findings(&run.findings);
	if (ri_rank_view(&view, &run.source, run.source.context.fan_out > 0 ? index : 0,
		&run.err) < 0)
		return -1;
	return ri_print_env(run.options.action_value, &view.edits, &run.err);
}

static void describe_rank(struct ri_explained_rank *out, struct ri_topology *topology,
	const struct ri_rank_view *view)
{
	uint64_t value;

	*out = (struct ri_explained_rank){ .rank = -1, .local_rank = -1, .edits = &view->edits };
	if (ri_topology_get(topology, RI_FACT_RANK, &value))
		out->rank = (int64_t)value;
	if (ri_topology_get(topology, RI_FACT_LOCAL_RANK, &value))
		out->local_rank = (int64_t)value;
	out->argv = view->argv;
}

/* The ranks beside the first one. */
static int describe_others(struct ri_explained_rank *ranks, size_t count)
{
	struct ri_topology topology = run.topology;
	struct ri_rank_view *views = ri_arena_array(&run.arena, count, sizeof(*views));

	if (views == NULL)
		return ri_fail(&run.err, RI_CODE_MEMORY, "--explain", "no memory left for ranks");
	for (size_t i = 1; i < count; i++) {
		if (ri_rank_view(&views[i], &run.source, i, &run.err) < 0)
			return -1;
		ri_nodes_go_to(&topology, i);
		describe_rank(&ranks[i], &topology, &views[i]);
	}
	return 0;
}

static const char *find_off(void)
{
	if (run.options.disabled)
		return "RANKINIT_DISABLE is set: a plain init, nothing is read or set";
	if (ri_wishes_refuse_all(&run.options.wishes))
		return "--source=none: a plain init, nothing is read or set";
	/* in a launcher's container what was read says so */
	if (run.command.mode == RI_MODE_NONE && run.topology.source_count == 0)
		return "the command starts the whole job: nothing is read or set";
	return NULL;
}

/* What refuses a launch is shown as well as what it would do. */
static int explain(void)
{
	static struct ri_explained_rank ranks[RI_MAX_LOCAL];
	struct ri_explain explained = {
		.arena = &run.arena, .topology = &run.topology,
		.env = &run.env, .findings = &run.findings,
		.err = &run.err, .ranks = ranks, .rank_count = 1, .launch = "process",
	};
	size_t count;
	struct ri_error err = RI_ERROR_INIT;

	if (run.err.code != RI_CODE_NONE)
		explained.off = "the options are wrong, so nothing was read";
	else if (make_view() == 0)
		ri_privileges_prepare(&run.privileges, &run.options, &run.host, &run.arena,
			&run.err);
	if (run.first.argv == NULL)
		run.first.argv = run.options.command;
	describe_rank(&ranks[0], &run.topology, &run.first);
	count = run.source.context.fan_out;
	if (run.err.code == RI_CODE_NONE && count > 1 && describe_others(ranks, count) == 0)
		explained.rank_count = count;
	if (run.command.mode != RI_MODE_AUTO)
		explained.launch = ri_mode_name(run.command.mode);
	if (explained.off == NULL)
		explained.off = find_off();
	if (ri_print_explain(run.options.action_value, &explained, choose_color(&run.options),
		&err) < 0) {
		run.err = err;
		return fail();
	}
	return run.options.exit_map.to[ri_code_status(run.err.code)];
}

int main(int argc, char **argv)
{
	int status = -1;

	(void)argc;
	ri_seed_json();
	if (read_options(argv) < 0)
		return run.options.action == RI_ACTION_EXPLAIN ? explain() : fail();
	switch (run.options.action) {
	case RI_ACTION_LAUNCH:
		return launch_command();
	case RI_ACTION_EXPLAIN:
		return explain();
	case RI_ACTION_HELP:
		status = ri_print_help(&run.err);
		break;
	case RI_ACTION_VERSION:
		status = ri_print_version(&run.err);
		break;
	case RI_ACTION_LIST:
		status = ri_print_list(run.options.action_value, &run.err);
		break;
	case RI_ACTION_PRINT_ENV:
		status = print_env();
		break;
	}
	return status < 0 ? fail() : 0;
}
