/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a command alone ended: one line on stderr when it was killed by a
 * signal, so that a reader need not guess what 137 means.
 */
#ifndef RI_SHIM_WATCH_OBITUARY_H
#define RI_SHIM_WATCH_OBITUARY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cgroup.h"
#include "base/host.h"
#include "base/span.h"
#include "launch/children.h"
#include "system/mask.h"

/* The end that decides the exit status. */
struct ri_end {
	const char *command;	/* argv[0] */
	int64_t rank;		/* of a job with others that we do not watch; -1: it is none */
	const struct ri_child *child;
	struct ri_stop stop;
};

/* The out-of-memory kills counted in our cgroup before the command could cause one. */
struct ri_oom {
	struct ri_host host;
	struct ri_cgroup_oom file;
	uint64_t kills;
	bool known;
};

/* Read the counter. The working directory must be "/" from now on. */
void ri_verdict_watch(struct ri_oom *oom);

/* Did the counter move since then? */
bool ri_verdict_is_oom(struct ri_oom *oom);

/* The exit status that shells give: the code, or 128 + signal. */
int ri_verdict_status(int wait_status);

/* Print the line, if the end was by a signal. */
void ri_verdict_obituary(const struct ri_end *end, struct ri_oom *oom);

/*
 * Print that a rank ("rank 1 (pid 17)") raised this and has not ended for so long, and with ended
 * that it is stopped for it; held is by what it is kept from its end, or "".
 */
void ri_verdict_lingers(const char *who, struct ri_span exception, unsigned seconds,
	const char *held, bool ended);

/* Print that so many more do. */
void ri_verdict_more_linger(unsigned count);

/* A note, or a warning, of how a process ended that was none of ours, but left to us. */
void ri_verdict_orphan(pid_t pid, int wait_status, bool warn);

#endif
