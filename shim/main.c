/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rankinit, top to bottom: read the options, find out who we are, write it
 * the way frameworks want it, start the command, watch over it, say what
 * happened.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "hang/look.h"
#include "launch/master.h"
#include "redact/redact.h"
#include "say/json_memory.h"
#include "say/print.h"
#include "say/state_file.h"
#include "run.h"

extern char **environ;

static int read_options(struct ri_run *run, char **argv)
{
	const struct ri_options *options = &run->found.options;
	int status;

	/* an error may come before the options are read */
	ri_signal_map_init(&run->found.options.exit_map);
	if (!ri_mask_is_set()) {
		ri_fail(&run->err, RI_CODE_SIGNALS_REFUSED, "rt_sigprocmask",
			"the kernel refused to block signals: %s", strerror(errno));
		return ri_fail_hint(&run->err, "allow this call in the seccomp profile");
	}
	if (ri_env_init(&run->found.env, environ, &run->arena, &run->err) < 0)
		return -1;
	run->argv = argv;
	if (ri_env_get(&run->found.env, RI_CARRIED_VARIABLE) != NULL && ri_attempt_take(run) < 0)
		return -1;
	status = ri_options_read(&run->found.options, argv, &run->found.env, &run->findings,
		&run->err);
	ri_log_init(options->quiet, options->verbose, ri_found_color(&run->found));
	/* of the attempt before this one */
	if (run->found.carried != NULL && run->found.carried->last_line[0] != '\0')
		ri_log(RI_LEVEL_ALWAYS, "%s", run->found.carried->last_line);
	return status;
}

/*
 * tini and dumb-init read nothing of the environment, and so refuse no launch for it. Where
 * rankinit is called by their name, it warns of what would refuse the launch, and goes on as if
 * disabled; but not where a RANKINIT_ variable or --require asked for it.
 */
static int find_less(struct ri_run *run)
{
	static const char own[] = "RANKINIT_";

	if (run->found.options.peer == RI_PEER_NONE || run->found.options.disabled ||
		ri_apart_stop() != 0 ||
		strncmp(run->err.subject, own, strlen(own)) == 0 ||
		run->found.options.checks.require.value != NULL)
		return -1;
	ri_log(RI_LEVEL_WARNING, "%s: %s; the command runs without rankinit's variables, because "
		"rankinit is called as %s [%s]", run->err.subject, run->err.text,
		run->found.options.called, ri_code_name(run->err.code));
	run->err = (struct ri_error)RI_ERROR_INIT;
	run->found.command = (struct ri_command){ .mode = RI_MODE_AUTO };
	run->found.topology = (struct ri_topology){ .identity = NULL };
	run->findings.count = 0;
	run->found.options.disabled = true;
	return ri_found_fill(&run->found, &run->arena, &run->findings, &run->err);
}

static int miss_command(struct ri_run *run)
{
	const struct ri_given *taker = run->found.options.took_last;
	char shown[64];

	ri_fail(&run->err, RI_CODE_COMMAND_MISSING, "COMMAND", "no command was given");
	if (taker != NULL) {
		/* such as "--report true" */
		ri_text_copy(shown, sizeof(shown), taker->value);
		ri_redact_word_in_place(shown, sizeof(shown));
		ri_fail_hint(&run->err, "%s took %s as its value; write the command behind it, or "
			"see %s --help", taker->subject,
			RI_QUOTED(shown), run->found.options.called);
	}
	ri_fail_hint(&run->err, "usage: %s [OPTION]... [--] COMMAND [ARG]...; see %s %s",
		run->found.options.called, run->found.options.called,
		run->found.options.peer == RI_PEER_NONE ? "--help" : "-h");
	return ri_run_fail(run);
}

/* As one of its job's, for the link and the roll call. Without a link no name is asked for. */
static int join(struct ri_run *run)
{
	const struct ri_options *options = &run->found.options;

	run->started.job = (struct ri_link_job){
		.options = options, .topology = &run->found.topology,
		.context = &run->found.context,
		.host = options->link == RI_LINK_MODE_NO ? NULL : ri_run_host(run),
		.children = &run->started.children, .stop = &run->started.supervised.stop,
		.interrupted = &run->started.supervised.interrupted,
		.ordered = &run->started.supervised.ordered,
		.before = run->found.carried,
	};
	return ri_link_join(&run->started.job, &run->err);
}

/* When the job starts again the master is one of those that wait until all nodes can. */
static int wait_and_start(struct ri_run *run)
{
	bool again = run->found.carried != NULL;
	siginfo_t info;
	int status;

	if (again && ri_link_permit(&run->started.job, &run->err) < 0)
		return ri_run_stay(run);
	status = ri_master_wait(&run->found.options, &run->found.topology, &run->err);
	if (status < 0)
		return ri_run_fail(run);
	if (status > 0)
		return ri_run_stopped(run, status - 128);
	if (!again && ri_link_permit(&run->started.job, &run->err) < 0)
		return ri_run_fail(run);
	/* a command may catch a stop, but the job was over once, and is to end */
	status = again ? ri_mask_wait_for(ri_mask_stops(), &info, 0) : 0;
	return status != 0 ? ri_run_stopped(run, status) : ri_run_start(run);
}

static int launch_command(struct ri_run *run)
{
	int status;

	if (run->found.options.command == NULL)
		return miss_command(run);
	if (run->found.options.disabled)
		ri_log(RI_LEVEL_WARNING, "RANKINIT_DISABLE: rankinit is a plain init: it sets no "
			"variables, checks nothing and ignores all other RANKINIT_ variables; "
			"unset it to change that [%s]", ri_code_name(RI_CODE_OPTION_DISABLED));
	if (run->found.options.given.root.value != NULL) {
		ri_fail(&run->err, RI_CODE_OPTION_CONFLICT, run->found.options.given.root.subject,
			"a command cannot be launched on a recorded machine");
		ri_fail_hint(&run->err, "use --root with --explain, --print-env or --check");
		return ri_run_fail(run);
	}
	if (ri_found_fill(&run->found, &run->arena, &run->findings, &run->err) < 0 &&
		find_less(run) < 0)
		return ri_run_fail(run);
	ri_log_findings(&run->findings);
	if ((run->found.options.restarts > 0 && ri_attempt_prepare(&run->found, &run->err) < 0) ||
		join(run) < 0 ||
		ri_privileges_prepare(&run->started.privileges, &run->found.options,
			&run->found.host, &run->arena, &run->err) < 0)
		return ri_run_fail(run);
	if (ri_run_prepare_telling(run) < 0)
		return ri_run_fail(run);
	status = ri_run_preflight(run);
	if (status != 0)
		return status < 0 ? ri_run_refuse(run) : ri_run_stopped(run, status - 128);
	if (run->found.host.root >= 0)
		close(run->found.host.root);
	return wait_and_start(run);
}

static int print_state(void *argument)
{
	struct ri_run *run = argument;

	return ri_state_print(&run->found.options, &run->arena, &run->err);
}

static int answer(struct ri_run *run)
{
	switch (run->found.options.action) {
	case RI_ACTION_HELP:
		return ri_print_help(&run->found.options, &run->err);
	case RI_ACTION_VERSION:
		return ri_print_version(&run->found.options, &run->err);
	case RI_ACTION_LIST:
		return ri_print_list(run->found.options.action_value, &run->err);
	case RI_ACTION_PRINT_ENV:
		return ri_run_print_env(run);
	case RI_ACTION_AUTOPSY:
		ri_log_findings(&run->findings);
		return ri_autopsy_print(&run->found.options, &run->err);
	case RI_ACTION_STATUS:
		ri_log_findings(&run->findings);
		return ri_apart_or_fail(&(struct ri_apart){
			.work = print_state, .argument = run,
			.subject = "--status", .path = "--status",
		}, RI_CODE_FILE_UNREADABLE, &run->err);
	case RI_ACTION_BLAME:
		/* there is nothing to look after: a signal ends it as any other program */
		ri_mask_set(0);
		return ri_blame_print(&run->found.options, &run->err);
	case RI_ACTION_INSTALL:
		return ri_install(&run->found.options, &run->arena, &run->err);
	case RI_ACTION_LAUNCH:
	case RI_ACTION_EXPLAIN:
	case RI_ACTION_CHECK:
		break;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct ri_run run;
	const struct ri_options *options = &run.found.options;
	enum ri_action action;
	bool reads;
	int status;

	(void)argc;
	ri_json_seed();
	reads = read_options(&run, argv) == 0;
	action = options->action;
	/* a job, or an answer about one */
	if (reads && options->given.simulate.value != NULL && !options->disabled &&
		(action == RI_ACTION_LAUNCH || action == RI_ACTION_EXPLAIN ||
		action == RI_ACTION_PRINT_ENV || action == RI_ACTION_CHECK))
		return ri_run_simulate(&run);
	if (action == RI_ACTION_EXPLAIN)
		return ri_run_explain(&run);
	if (!reads)
		return ri_run_fail(&run);
	if (action == RI_ACTION_LAUNCH)
		return launch_command(&run);
	if (action == RI_ACTION_CHECK)
		return ri_run_check(&run);
	status = answer(&run);
	return status < 0 ? ri_run_fail(&run) : status;
}
