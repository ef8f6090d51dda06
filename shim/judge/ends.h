/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ends of ranks as the judge sees them: whether the first failure may be one that is to come,
 * what the other nodes are told of it, and the line on the end of a command alone.
 */
#ifndef RI_SHIM_JUDGE_ENDS_H
#define RI_SHIM_JUDGE_ENDS_H

#include "base/proc.h"
#include "init/judged.h"
#include "init/output.h"
#include "launch/children.h"
#include "link/link.h"
#include "system/mask.h"

/* What became of a child, and what it said, as far as it is known by now. */
void ri_failure_describe(const struct ri_child *child, struct ri_output *output, size_t index,
	struct ri_rank_outcome *out);

/*
 * Some ranks have failed and the others run: may the first failure be among those? The kernel
 * closes the connections of a process that dies before that process can be reaped, and a program
 * may close them itself on its way out: what its peers say of it comes first.
 *
 * Fills in .open, .timed_out, .lost and .doubtful. It is open where losses alone were seen, and as
 * long as one that has printed an exception in the last settle_ms, or is being looked at, may still
 * end of it.
 */
void ri_failure_judge(const struct ri_children *children, struct ri_output *output,
	int64_t settle_ms, struct ri_judged *out);

/* What the other nodes are told of these ends. Leaves *out where that is nothing. */
void ri_link_judge_end(const struct ri_link_job *job, const struct ri_outcome *outcome,
	struct ri_link_message *out);

/* The ranks were to start again, and do not: why, unless the verdict says it. */
void ri_link_say_why_not(const struct ri_link_job *job);

/*
 * What that verdict makes of the end of this node, which it fills in. Returns whether the status is
 * that of a node that another one's failure has stopped.
 */
bool ri_link_judge(const struct ri_link_job *job, struct ri_outcome *outcome);

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
 * A line for a command alone that a signal ended, so that a reader need not guess what 137 means.
 * command: its argv[0]; rank: of a job with others that we do not watch, -1: it is none; below: the
 * process that the rank's launcher knows in its place, 0: none; stop: that came from outside, if
 * one did.
 */
void ri_obituary_say(const struct ri_child *child, const char *command, int64_t rank, pid_t below,
	const struct ri_stop *stop, struct ri_oom *oom);

#endif
