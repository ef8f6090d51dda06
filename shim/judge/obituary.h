/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a command alone ended: one line on stderr when it was killed by a
 * signal, so that a reader need not guess what 137 means.
 */
#ifndef RI_SHIM_JUDGE_OBITUARY_H
#define RI_SHIM_JUDGE_OBITUARY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cgroup.h"
#include "base/host.h"
#include "launch/children.h"
#include "system/mask.h"

/* The out-of-memory kills counted in our cgroup before the command could cause one. */
struct ri_oom {
	struct ri_host host;
	struct ri_cgroup_oom file;
	uint64_t kills;
	bool known;
};

/* Read the counter. The working directory must be "/" from now on. */
void ri_oom_watch(struct ri_oom *oom);

/* Did the counter move since then? */
bool ri_oom_is_counted(struct ri_oom *oom);

/*
 * Print the line, if the end was by a signal. command: its argv[0]; rank: of a job with others that
 * we do not watch, -1: it is none; stop: that came from outside, if one did.
 */
void ri_obituary_say(const struct ri_child *child, const char *command, int64_t rank,
	const struct ri_stop *stop, struct ri_oom *oom);

#endif
