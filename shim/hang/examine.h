/* SPDX-License-Identifier: Apache-2.0 */
/* A whole autopsy: two looks, or three, each by a worker that is given up where it hangs. */
#ifndef RI_SHIM_HANG_EXAMINE_H
#define RI_SHIM_HANG_EXAMINE_H

#include "hang/look.h"
#include "options/options.h"

struct ri_autopsy_wish {
	pid_t root;
	const pid_t *own;	/* children of rankinit: they are looked at before all others */
	size_t own_count;
	int64_t (*now_ms)(void);	/* the clock that the times below are of */
	bool after_loss;
	const char *why;	/* as hang.h has it */
	int64_t interval_ms;	/* between the looks */
	int64_t most_ms;	/* for all of it */
	bool once;		/* one look: only where each Python thread is (ri_hang_has_moved) */
	bool takes_time;	/* where one is suspected there is a third look, 2 s later */
};

/* Memory for it, shared with the workers; NULL and errno: there is none. */
struct ri_autopsy_region *ri_autopsy_open(void);

/* Returns false where root is no process. All that is found is judged. */
bool ri_autopsy_examine(struct ri_autopsy_region *region, const struct ri_autopsy_wish *wish);

/* All of it as JSON, by jansson's flags. False: there is no memory or no room for it. */
bool ri_autopsy_dump(struct ri_hang *hang, size_t flags, struct ri_text *out);

/* ask.c: --autopsy PID, on standard output. Returns the exit status, or -1 and why. */
int ri_autopsy_print(const struct ri_options *options, struct ri_error *err);

#endif
