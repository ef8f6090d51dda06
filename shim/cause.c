/* SPDX-License-Identifier: Apache-2.0 */
#include "cause.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "check/check.h"
#include "check/shm.h"
#include "node/demand.h"

extern const struct ri_check ri_check_cg_oom;

static const char point[] = "/dev/shm";

bool ri_cause_look(struct ri_space *shm)
{
	struct ri_host host = { .root = AT_FDCWD, .live = true };

	return ri_machine_tmpfs(&host, point, shm) && shm->size > 0;
}

/* PyTorch's own words for a data loader that ended so: "... killed by signal: Bus error." */
static bool tells_of_it(const struct ri_rank_outcome *rank)
{
	static const char words[] = "Bus error";

	return rank->tail != NULL &&
		memmem(rank->tail, rank->tail_length, words, sizeof(words) - 1) != NULL;
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
	char size[RI_SIZE_TEXT];
	bool full = shm->free < shm->size / 64;

	if (!full && shm->size >= ri_check_shm_least(outcome->count))
		return NULL;
	snprintf(text, sizeof(text), "%s (%s), and a page that finds no room there is a SIGBUS",
		full ? "was full" : "is small", ri_size_show(size, shm->size));
	cause.text = text;
	cause.code = full ? RI_CODE_SHM_FREE_SMALL : RI_CODE_SHM_SIZE_SMALL;
	return &cause;
}

static const struct ri_cause *blame_memory(void)
{
	static struct ri_cause cause = {
		.code = RI_CODE_CG_OOM_KILLS, .subject = "oom_kill", .shown = true,
		.text = "the cgroup counted a process that was killed when memory ran out",
	};

	cause.hint = ri_check_cg_oom.advice;
	return &cause;
}

const struct ri_cause *ri_cause_find(const struct ri_outcome *outcome, const struct ri_space *shm)
{
	static struct ri_space now;
	const struct ri_rank_outcome *rank;

	if (outcome->first < 0)
		return NULL;
	rank = &outcome->ranks[outcome->first];
	if (rank->oom)
		return blame_memory();
	if (shm == NULL && tells_of_it(rank) && ri_cause_look(&now))
		shm = &now;
	if (shm == NULL || (rank->signal != SIGBUS && !tells_of_it(rank)))
		return NULL;
	return blame_shm(outcome, shm);
}
