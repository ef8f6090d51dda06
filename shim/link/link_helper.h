/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper: a process beside PID 1, in which the link of a node lives. It alone touches the
 * network and the key.
 */
#ifndef RI_SHIM_LINK_LINK_HELPER_H
#define RI_SHIM_LINK_LINK_HELPER_H

#include "link/setup.h"

/* Its name, as the kernel has it. */
#define RI_LINK_HELPER "rankinit-link"

/* What the helper begins with. */
struct ri_link_inside {
	const struct ri_link_setup *setup;
	int inner;		/* a SOCK_SEQPACKET socket; its packets are messages */
	int place;		/* open as long as it runs (link.c); -1: there is none */
};

/*
 * Be the helper until PID 1 has closed its end of inner, and what it said last was heard, or it is
 * too late for that. The context is a struct ri_link_inside.
 */
void ri_link_help(void *context);

#endif
