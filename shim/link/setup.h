/* SPDX-License-Identifier: Apache-2.0 */
/* What PID 1 gives its helper. */
#ifndef RI_SHIM_LINK_SETUP_H
#define RI_SHIM_LINK_SETUP_H

#include "job/part.h"
#include "link/wire.h"

struct ri_link_setup {
	struct ri_link_part part;
	struct ri_wire_keys keys;
	bool orders;		/* ranks may be stopped: there is a secret, and it is not tell */
	uint64_t roll_ms;	/* until the first roll call; 0: there is none */
	const char *host;	/* of this node, or NULL */
	const char *const *hosts;	/* by the job's own list, or NULL */
	size_t host_count;
};

#endif
