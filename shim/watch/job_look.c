/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/job_look.h"

#include "hang/autopsy.h"
#include "link/link.h"
#include "system/clock.h"

/* When all nodes have looked last, CLOCK_MONOTONIC ms; 0: never. */
static int64_t looked_at;

/* Since no rank has moved here for --stall, what was seen meanwhile is what would be seen now. */
static bool is_known(const struct ri_supervisor *sv, int64_t now)
{
	return looked_at != 0 && now - looked_at < (int64_t)sv->options->stall_ms;
}

void ri_job_look(const struct ri_supervisor *sv)
{
	const char *groups;
	bool soon, told;

	if (!ri_link_is_on())
		return;
	told = ri_autopsy_was_told();
	if ((ri_autopsy_has_stalled() && !is_known(sv, ri_now_ms())) || told)
		ri_link_look(false);
	if (ri_link_is_to_look(&soon)) {
		looked_at = ri_now_ms();
		/* ranks that were told to stop do something else by now */
		if (sv->phase >= RI_PHASE_ASKED || !ri_autopsy_look_together(soon))
			ri_link_groups("");
	}
	groups = ri_autopsy_take_groups();
	if (groups != NULL)
		ri_link_groups(groups);
	ri_link_print_found();
}
