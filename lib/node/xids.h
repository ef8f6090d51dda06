/* SPDX-License-Identifier: Apache-2.0 */
/* The Xid messages of the kernel's log. */
#ifndef RI_NODE_XIDS_H
#define RI_NODE_XIDS_H

#include <stddef.h>

#include "base/host.h"
#include "node/gpus.h"
#include "node/xid.h"

enum { RI_MAX_XIDS = 64 };	/* of a GPU and a number */

struct ri_xids {
	struct ri_xid_seen {
		const struct ri_xid_kind *kind;
		char address[RI_XID_ADDRESS];
		uint64_t first_us, last_us;	/* as struct ri_xid has it */
		uint64_t count;
	} list[RI_MAX_XIDS];	/* by the first of each */
	size_t count;
};

/*
 * Those of known kinds since that time, as far as the log goes back; what does not fit is left
 * out. Reads so much at most, and waits for no more to come. Returns 0, or errno: the log is not
 * here, or may not be read.
 */
int ri_xids_read(struct ri_xids *out, struct ri_host *host, uint64_t since_us);

/* Is it one that a program here sees? True where that is not known. */
bool ri_xid_is_ours(const struct ri_gpus *gpus, const char *address);

#endif
