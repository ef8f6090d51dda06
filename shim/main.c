/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rankinit, top to bottom: read the options, find out who we are, write it
 * the way frameworks want it, start the command, watch over it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/env.h"
#include "from/from.h"
#include "hosts.h"
#include "launch.h"
#include "log.h"
#include "mask.h"
#include "options.h"
#include "output.h"
#include "own_proc.h"
#include "print.h"
#include "privileges.h"
#include "report.h"
#include "state.h"
#include "supervise.h"
#include "terminal.h"
#include "torch_file.h"
#include "wait_master.h"
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
	struct ri_output output;
	struct ri_torch_files torch_files;
	struct ri_supervised supervised;
	struct timespec started;
	struct ri_error err;
} run;

/* The exit status of an error, rewritten if --exit-map says so. */
static int fail(void)
{
	int status = run.options.exit_map.to[ri_code_status(run.err.code)];

	ri_log_error(&run.err);
	ri_torch_files_remove(&run.torch_files);
	ri_state_end(status);
	return status;
}

/* A stop came before there was a command. */
static int leave(int status)
{
	status = run.options.exit_map.to[status];
	ri_torch_files_remove(&run.torch_files);
	ri_state_end(status);
	return status;
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
 * Is there something to ask process 1 of our own container, and does /proc
 * show it?
 */
static bool may_ask_process_1(void)
{
	pid_t self;

	if (!ri_sources_want_files(&run.env))
		return false;
	self = getpid();
	return self != 1 && ri_proc_is_ours(self);
}

/* Opens nothing where no file will be read. Process 1 is asked where that can be. */
static int open_root(bool asks_process_1)
{
	const char *root = run.options.root.value;
	bool must = root != NULL || run.options.user.text != NULL ||
		run.options.wishes.hostfile.value != NULL;

	run.host = (struct ri_host){ .root = -1, .live = root == NULL };
	if (!must && !asks_process_1)
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

/* Who are we, and what does that make of the environment? */
static int make_edits(struct ri_topology *topology)
{
	struct ri_context context = {
		.env = &run.env, .wishes = &run.options.wishes, .arena = &run.arena,
		.findings = &run.findings, .command = &run.command,
	};
	bool recorded = run.options.root.value != NULL;
	bool asks = !recorded && !run.options.disabled && may_ask_process_1();

	run.argv = run.options.command;
	if (open_root(asks) < 0)
		return -1;
	if (run.options.disabled)
		return 0;
	if (run.host.root >= 0 && (asks || recorded))
		context.host = &run.host;
	ri_command_read(&run.command, run.argv, run.options.launch);
	/* Who starts the whole job is no part of it: not even a contradiction matters. */
	if (run.command.mode != RI_MODE_NONE &&
		(ri_hosts_prepare(&run.options.wishes, &run.host, &run.arena, &run.err) < 0 ||
			ri_topology_read(topology, &context, &run.err) < 0 ||
			ri_nodes_settle(topology, &context, &run.err) < 0 ||
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

static bool wants_telling(void)
{
	return run.options.report.text != NULL || run.options.state.text != NULL ||
		run.options.wait_master_ms > 0;
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
		!ri_output_is_wanted(options) && !options->maps_exits && !options->maps_signals &&
		!options->signal_group && options->subreaper != RI_YES && !wants_telling();
}

/* The one rank that starts here, or a command that is none. */
static int prepare_output(const struct ri_topology *topology)
{
	struct ri_output_rank rank = { .rank = 0 };
	struct ri_output_wishes wishes = {
		.options = &run.options, .ranks = &rank, .count = 1, .node = -1,
		.keeps_stderr = run.options.report.text != NULL,
	};
	uint64_t node;

	ri_topology_get(topology, RI_FACT_RANK, &rank.rank);
	ri_topology_get(topology, RI_FACT_LOCAL_RANK, &rank.local_rank);
	if (ri_topology_get(topology, RI_FACT_NODE_RANK, &node))
		wishes.node = (int64_t)node;
	return ri_output_prepare(&run.output, &wishes, &run.arena, &run.err);
}

/* Where torch says why it failed, for the report. */
static int name_torch_file(void)
{
	const char *path;

	ri_torch_files_make(&run.torch_files, &run.env, 1, &run.arena);
	if (run.privileges.change_user)
		ri_torch_files_give(&run.torch_files, run.privileges.account.uid,
			run.privileges.account.gid);
	path = ri_torch_files_path(&run.torch_files, 0, &run.arena);
	return path == NULL ? 0 : set_variable(RI_TORCH_FILE, path);
}

static int check_telling(void)
{
	const struct ri_options *options = &run.options;
	const struct ri_word *word = options->report.text != NULL ? &options->report
								  : &options->state;

	if (word->text == NULL || options->supervise != RI_NO)
		return 0;
	ri_fail(&run.err, RI_CODE_OPTION_CONFLICT, word->subject,
		"with --supervise=never nobody is left to write it");
	return ri_fail_hint(&run.err, "leave one of them out");
}

/* What goes out besides the exit status: its places are looked at now. */
static int prepare_telling(const struct ri_topology *topology)
{
	const struct ri_report_plan plan = {
		.options = &run.options, .topology = topology, .ranks = 1,
	};

	if (check_telling() < 0 || ri_report_prepare(&plan, &run.arena, &run.err) < 0 ||
		ri_state_begin(&run.options, topology, &run.arena, &run.err) < 0)
		return -1;
	return run.options.report.text == NULL || run.options.disabled ? 0 : name_torch_file();
}

/* What is left of its output. */
static void add_output(struct ri_rank_outcome *rank)
{
	rank->tail = ri_output_tail(&run.output, 0, &rank->tail_length);
	rank->tail_cut = rank->tail_length == RI_OUTPUT_TAIL;
	rank->traceback_at = ri_output_traceback(&run.output, 0);
	rank->log = ri_output_path(&run.output, 0);
}

/* What happened, from the inside. The status is the one that we end with. */
static int tell(const struct ri_topology *topology, int status)
{
	struct ri_rank_outcome *rank = &run.supervised.rank;
	struct ri_outcome outcome = {
		.topology = topology, .command = run.argv[0], .ranks = rank, .count = 1,
		.launch = ri_mode_name(run.command.mode == RI_MODE_AUTO ? RI_MODE_PROCESS
									: run.command.mode),
		.exit_status = status, .stop_signal = run.supervised.stop_signal,
		.stop_sender = run.supervised.stop_sender, .started = run.started,
	};
	struct utsname names;
	struct ri_span file;

	rank->started = run.started;
	ri_topology_get(topology, RI_FACT_RANK, &rank->rank);
	ri_topology_get(topology, RI_FACT_LOCAL_RANK, &rank->local_rank);
	if (ri_torch_files_read(&run.torch_files, 0, &file)) {
		rank->torch_error = file.at;
		rank->torch_error_length = file.length;
	}
	add_output(rank);
	if ((status != 0 || run.options.report.text != NULL) && uname(&names) == 0)
		outcome.host = names.nodename;
	clock_gettime(CLOCK_REALTIME, &outcome.ended);
	outcome.first = ri_outcome_find_first(&outcome);
	ri_report_tell(&outcome);
	ri_torch_files_remove(&run.torch_files);
	ri_state_end(status);
	return status;
}

/* There is a report of a command that could not be started as well. */
static int tell_refusal(const struct ri_topology *topology)
{
	struct ri_rank_outcome *rank = &run.supervised.rank;

	ri_log_error(&run.err);
	rank->end = RI_END_EXEC_FAILED;
	rank->exec_step = run.err.code == RI_CODE_SPAWN_REFUSED ? "fork" : "exec";
	rank->exec_errno = run.err.sys_errno;
	clock_gettime(CLOCK_REALTIME, &rank->ended);
	return tell(topology, run.options.exit_map.to[ri_code_status(run.err.code)]);
}

static int start(const struct ri_topology *topology)
{
	struct ri_launch launch = {
		.self = getpid(),
		.argv = run.argv,
		.terminal = -1,
		.outputs = { -1, -1 },
		.privileges = &run.privileges,
	};
	struct ri_terminal terminal;
	struct ri_supervise setting = {
		.launch = &launch, .options = &run.options, .terminal = &terminal,
		.output = &run.output, .result = &run.supervised,
	};
	int status;
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
	if (prepare_output(topology) < 0)
		return fail();
	ri_terminal_find(&terminal, launch.self);
	launch.terminal = terminal.is_front ? terminal.fd : -1;
	launch.new_group = !terminal.shared;
	launch.die_with_us = launch.self != 1;
	ri_output_give(&run.output, 0, &launch);
	clock_gettime(CLOCK_REALTIME, &run.started);
	pid = ri_launch_spawn(&launch, &run.arena, &run.err);
	if (pid < 0) {
		ri_terminal_restore(&terminal);
		return tell_refusal(topology);
	}
	ri_output_given(&run.output, 0);
	ri_state_run(1);
	status = ri_supervise_run(pid, &setting);
	return tell(topology, run.options.exit_map.to[status]);
}

static int launch_command(void)
{
	static struct ri_topology topology;
	int status;

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
	if (ri_output_check(&run.options, &run.err) < 0 || make_edits(&topology) < 0 ||
		tell_launchers() < 0)
		return fail();
	ri_log_findings(&run.findings);
	if (ri_privileges_prepare(&run.privileges, &run.options, &run.host, &run.arena,
		    &run.err) < 0)
		return fail();
	if (run.host.root >= 0)
		close(run.host.root);
	if (prepare_telling(&topology) < 0)
		return fail();
	status = ri_master_wait(&run.options, &topology, &run.err);
	if (status < 0)
		return fail();
	if (status > 0)
		return leave(status);
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
		.topology = &topology,
		.env = &run.env, .findings = &run.findings,
		.err = &run.err, .ranks = &rank, .rank_count = 1, .launch = "process",
	};
	struct ri_error err = RI_ERROR_INIT;
	uint64_t value;

	if (run.err.code != RI_CODE_NONE)
		explained.off = "the options are wrong, so nothing was read";
	else if (make_edits(&topology) == 0 && tell_launchers() == 0 && check_telling() == 0 &&
		ri_output_check(&run.options, &run.err) == 0)
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
	else if (explained.off == NULL && run.command.mode == RI_MODE_NONE)
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
	case RI_ACTION_STATUS:
		status = ri_state_print(&run.options, &run.arena, &run.err);
		return status < 0 ? fail() : status;
	}
	return status < 0 ? fail() : 0;
}
