/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/overlay.h"
#include "from/from.h"
#include "from/identity.h"
#include "from/settle.h"
#include "launch/hosts.h"
#include "launch/local_master.h"
#include "launch/exec_hint.h"
#include "launch/nproc.h"
#include "launch/port.h"
#include "model/derive.h"
#include "say/capture.h"
#include "system/apart.h"
#include "system/clock.h"
#include "system/mask.h"
#include "system/own_proc.h"
#include "to/nodes.h"

static enum ri_host_proc ask_proc(void)
{
	pid_t self = getpid();

	if (!ri_proc_is_ours(self))
		return RI_PROC_FOREIGN;
	return self == 1 ? RI_PROC_OURS_FIRST : RI_PROC_OURS;
}

static int open_root(void *host)
{
	return ri_host_root(host);
}

/* A machine of a simulated job that comes later than others; a stop finds nothing begun. */
static void come_later(uint64_t from_ms)
{
	uint64_t now = from_ms == 0 ? 0 : (uint64_t)ri_now_ms();
	siginfo_t info;

	if (now < from_ms &&
		ri_mask_wait_for(ri_mask_stops(), &info, (int64_t)(from_ms - now)) != 0)
		exit(128 + info.si_signo);
}

/* Of the live machine nothing is opened or asked until somebody needs it. */
static int find_host(struct ri_run *run)
{
	uint64_t from_ms = 0;
	const char *played = ri_env_get(&run->found.env, RI_OVERLAY_VARIABLE);
	const char *root = run->found.options.given.root.value;
	struct ri_host *host = &run->found.host;

	*host = (struct ri_host){
		.root = -1, .path = root == NULL ? "/" : root, .live = root == NULL,
		.tell = run->found.options.given.capture.value != NULL ? ri_capture_tell : NULL,
		.apart = ri_apart_file, .ask_name = gethostname, .ask_proc = ask_proc,
	};
	if (played != NULL && !run->found.options.disabled) {
		if (ri_overlay_play(host, &from_ms, played, &run->arena, &run->err) < 0)
			return -1;
		come_later(from_ms);
	}
	/* a recorded one is where the user says, if it is */
	if (root == NULL || ri_apart_file(open_root, host, root) >= 0)
		return 0;
	ri_fail(&run->err, RI_CODE_FILE_UNREADABLE, root, "cannot be opened: %s", strerror(errno));
	return ri_fail_errno(&run->err, errno);
}

/* Options that go together only where no ranks are started here. */
static int check_fan_out(struct ri_run *run, const char *subject)
{
	if (ri_wishes_refuse_all(&run->found.options.wishes)) {
		ri_fail(&run->err, RI_CODE_OPTION_CONFLICT, subject,
			"with %s=none no rank would get its RANK",
			run->found.options.wishes.source.subject);
		return ri_fail_hint(&run->err, "leave one of them out");
	}
	if (run->found.options.supervise == RI_NO && run->found.source.context.fan_out > 1) {
		ri_fail(&run->err, RI_CODE_OPTION_CONFLICT, subject,
			"several ranks need rankinit as their parent, so it cannot become one of "
			"them");
		return ri_fail_hint(&run->err, "leave --supervise=never out");
	}
	return 0;
}

/* The machine, for whoever counts what it has. */
static struct ri_node this_node(struct ri_run *run)
{
	return (struct ri_node){
		.host = &run->found.host, .env = &run->found.env, .arena = &run->arena,
		.findings = &run->findings,
	};
}

/* No GPU to count by: whoever looks at the node says more about that than a count does. */
static int leave_count(struct ri_run *run)
{
	const struct ri_options *options = &run->found.options;

	if (run->err.code != RI_CODE_NPROC_NONE || options->action == RI_ACTION_PRINT_ENV ||
		(options->action != RI_ACTION_CHECK && ri_check_refuser(&options->checks) == NULL))
		return -1;
	run->found.nproc_err = run->err;
	run->err = (struct ri_error)RI_ERROR_INIT;
	run->found.options.wishes.nproc_count = 1;
	return 0;
}

/* Does the command run in ranks that are started here? */
static int count_ranks(struct ri_run *run)
{
	struct ri_wishes *wishes = &run->found.options.wishes;
	struct ri_node node = this_node(run);

	if (run->found.command.mode == RI_MODE_NONE || wishes->nproc.value == NULL)
		return 0;
	if (ri_nproc_count(&run->found.options, &node, &run->err) < 0 && leave_count(run) < 0)
		return -1;
	if (run->found.command.mode != RI_MODE_PROCESS)
		return 0;
	run->found.source.context.fan_out = wishes->nproc_count;
	return check_fan_out(run, wishes->nproc.subject);
}

/*
 * In a launcher's container even a script starts the whole job; the one process
 * that is asked for beside the ranks is the task itself.
 */
static void settle_role(struct ri_run *run)
{
	if (run->found.topology.identity != NULL)
		return;
	if (ri_topology_is_beside(&run->found.topology)) {
		run->found.source.context.fan_out = 0;
	} else if (ri_topology_is_launcher(&run->found.topology) &&
		run->found.options.launch == RI_MODE_AUTO) {
		run->found.command.mode = RI_MODE_NONE;
		run->found.source.context.fan_out = 0;
	}
}

/* What the command makes of it, and it of the command. */
static int adapt(struct ri_run *run)
{
	settle_role(run);
	return ri_topology_adapt(&run->found.topology, &run->found.source.context, &run->err);
}

/* Who are we? */
static int find_topology(struct ri_run *run)
{
	struct ri_topology *topology = &run->found.topology;
	struct ri_context *context = &run->found.source.context;
	struct ri_reading reading;
	int status;

	/* Who starts the whole job is no part of it: not even a contradiction matters. */
	if (run->found.command.mode == RI_MODE_NONE)
		return 0;
	if (ri_hosts_prepare(&run->found.options.wishes, context, &run->err) < 0)
		return -1;
	if (ri_sources_read(topology, &reading, context, &run->err) < 0)
		return -1;
	ri_identity_choose(topology, &reading);
	if (ri_claims_settle(topology, &reading) < 0)
		return -1;
	status = adapt(run);
	/* also of a launch that is refused --explain shows where it would have been */
	ri_topology_complete(topology, context);
	if (status < 0)
		return -1;
	/* From here on nothing of it changes: what is to be said of it? */
	if (ri_claims_report(topology, &reading) < 0)
		return -1;
	ri_nodes_judge(topology, context);
	return 0;
}

/* Where do the ranks run that are started here, or the one that we are? */
static int place(struct ri_run *run)
{
	const struct ri_placing_job job = {
		.options = &run->found.options, .topology = &run->found.topology,
		.mode = run->found.command.mode,
		.started = run->found.source.context.fan_out, .node = this_node(run),
	};

	return ri_placing_prepare(&run->found.placing, &job, &run->err);
}

/* Of several ranks here the first one says it for all. */
static void judge_words(struct ri_run *run)
{
	const struct ri_options *options = &run->found.options;
	const char *option = ri_options_behind(options, &run->found.command);
	uint64_t local_rank;

	if (ri_topology_get(&run->found.topology, RI_FACT_LOCAL_RANK, &local_rank) &&
		local_rank > 0)
		return;
	ri_options_judge_empty(options, &run->found.command, &run->findings);
	if (option != NULL)
		ri_options_judge_behind(options, option, options->given.root.value == NULL &&
			ri_exec_hint_for_us(&run->found.command, option), &run->findings);
}

bool ri_run_is_of_job(const struct ri_run *run)
{
	return run->found.topology.identity != NULL || (run->found.command.mode != RI_MODE_NONE &&
		ri_sources_say_job(&run->found.env, &run->found.options.wishes));
}

int ri_run_find(struct ri_run *run)
{
	static const struct ri_meeting meeting = { ri_is_local_master, ri_port_pick };

	if (ri_options_check(&run->found.options, &run->err) < 0)
		return -1;
	run->found.source = (struct ri_rank_source){
		.topology = &run->found.topology,
		.placing = &run->found.placing,
		.options = &run->found.options,
		.context = {
			.env = &run->found.env, .wishes = &run->found.options.wishes,
			.arena = &run->arena, .findings = &run->findings,
			.command = &run->found.command, .host = &run->found.host,
			.meeting = run->found.options.given.root.value == NULL ? &meeting : NULL,
		},
	};
	if (!run->found.options.disabled)
		ri_command_read(&run->found.command, run->found.options.command,
			run->found.options.launch);
	if (find_host(run) < 0)
		return -1;
	if (!run->found.options.disabled) {
		if (count_ranks(run) < 0 || find_topology(run) < 0 || place(run) < 0)
			return -1;
		ri_telling_judge(run);
		judge_words(run);
	}
	run->found.source.looks = ri_run_is_of_job(run);
	/* what was given up for a stop may be a file that need not be there */
	if (ri_apart_stop() != 0 || ri_rank_source_complete(&run->found.source, &run->err) < 0)
		return -1;
	return ri_rank_view(&run->found.first, &run->found.source, 0, &run->err);
}
