/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rankinit, top to bottom: read the options, find out who we are, write it
 * the way frameworks want it, start the command, watch over it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/env.h"
#include "from/from.h"
#include "hosts.h"
#include "launch.h"
#include "log.h"
#include "mask.h"
#include "options.h"
#include "own_proc.h"
#include "print.h"
#include "privileges.h"
#include "supervise.h"
#include "terminal.h"
#include "to/command.h"
#include "to/expand.h"
#include "to/nodes.h"
#include "to/to.h"

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
	struct ri_env_edits edits;
	struct ri_command command;
	char *const *argv;	/* of the command, expanded */
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

static int set_variable(const char *name, const char *value)
{
	const struct ri_env_edit edit = { .name = name, .value = value };

	return ri_env_edits_add(&run.edits, edit, &run.arena, &run.err);
}

/*
 * Can process 1 of our own container be asked, and does /proc show it? A
 * recorded one counts as recorded.
 */
static bool may_ask_process_1(void)
{
	pid_t self;

	if (run.options.root.value != NULL)
		return true;
	self = getpid();
	return self != 1 && ri_proc_is_ours(self);
}

/* Opens nothing where no file will be read. wants: bits of enum ri_want. */
static int open_root(unsigned wants)
{
	const char *root = run.options.root.value;
	bool must = root != NULL || run.options.user.text != NULL ||
		run.options.wishes.hostfile.value != NULL;

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

/* What the command shall find, in its environment and in its words. */
static int write_topology(const struct ri_topology *topology, const struct ri_context *context)
{
	struct ri_env_edits variables = { .count = 0 };
	const char *mark;

	if (ri_variables_render(&variables, topology, context, &run.err) < 0 ||
		ri_variables_reduce(&run.edits, &variables, context, &run.err) < 0)
		return -1;
	if (topology->identity == NULL)
		return 0;
	if (run.argv != NULL)
		run.argv = ri_expand_words(run.argv, run.options.expand, &variables, &run.arena);
	mark = ri_arena_format(&run.arena, "%s:%s", RI_VERSION,
		ri_mode_name(run.command.mode));
	if (mark == NULL || (run.argv == NULL && run.options.command != NULL))
		return ri_fail(&run.err, RI_CODE_MEMORY, "COMMAND", "no memory left for its words");
	return set_variable("RANKINIT", mark);
}

static int read_topology(struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_fact *role = &topology->facts[RI_FACT_ROLE];

	if (ri_topology_read(topology, context, &run.err) < 0)
		return -1;
	/* In a launcher's container even a script starts the whole job. */
	if (topology->identity == NULL && role->state == RI_STATE_KNOWN &&
		strcmp(role->text, RI_ROLE_LAUNCHER) == 0 && run.options.launch == RI_MODE_AUTO)
		run.command.mode = RI_MODE_NONE;
	return ri_nodes_settle(topology, context, &run.err);
}

/* Who are we, and what does that make of the environment? */
static int make_edits(struct ri_topology *topology)
{
	struct ri_context context = {
		.env = &run.env, .wishes = &run.options.wishes, .arena = &run.arena,
		.findings = &run.findings, .command = &run.command,
	};
	unsigned wants = 0;

	/* the kernel's random bytes, which need not be aligned */
	memcpy(&context.seed, (const void *)getauxval(AT_RANDOM), sizeof(context.seed));
	run.argv = run.options.command;
	if (!run.options.disabled) {
		ri_command_read(&run.command, run.argv, run.options.launch);
		wants = ri_sources_want(&run.env, &run.options.wishes);
		if ((wants & RI_WANTS_PROC) != 0)
			context.proc_is_ours = may_ask_process_1();
		if (!context.proc_is_ours)
			wants &= ~(unsigned)RI_WANTS_PROC;
	}
	if (open_root(wants) < 0)
		return -1;
	if (run.options.disabled)
		return 0;
	if (run.host.root >= 0)
		context.host = &run.host;
	/* Who starts the whole job is no part of it: not even a contradiction matters. */
	if (run.command.mode != RI_MODE_NONE &&
		(ri_hosts_prepare(&run.options.wishes, &context, wants, &run.err) < 0 ||
			read_topology(topology, &context) < 0 ||
			write_topology(topology, &context) < 0))
		return -1;
	return ri_options_scrub(&run.options, &run.env, &run.edits, &run.arena, &run.err);
}

/*
 * Open MPI 4 kills its ranks one second after it forwarded a SIGTERM, and
 * waits this parameter twice (orte/mca/odls/base): with a deadline of our
 * own, ranks get what is left of it.
 */
static int tell_launchers(void)
{
	static const char name[] = "OMPI_MCA_odls_base_sigkill_timeout";
	uint64_t seconds = run.options.grace_ms / 1000;
	const char *value;

	if (seconds == 0 || run.options.disabled || ri_env_get(&run.env, name) != NULL)
		return 0;
	value = ri_arena_format(&run.arena, "%d", seconds < 4 ? 1 : (int)(seconds - 2) / 2);
	if (value == NULL)
		return ri_fail(&run.err, RI_CODE_MEMORY, name, "no memory left to set it");
	return set_variable(name, value);
}

/*
 * Become the command only where a process manager owns this one rank, and
 * nothing asks for a parent.
 */
static bool becomes_command(const struct ri_topology *topology, pid_t self)
{
	const struct ri_options *options = &run.options;

	if (options->supervise != RI_AUTO)
		return options->supervise == RI_NO;
	return ri_source_manages(topology->identity) && self != 1 && options->grace_ms == 0 &&
		!options->maps_exits && !options->maps_signals && !options->signal_group &&
		options->subreaper != RI_YES;
}

static int start(const struct ri_topology *topology)
{
	struct ri_launch launch = {
		.self = getpid(),
		.argv = run.argv,
		.terminal = -1,
		.privileges = &run.privileges,
	};
	struct ri_terminal terminal;
	pid_t pid;

	launch.envp = ri_env_apply(&run.env, &run.edits, &run.arena, &run.err);
	if (launch.envp == NULL)
		return fail();
	ri_mask_default_chld();
	if (becomes_command(topology, launch.self)) {
		ri_launch_replace(&launch, &run.arena, &run.err);
		return fail();
	}
	if (ri_supervise_adopt(launch.self, run.options.subreaper, &run.err) < 0)
		return fail();
	ri_terminal_find(&terminal, launch.self);
	launch.terminal = terminal.is_front ? terminal.fd : -1;
	launch.new_group = !terminal.shared;
	launch.die_with_us = launch.self != 1;
	pid = ri_launch_spawn(&launch, &run.arena, &run.err);
	if (pid < 0) {
		ri_terminal_restore(&terminal);
		return fail();
	}
	return run.options.exit_map.to[ri_supervise_run(pid, &launch, &run.options, &terminal)];
}

static int launch_command(void)
{
	static struct ri_topology topology;

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
	if (make_edits(&topology) < 0 || tell_launchers() < 0)
		return fail();
	ri_log_findings(&run.findings);
	if (ri_privileges_prepare(&run.privileges, &run.options, &run.host, &run.arena,
		    &run.err) < 0)
		return fail();
	if (run.host.root >= 0)
		close(run.host.root);
	return start(&topology);
}

static int print_env(void)
{
	static struct ri_topology topology;

	if (make_edits(&topology) < 0 || tell_launchers() < 0)
		return -1;
	ri_log_findings(&run.findings);
	return ri_print_env(run.options.action_value, &run.edits, &run.err);
}

/* What refuses a launch is shown as well as what it would do. */
static int explain(void)
{
	static struct ri_topology topology;
	struct ri_explained_rank rank = { .rank = -1, .local_rank = -1, .edits = &run.edits };
	struct ri_explain explained = {
		.arena = &run.arena, .topology = &topology,
		.env = &run.env, .findings = &run.findings,
		.err = &run.err, .ranks = &rank, .rank_count = 1, .launch = "process",
	};
	struct ri_error err = RI_ERROR_INIT;
	uint64_t value;

	if (run.err.code != RI_CODE_NONE)
		explained.off = "the options are wrong, so nothing was read";
	else if (make_edits(&topology) == 0 && tell_launchers() == 0)
		ri_privileges_prepare(&run.privileges, &run.options, &run.host, &run.arena,
			&run.err);
	if (ri_topology_get(&topology, RI_FACT_RANK, &value))
		rank.rank = (int64_t)value;
	if (ri_topology_get(&topology, RI_FACT_LOCAL_RANK, &value))
		rank.local_rank = (int64_t)value;
	rank.argv = run.argv == NULL ? run.options.command : run.argv;
	if (run.command.mode != RI_MODE_AUTO)
		explained.launch = ri_mode_name(run.command.mode);
	if (explained.off == NULL && run.options.disabled)
		explained.off = "RANKINIT_DISABLE is set: a plain init, nothing is read or set";
	else if (explained.off == NULL && ri_wishes_refuse_all(&run.options.wishes))
		explained.off = "--source=none: a plain init, nothing is read or set";
	else if (explained.off == NULL && run.command.mode == RI_MODE_NONE &&
		topology.source_count == 0)
		explained.off = "the command starts the whole job: nothing is read or set";
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
