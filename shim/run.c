/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <sys/utsname.h>

#include "say/state_file.h"
#include "say/two_rankinits.h"
#include "system/helper.h"

struct ri_preflight ri_run_plan_preflight(struct ri_run *run)
{
	struct ri_found *found = &run->found;

	return (struct ri_preflight){
		.options = &found->options, .env = &found->env, .command = &found->command,
		.topology = &found->topology, .host = &found->host, .arena = &run->arena,
		.fan_out = found->context.fan_out,
		.is_of_job = ri_found_is_of_job(found),
	};
}

int ri_run_preflight(struct ri_run *run)
{
	const struct ri_preflight preflight = ri_run_plan_preflight(run);
	int status = ri_preflight_look(&preflight, &run->checked, &run->findings, &run->err);

	if (status != 0 || run->found.nproc_err.code == RI_CODE_NONE)
		return status;
	run->err = run->found.nproc_err;
	return -1;
}

const char *ri_run_host(const struct ri_run *run)
{
	static struct utsname names;

	if (run->found.host.name != NULL)
		return run->found.host.name;
	return uname(&names) == 0 ? names.nodename : NULL;
}

size_t ri_run_ranks(const struct ri_run *run)
{
	size_t fan_out = run->found.context.fan_out;

	return fan_out > 0 ? fan_out : 1;
}

bool ri_run_tells_ranks(const struct ri_run *run)
{
	return ri_run_ranks(run) > 1 || ri_found_own_rank(&run->found) >= 0;
}

int ri_run_refusal(const struct ri_run *run)
{
	return ri_peer_status(run->found.options.peer, ri_code_status(run->err.code));
}

int ri_run_end(struct ri_run *run, int status)
{
	ri_torch_files_remove(&run->started.torch_files, run->started.supervised.stop.signal != 0);
	/* a search for what the job left is to find none of ours; process 1 takes them with it */
	(void)ri_helper_end_all();
	ri_state_end(status);
	ri_said_forget();
	return status;
}

int ri_run_status(const struct ri_run *run, int status, enum ri_retry retry)
{
	const struct ri_options *options = &run->found.options;

	/*
	 * Not beside what excludes it. The members of a simulated job have made theirs already, and
	 * what becomes of one rank's status is its launcher's business: the outermost rankinit
	 * makes a class.
	 */
	if (!options->exit_class || options->given.exit_map.subject != NULL ||
		options->supervise == RI_SWITCH_NEVER || options->simulation.shape != NULL ||
		(ri_found_single_rank(&run->found) >= 0 && ri_found_is_managed(&run->found)))
		return options->exit_map.to[status];
	/* a class that an inner one has made is none of a status */
	if (run->ended.inner_status != 0)
		status = run->ended.inner_status;
	return ri_exit_class(status, retry);
}

int ri_run_status_of(const struct ri_run *run, const struct ri_judged *answer)
{
	const struct ri_children *children = &run->started.children;

	if (answer->stopped)
		return ri_code_status(RI_CODE_LINK_STOPPED);
	if (answer->first < 0 || (size_t)answer->first >= children->started ||
		!ri_child_failed(&children->items[answer->first]))
		return run->ended.status;
	return ri_child_status(children->items[answer->first].wait_status);
}

/* One of several ranks of an outer rankinit; or it was refused before it knew that. */
bool ri_run_is_told_of(const struct ri_run *run)
{
	return ri_found_is_of_ours(&run->found) ||
		(run->found.topology.identity == NULL && run->started.children.count == 0 &&
		ri_outer_says(&run->found.env, ri_outer_ranks));
}

/*
 * What stands in the place of another init is as silent as that. The members of a simulated job
 * have said theirs, and where they end with classes no status of theirs tells the cause.
 */
bool ri_run_has_last_line(const struct ri_run *run)
{
	const struct ri_options *options = &run->found.options;

	return !ri_run_is_told_of(run) && options->action == RI_ACTION_LAUNCH &&
		options->peer == RI_PEER_NONE &&
		!options->disabled && !(options->exit_class && options->simulation.shape != NULL);
}

const char *ri_run_make_last_line(const struct ri_run *run, const struct ri_verdict *verdict)
{
	static char line[RI_VERDICT_LINE_SIZE];
	struct ri_text out = ri_text_of(line, sizeof(line));

	ri_verdict_add_line(&out, verdict, &run->found.topology);
	return line;
}

int ri_run_leave(struct ri_run *run, int status, enum ri_retry retry)
{
	return ri_run_end(run, ri_run_status(run, status, retry));
}
