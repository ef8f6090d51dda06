/* SPDX-License-Identifier: Apache-2.0 */
/* The process that looks for PID 1. */
#ifndef RI_SHIM_HANG_ONLOOKER_H
#define RI_SHIM_HANG_ONLOOKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/limits.h"
#include "launch/children.h"
#include "options/options.h"
#include "hang/examine.h"
#include "hang/judge.h"
#include "hang/wording.h"

/* What it leaves behind: the page that it shares with PID 1, which trusts none of it. */
struct ri_autopsy_answer {
	volatile bool whole;	/* all of the rest was written */
	bool moved;		/* a rank has, since the look before, or that cannot be known */
	bool has_document;	/* in the place that the job names */
	struct ri_hang_moment moments[RI_MAX_LOCAL];	/* for the next one that asks this */
	char lines[RI_HANG_SHOWN];	/* or why a watch cannot see a rank, "" where it can */
	char documents[2][1 << 20];	/* one of them is kept while the other is written */
};

struct ri_autopsy_job {
	const struct ri_children *children;	/* the ranks, or the command, of which one lives */
	struct ri_autopsy_answer *answer;
	struct ri_autopsy_wish wish;	/* root is PID 1, and once: only whether a rank has moved */
	bool reports;		/* the document, too */
	unsigned place;		/* of the document */
};

/* The name of a process that looks, as the kernel has it, and when SIGALRM ends it. */
#define RI_ONLOOKER "rankinit-look"

static inline unsigned ri_onlooker_seconds(int64_t most_ms)
{
	return (unsigned)(most_ms / 1000) + 2;
}

/* Start the process that does the job, whose answer it fills. Its number, or -1 and errno. */
pid_t ri_autopsy_start(struct ri_autopsy_job *job);

/* stall.c: how many watches there are in the time of --stall. */
enum { RI_STALL_WATCHES = 4 };

/* The ranks have begun to run. */
void ri_stall_begin(void);

/*
 * A watch is over, or its process ended without an answer. Warns where it cannot see all ranks.
 * Returns whether no rank has moved for --stall, and the job was silent or that cannot be known.
 */
bool ri_stall_note(const struct ri_options *options, const struct ri_children *children,
	struct ri_autopsy_answer *answer);

/* Does the kernel know when the job last printed? */
bool ri_stall_knows_silence(const struct ri_options *options);

/* Was the job silent for so long? False where that cannot be known. */
bool ri_stall_is_silent(const struct ri_options *options, const struct ri_children *children,
	uint64_t ms);

#endif
