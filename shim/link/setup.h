/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper: a process beside PID 1, in which the link of a node lives. It alone touches the
 * network and the key. Here is what PID 1 gives it.
 */
#ifndef RI_SHIM_LINK_SETUP_H
#define RI_SHIM_LINK_SETUP_H

#include "link/message.h"
#include "link/part.h"
#include "link/wire.h"

/* Its name, as the kernel has it. */
#define RI_LINK_HELPER "rankinit-link"

/* What the helper leaves for the report, in a page that it shares with PID 1: no wake-up. */
struct ri_link_sight {
	bool compared;		/* this node's clock with that of node 0: */
	int64_t ahead_us, error_us;	/* it goes so far before that, give or take */
	char roll_call[RI_LINK_TEXT];	/* what was said last of the nodes, or "" */
	char unproved[RI_LINK_TEXT];	/* the same, where there is no key */
	uint64_t lines;		/* by PID 1: that its first rank has printed */
};

/* --restarts. */
struct ri_link_restarts {
	uint64_t attempt;	/* this one; 0: the first */
	int place;		/* that the last one left; 0: none */
	uint64_t left;		/* that may follow; 0: none */
	uint64_t wait_ms;	/* for a node that does not come */
	uint64_t end_ms;	/* more for one whose ranks end: --link-grace */
	uint64_t quick;		/* attempts before this one that were over in no time */
	uint64_t last_mark;	/* of the failure that ended the last attempt; 0: none did */
	uint64_t last_lines;	/* that the first rank printed in that one */
};

struct ri_link_setup {
	struct ri_link_part part;
	struct ri_wire_keys keys;
	struct ri_link_restarts restarts;
	bool orders;		/* ranks may be stopped: there is a secret, and it is not tell */
	uint64_t roll_ms;	/* until the first roll call; 0: there is none */
	uint64_t ranks;		/* that rankinit starts on each node; 0: it starts none itself */
	uint16_t meeting;	/* the port of node 0 at which the ranks meet; 0: not known */
	const char *host;	/* of this node, or NULL */
	const char *const *hosts;	/* by the job's own list, or NULL */
	size_t host_count;
	struct ri_link_sight *sight;	/* NULL: there is no memory for it */
};

/* What the helper begins with. */
struct ri_link_inside {
	const struct ri_link_setup *setup;
	int inner;		/* a SOCK_SEQPACKET socket; its packets are messages */
	int place;		/* open until there is a verdict (link.c); -1: there is none */
	/*
	 * A socket pair. The helper sends a member's connection with node 0 into the second, and
	 * PID 1 has the first open, and reads nothing of it: so the kernel ends the connection with
	 * PID 1, as with its container, but not with a helper that is killed alone.
	 */
	int kept[2];
};

/*
 * Be the helper until PID 1 has closed its end of inner, and what it said last was heard, or it is
 * too late for that. The context is a struct ri_link_inside.
 */
void ri_link_help(void *context);

#endif
