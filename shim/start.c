/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command/command.h"
#include "from/sources.h"
#include "hang/autopsy.h"
#include "init/others.h"
#include "init/signalling.h"
#include "link/link.h"
#include "say/state_file.h"
#include "say/two_rankinits.h"
#include "system/clock.h"

/* Does a process manager own this one rank, and nothing asks for an init? */
static bool is_left_to_manager(const struct ri_found *found, pid_t self)
{
	const struct ri_options *options = &found->options;

	return options->restarts == 0 && ri_found_is_managed(found) && self != 1 &&
		options->grace_ms == 0 &&
		!ri_output_is_wanted(options) && options->given.report.value == NULL &&
		options->given.state.value == NULL && options->wait_master_ms == 0 &&
		!ri_autopsy_is_wanted(options) && options->given.exit_map.subject == NULL &&
		!options->exit_class && options->linger_ms == 0 &&
		options->given.signal_map.subject == NULL && !options->signal_group &&
		!ri_link_is_on() &&
		found->context.fan_out == 0;
}

enum stance {
	STANCE_INIT,
	STANCE_WATCH,		/* an init, but what a manager's launcher leaves is not ours */
	STANCE_COMMAND,		/* it becomes the command */
	STANCE_BEHIND,		/* behind.c */
};

/*
 * A manager whose signals are known need not notice who stays. A terminal is the rank's own; of
 * one process alone there is nothing to tell; and another rankinit tells of what it started. A
 * launcher that it starts once on each node, as srun does torchrun, is looked after as anywhere,
 * but what that leaves may be a server, or an upload.
 */
static enum stance find_stance(const struct ri_found *found, pid_t self)
{
	enum ri_switch supervise = found->options.supervise;

	if (supervise != RI_SWITCH_AUTO)
		return supervise == RI_SWITCH_NEVER ? STANCE_COMMAND : STANCE_INIT;
	if (!is_left_to_manager(found, self))
		return STANCE_INIT;
	if ((ri_found_single_rank(found) < 0 && found->command.mode != RI_MODE_NODE) ||
		ri_env_get(&found->env, RI_OUTER_VARIABLE) != NULL ||
		fcntl(STDERR_FILENO, F_GETFD) < 0 || isatty(STDERR_FILENO) ||
		!ri_behind_knows_launcher(found))
		return STANCE_COMMAND;
	return found->command.mode == RI_MODE_NODE ? STANCE_WATCH : STANCE_BEHIND;
}

/* Of each child that starts here, whether they are ranks or not. */
static int prepare_output(struct ri_run *run)
{
	size_t count = run->started.children.count;
	struct ri_output_rank *ranks = ri_arena_array(&run->arena, count, sizeof(*ranks));
	struct ri_output_wishes wishes = {
		.options = &run->found.options, .ranks = ranks, .count = count, .node = -1,
		.keeps_stderr = ri_run_tells_ranks(run) || run->found.options.exit_class ||
			run->found.options.restarts > 0 ||
			run->found.options.given.report.value != NULL,
		.bare = ri_found_is_launcher(&run->found),
		.again = run->found.options.restarts > 0 && ri_attempt_may_be(&run->found),
		.headline = run->found.carried == NULL ? NULL
			: ri_arena_format(&run->arena, "rankinit: restart %llu of %llu: %s",
				(unsigned long long)run->found.carried->attempt,
				(unsigned long long)run->found.options.restarts,
				run->found.carried->failure),
	};
	bool needs = wishes.keeps_stderr;
	uint64_t rank = 0, local_rank = 0, node;
	int status;

	if (ranks == NULL)
		return ri_fail(&run->err, RI_CODE_MEMORY, "COMMAND",
			"no memory left for its output");
	ri_topology_get(&run->found.topology, RI_FACT_RANK, &rank);
	ri_topology_get(&run->found.topology, RI_FACT_LOCAL_RANK, &local_rank);
	if (ri_topology_get(&run->found.topology, RI_FACT_NODE_RANK, &node))
		wishes.node = (int64_t)node;
	for (size_t i = 0; i < count; i++)
		ranks[i] = (struct ri_output_rank){ rank + i, local_rank + i, wishes.node };
	wishes.keeps_stderr = wishes.keeps_stderr || ri_link_is_on() ||
		((run->started.has_others || ri_outer_fd(&run->found.env) >= 0) &&
			!isatty(STDERR_FILENO));
	run->started.words_alone = !wishes.keeps_stderr &&
		run->started.starter == RI_STARTER_PYTHON && !isatty(STDERR_FILENO);
	wishes.keeps_stderr = wishes.keeps_stderr || run->started.words_alone ||
		run->started.behind ||
		(ri_found_single_rank(&run->found) >= 0 &&
			ri_output_is_wanted(&run->found.options));
	wishes.by_lines = run->started.behind;
	status = ri_output_prepare(&run->started.output, &wishes, &run->arena, &run->err);
	/* files that a variable asks for are no reason to start nothing: the ranks print */
	if (status < 0 && run->found.options.given.log_file.twin &&
		run->err.code == RI_CODE_LOG_REFUSED) {
		ri_log_without(&run->err, "the job runs without log files");
		run->err = (struct ri_error)RI_ERROR_INIT;
		run->found.options.given.log_file = (struct ri_given){ .subject = NULL };
		status = ri_output_prepare(&run->started.output, &wishes, &run->arena, &run->err);
	}
	if (status == 0 || needs || ri_output_is_wanted(&run->found.options) ||
		!(ri_link_is_on() || run->started.words_alone || run->started.behind))
		return status;
	/* to read why a command fails is a wish, and no reason to refuse it */
	if (ri_link_is_on())
		ri_log(RI_LEVEL_WARNING, "--link: %s: %s; so the other nodes are not told why a "
			"command fails here [%s]", run->err.subject, run->err.text,
			ri_code_name(RI_CODE_LINK_REFUSED));
	run->err = (struct ri_error)RI_ERROR_INIT;
	wishes.keeps_stderr = false;
	return ri_output_prepare(&run->started.output, &wishes, &run->arena, &run->err);
}

/* All that takes memory, and what ranks beside the first one read. */
static int prepare(struct ri_run *run, struct ri_launch *launch)
{
	size_t count = ri_run_ranks(run);

	if (ri_children_init(&run->started.children, count, &run->arena, &run->err) < 0 ||
		ri_launch_prepare(launch, &run->arena, &run->err) < 0)
		return -1;
	if (ri_run_tells_ranks(run))
		ri_topology_get(&run->found.topology, RI_FACT_RANK,
			&run->started.children.first_rank);
	if (count == 1)
		return 0;
	launch->input = ri_ranks_open_input(&run->err);
	return launch->input < 0 ? -1 : ri_ranks_prepare(&run->started.ranks, &run->found,
		launch, &run->err);
}

/* Some of them run, or none: the others will never do so. */
static void note_refusal(struct ri_run *run)
{
	struct ri_children *children = &run->started.children;

	ri_log_error(&run->err);
	if (children->started > 0)
		ri_log(RI_LEVEL_ALWAYS, "rank %llu was not started; the %zu before it are stopped",
			(unsigned long long)(children->first_rank + children->started),
			children->started);
	ri_children_refuse(children, ri_run_refusal(run));
}

/* Returns the exit status of the job. */
static int start_and_watch(struct ri_run *run, struct ri_launch *launch)
{
	struct ri_terminal terminal;
	struct ri_roll_call roll;
	const struct ri_timetable autopsy = {
		.due = ri_autopsy_due, .act = ri_autopsy_act, .take = ri_autopsy_take,
	};
	const struct ri_timetable roll_call = {
		.due = ri_roll_call_due, .act = ri_roll_call_act, .take = ri_roll_call_take,
		.context = &roll, .next = &autopsy,
	};
	bool calls_roll = ri_link_calls_roll(&run->started.job, &roll);
	int64_t own_rank = ri_found_own_rank(&run->found);
	struct ri_supervisor sv = {
		.children = &run->started.children,
		.rank = own_rank >= 0 ? own_rank : ri_found_single_rank(&run->found),
		.timetable = calls_roll ? &roll_call : &autopsy,
		.launch = launch, .options = &run->found.options, .terminal = &terminal,
		.output = &run->started.output, .result = &run->started.supervised,
		.job = &run->started.job, .has_others = run->started.has_others,
		.may_be_ray = run->started.starter == RI_STARTER_PYTHON,
		.words_alone = run->started.words_alone,
		/* odls_base_sigkill_timeout of Open MPI, 1 s (orte/mca/odls/base); PRRTE's alike */
		.is_killed_soon =
			ri_source_of(run->found.topology.identity)->mpi == RI_SOURCE_OPENMPI,
	};
	int status;

	ri_autopsy_plan(&run->found.options, &run->started.children,
		&run->started.supervised.stop, ri_link_is_on());
	ri_terminal_find(&terminal, launch->self);
	if (run->started.children.count > 1)
		ri_terminal_share(&terminal);
	launch->terminal = terminal.is_front ? terminal.fd : -1;
	launch->told_by_step = ri_step_tells_all(&run->found.env);
	launch->new_group = !terminal.shared && !launch->told_by_step && launch->told_by == 0;
	launch->admits_us = ri_autopsy_needs_admission(&run->found.options);
	launch->die_with_us = launch->self != 1;
	run->started.output.seen = ri_link_lines();
	ri_clock_read(CLOCK_REALTIME, &run->started.at);
	ri_attempt_say_again(run);
	ri_judge_plan(ri_judge_answer, run, ri_run_ranks(run));
	if (ri_ranks_spawn(run->started.ranks, launch, &run->started.children,
			&run->started.output, &run->err) < 0) {
		ri_terminal_restore(&terminal);
		note_refusal(run);
		if (run->started.children.started == 0)
			return ri_run_tell(run, run->started.children.refused);
	}
	if (!launch->new_group)
		sv.early = ri_mask_pending();
	ri_state_run(run->started.children.started);
	ri_link_reach(RI_LINK_RUNNING);
	if (calls_roll)
		roll.begun = ri_now_ms();
	ri_autopsy_begin();
	if (run->started.has_others) {
		ri_restarted_begin(run->found.command.launcher == NULL ? NULL
			: run->found.command.launcher->name);
		ri_others_begin(run->started.children.items[0].pid, false);
	}
	ri_supervise_let_go(&run->started.output);
	ri_oom_watch(&run->started.oom);
	status = ri_supervise_run(&sv);
	ri_roll_call_end();
	ri_autopsy_end();
	ri_others_end();
	/* of several it was the first one that could read */
	if (WIFSIGNALED(run->started.children.items[0].wait_status))
		ri_terminal_reset(&terminal);
	return ri_run_tell(run, status);
}

/* By the words of the command alone: no file is read. A script of a shell may do anything. */
static enum ri_starter find_starter(const struct ri_command *command)
{
	char *const *words = command->argv;
	const char *runs;
	bool is_line;

	/* a plain init that was asked to be one has not read its command */
	if (words == NULL || words[0] == NULL)
		return RI_STARTER_NONE;
	if (command->mode != RI_MODE_PROCESS)
		return RI_STARTER_LAUNCHER;
	if (command->stated)
		return RI_STARTER_NONE;
	if (command->script != NULL || command->module != NULL)
		return RI_STARTER_PYTHON;
	if (ri_word_shell(words[0]) == NULL)
		return ri_word_ends(words[0], ".sh") ? RI_STARTER_LAUNCHER : RI_STARTER_NONE;
	runs = ri_words_shell_runs(words, &is_line);
	if (runs != NULL && (!is_line || ri_command_text_names_launcher(ri_span_of(runs))))
		return RI_STARTER_LAUNCHER;
	return RI_STARTER_NONE;
}

/* What a rankinit in the command is told of this one: nothing where nothing would be said twice. */
static int tell_inner(struct ri_run *run, struct ri_launch *launch, enum stance stance)
{
	const struct ri_options *options = &run->found.options;
	struct ri_env_edit edit = { .name = RI_OUTER_VARIABLE };
	int outer = ri_outer_fd(&run->found.env);

	if (stance > STANCE_WATCH)
		edit.value = ri_source_of(run->found.topology.identity)->manages
			? ri_outer_manager : NULL;
	else if (ri_run_ranks(run) > 1)
		edit.value = ri_outer_ranks;
	else if (!options->disabled && (run->started.has_others || options->exit_class ||
		options->restarts > 0 || options->given.report.value != NULL || outer >= 0 ||
		ri_run_tells_ranks(run) || ri_found_single_rank(&run->found) >= 0))
		edit.value = ri_inner_listen(&run->arena, &launch->word);
	if (edit.value == NULL)
		return 0;
	launch->outer = outer;
	return ri_env_edits_add(&run->found.first.edits, edit, &run->arena, &run->err);
}

int ri_run_start(struct ri_run *run)
{
	struct ri_launch launch = {
		.self = getpid(),
		.argv = run->found.first.argv,
		.terminal = -1,
		.input = -1,
		.outputs = { -1, -1 },
		.cpus = ri_placing_cpus(&run->found.placing, 0),
		.privileges = &run->started.privileges,
		.signal_map = &run->found.options.signal_map,
	};

	enum stance stance = find_stance(&run->found, launch.self);

	run->started.behind = stance == STANCE_BEHIND;
	/* where each node starts a launcher once, the platform may have numbered that as a rank */
	if (stance <= STANCE_WATCH && ri_run_ranks(run) == 1 &&
		(ri_found_is_launcher(&run->found) ||
		!ri_topology_knows(&run->found.topology, RI_FACT_RANK)))
		run->started.starter = find_starter(&run->found.command);
	run->started.has_others = run->started.starter == RI_STARTER_LAUNCHER;
	if (tell_inner(run, &launch, stance) < 0)
		return ri_run_fail(run);
	launch.envp = ri_env_apply(&run->found.env, &run->found.first.edits, &run->arena,
		&run->err);
	if (launch.envp == NULL || prepare(run, &launch) < 0)
		return ri_run_fail(run);
	ri_mask_default_chld();
	if (run->found.options.parent_signal != 0)
		prctl(PR_SET_PDEATHSIG, run->found.options.parent_signal, 0, 0, 0);
	if (stance == STANCE_COMMAND) {
		ri_launch_replace(&launch, &run->err);
		return ri_run_fail(run);
	}
	if (stance == STANCE_INIT)
		ri_orphans_adopt(launch.self);
	else if (stance == STANCE_WATCH)
		launch.told_by = ri_behind_launcher();
	if (prepare_output(run) < 0 || ri_run_reserve_telling(run) < 0)
		return ri_run_fail(run);
	return stance == STANCE_BEHIND ? ri_run_behind(run, &launch)
		: start_and_watch(run, &launch);
}
