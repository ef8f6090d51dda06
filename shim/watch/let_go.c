/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/let_go.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "system/log.h"
#include "system/kept_fds.h"

/* The lowest descriptor that is still needed, from this one on; -1: there is none. */
static int next_fd(const struct ri_output *output, int from)
{
	int next = ri_output_next_fd(output, from), spare = ri_kept_fds_next(from);

	return next < 0 || (spare >= 0 && spare < next) ? spare : next;
}

void ri_let_go(const struct ri_output *output)
{
	int first = 3, own;

	while ((own = next_fd(output, first)) >= 0) {
		if (own > first)
			ri_close_between((unsigned)first, (unsigned)own - 1);
		first = own + 1;
	}
	ri_close_between((unsigned)first, ~0u);
	if (chdir("/") < 0)
		ri_log(RI_LEVEL_NOTE, "cannot change to /: %s", strerror(errno));
}
