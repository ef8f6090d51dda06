/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <errno.h>

#include "options/peer.h"
#include "say/state_file.h"
#include "system/apart.h"
#include "system/said.h"

enum { TMPDIR_MS = 5500 };	/* a little longer than until that is said */

struct ri_preflight ri_run_plan_preflight(struct ri_run *run)
{
	struct ri_found *found = &run->found;

	return (struct ri_preflight){
		.options = &found->options, .env = &found->env, .command = &found->command,
		.topology = &found->topology, .host = &found->host, .arena = &run->arena,
		.fan_out = found->source.context.fan_out,
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

int ri_run_fail(struct ri_run *run)
{
	ri_run_refused(run);
	if (ri_apart_stop() != 0)
		return ri_run_stopped(run, ri_apart_stop());
	ri_log_error(&run->err);
	return ri_run_leave(run, ri_run_refusal(run));
}

int ri_run_refusal(const struct ri_run *run)
{
	return ri_peer_status(run->found.options.peer, ri_code_status(run->err.code));
}

int ri_run_ask_torch_files(struct ri_run *run, int (*work)(void *argument), void *argument)
{
	const char *folder = ri_env_get(&run->found.env, "TMPDIR");
	const struct ri_apart asking = {
		.work = work, .argument = argument, .subject = "TMPDIR", .path = folder,
		.most_ms = TMPDIR_MS,
		.deaf_ms = run->started.supervised.stop.asked ? TMPDIR_MS : 0,
	};
	int status = folder == NULL ? work(argument) : ri_apart(&asking);

	if (status < 0 && errno == ETIMEDOUT) {
		ri_log(RI_LEVEL_WARNING, "TMPDIR: its file system does not answer, so rankinit "
			"continues without torch's error files [%s]",
			ri_code_name(RI_CODE_FILE_SLOW));
		run->started.torch_files.folder = NULL;
	}
	return status;
}

static int remove_torch_files(void *argument)
{
	struct ri_run *run = argument;

	ri_torch_files_remove(&run->started.torch_files);
	return 0;
}

int ri_run_end(struct ri_run *run, int status)
{
	if (run->started.torch_files.folder != NULL)
		ri_run_ask_torch_files(run, remove_torch_files, run);
	ri_state_end(status);
	ri_said_forget();
	return status;
}

int ri_run_leave(struct ri_run *run, int status)
{
	return ri_run_end(run, run->found.options.exit_map.to[status]);
}
