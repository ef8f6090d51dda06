/* SPDX-License-Identifier: Apache-2.0 */
#include "say/cause.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check/check.h"
#include "demand/demand.h"
#include "system/apart.h"

enum { LOOK_MS = 1000 };	/* that PID 1 waits for a file of /proc to be read */

extern const struct ri_check ri_check_cg_oom;

static const char point[] = "/dev/shm";

static int look(void *shm)
{
	struct ri_host host = { .root = AT_FDCWD, .live = true };
	struct ri_space *space = shm;

	return ri_machine_space(&host, point, space) > 0 && space->knows_free && space->size > 0
		? 0 : -1;
}

bool ri_cause_look(struct ri_space *shm)
{
	struct ri_space *page = ri_pages_shared(sizeof(*page));

	if (page == NULL || ri_apart(&(struct ri_apart){
		.work = look, .argument = page, .forked = true, .most_ms = LOOK_MS,
		.deaf_ms = INT64_MAX,
	}) < 0)
		return false;
	*shm = *page;
	return true;
}

static const struct ri_cause *blame_shm(const struct ri_outcome *outcome,
	const struct ri_space *shm)
{
	static struct ri_cause cause = {
		.subject = point,
		.hint = "docker run --shm-size=16g or --ipc=host; Kubernetes: an emptyDir with "
			"medium: Memory",
	};
	static char text[120];
	bool full = shm->free < shm->size / 64;

	if (!full && shm->size >= ri_machine_shm_least(outcome->count))
		return NULL;
	snprintf(text, sizeof(text), "%s (%s): a write that finds no room there ends in SIGBUS",
		full ? "was full" : "is small", RI_SIZE_SHOWN(shm->size));
	cause.text = text;
	cause.code = full ? RI_CODE_SHM_FREE_SMALL : RI_CODE_SHM_SIZE_SMALL;
	return &cause;
}

/* At a terminal the user may have left the debugger by hand. */
static const struct ri_cause *blame_input(const struct ri_outcome *outcome)
{
	static struct ri_cause cause = { .code = RI_CODE_INPUT_NONE, .subject = "stdin" };
	bool terminal = isatty(STDIN_FILENO);

	if (outcome->first == 0 && terminal)
		return NULL;
	cause.text = outcome->first > 0
		? "is /dev/null for all ranks but the first one: breakpoint() and input() fail "
		  "there"
		: "is not a terminal and has ended: breakpoint() and input() fail then";
	cause.hint = outcome->first > 0 && terminal
		? "the first rank here has the terminal; write if os.environ[\"LOCAL_RANK\"] == "
		  "\"0\": breakpoint()"
		: "debug on a terminal, which the first rank here gets: docker run -it, kubectl "
		  "exec -it";
	return &cause;
}

const struct ri_cause *ri_cause_find(const struct ri_outcome *outcome, const struct ri_space *shm)
{
	static struct ri_cause memory = {
		.code = RI_CODE_CG_OOM_KILLS, .subject = "oom_kill", .shown = true,
		.text = "the cgroup counted a process that the kernel killed because memory ran "
			"out",
	};
	static const struct ri_cause no_rank = {
		.code = RI_CODE_RANK_ABSENT, .subject = "RANK",
		.text = "is not set, since the command was started as no rank of a job",
		.hint = "rankinit --nproc-per-node=gpu -- COMMAND starts one rank for each GPU of "
			"this node",
	};
	static struct ri_space now;
	const struct ri_rank_outcome *rank;

	if (outcome->first < 0)
		return NULL;
	rank = &outcome->ranks[outcome->first];
	memory.hint = ri_check_cg_oom.advice;
	if (rank->oom)
		return &memory;
	if (rank->evidence.ended_of_traceback && rank->evidence.words.asked_for_line)
		return blame_input(outcome);
	if (rank->evidence.ended_of_traceback && rank->evidence.words.lacks_rank &&
		outcome->count == 1 && outcome->topology->identity == NULL &&
		strcmp(outcome->launch, "process") == 0)
		return &no_rank;
	if (shm == NULL && rank->evidence.words.has_bus_error && look(&now) == 0)
		shm = &now;
	if (shm == NULL || (rank->signal != SIGBUS && !rank->evidence.words.has_bus_error))
		return NULL;
	return blame_shm(outcome, shm);
}
