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

/*
 * Be the helper until PID 1 has closed its end of inner, a SOCK_SEQPACKET socket with packets as
 * link/note.h has them, and what it said last was heard, or it is too late for that. place stays
 * open as long: link/place.h; -1: there is none.
 */
__attribute__((noreturn)) void ri_link_help(const struct ri_link_setup *setup, int inner,
	int place);

#endif
