/* SPDX-License-Identifier: Apache-2.0 */
/* --stall: since when no rank has moved, and whether the job is silent. */
#ifndef RI_SHIM_HANG_STALL_H
#define RI_SHIM_HANG_STALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "launch/children.h"
#include "options/options.h"
#include "hang/groups.h"
#include "hang/judge.h"
#include "hang/wording.h"

/* The page that a process that looks shares with PID 1, which trusts none of it. */
struct ri_autopsy_answer {
	volatile bool whole;	/* all of the rest was written */
	bool moved;		/* a rank has, since the look before, or that cannot be known */
	bool has_document;	/* in the place that the job names */
	struct ri_hang_moment moments[RI_MAX_LOCAL];	/* for the next one that asks this */
	char groups[RI_GROUPS_MAX];	/* for the other nodes of the job */
	char lines[RI_HANG_SHOWN];	/* or why a watch cannot see a rank, "" where it can */
	char documents[2][1 << 20];	/* one of them is kept while the other is written */
};

/* How many watches there are in the time of --stall. */
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
bool ri_stall_knows_silence(void);

/* Was the job silent for so long? False where that cannot be known. */
bool ri_stall_is_silent(const struct ri_children *children, uint64_t ms);

#endif
