/* SPDX-License-Identifier: Apache-2.0 */
#include "cause.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "check/shm.h"
#include "node/demand.h"

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

const char *ri_cause_find(const struct ri_outcome *outcome, const struct ri_space *shm)
{
	static char line[240];
	static struct ri_space now;
	const struct ri_rank_outcome *rank;
	char size[RI_SIZE_TEXT];
	bool full;

	if (outcome->first < 0)
		return NULL;
	rank = &outcome->ranks[outcome->first];
	if (shm == NULL && tells_of_it(rank) && ri_cause_look(&now))
		shm = &now;
	if (shm == NULL || (rank->signal != SIGBUS && !tells_of_it(rank)))
		return NULL;
	full = shm->free < shm->size / 64;
	if (!full && shm->size >= ri_check_shm_least(outcome->count))
		return NULL;
	snprintf(line, sizeof(line), "%s %s (%s), and a page that finds no room there is a "
		"SIGBUS: docker run --shm-size=16g or --ipc=host; Kubernetes: an emptyDir with "
		"medium: Memory [%s]", point, full ? "was full" : "is small",
		ri_size_show(size, shm->size),
		ri_code_name(full ? RI_CODE_SHM_FREE_SMALL : RI_CODE_SHM_SIZE_SMALL));
	return line;
}
