/* SPDX-License-Identifier: Apache-2.0 */
/* How the attempts failed after which a launcher has started its ranks again. */
#ifndef RI_SHIM_JUDGE_LAUNCHER_RESTARTS_H
#define RI_SHIM_JUDGE_LAUNCHER_RESTARTS_H

#include "init/judged.h"
#include "init/output.h"
#include "report/launched.h"

/* Where the ranks of an attempt and their words are put, as launched.h has it; or NULL. */
struct ri_restarts_room {
	struct ri_rank_outcome *ranks;
	char *words;
};

/* Say of each that nobody has told of how it failed, and keep it. Fills in .restarts. */
void ri_restarts_judge(const struct ri_restarts_room *room, struct ri_output *output,
	struct ri_judged *out);

#endif
