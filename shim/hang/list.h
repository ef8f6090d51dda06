/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes there are to look at, and in which order. */
#ifndef RI_SHIM_HANG_LIST_H
#define RI_SHIM_HANG_LIST_H

#include "hang/look.h"

/* When a look ends, by the clock of whoever asked for it. */
struct ri_autopsy_limit {
	int64_t (*now_ms)(void);
	int64_t until;
};

static inline bool ri_autopsy_is_over(const struct ri_autopsy_limit *limit)
{
	return limit->now_ms() >= limit->until;
}

/*
 * Begin the newer look, with those of these processes that are there: whoever looks started them,
 * and they come first. Returns false where there is no process root.
 */
bool ri_autopsy_list_own(struct ri_autopsy_region *region, pid_t root, const pid_t *own,
	size_t count);

/*
 * Add the other descendants of root, and root itself unless it is a rankinit: first what runs
 * below those, then the rest, the nearest first. Returns false, and adds none, where the time
 * ends meanwhile or /proc cannot be listed.
 */
bool ri_autopsy_list_others(struct ri_autopsy_region *region, pid_t root,
	const struct ri_autopsy_limit *limit);

#endif
