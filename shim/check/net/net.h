/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of names share. */
#ifndef RI_SHIM_CHECK_NET_NET_H
#define RI_SHIM_CHECK_NET_NET_H

#include "check/check.h"

enum { RI_NET_NAME = 256 };

enum ri_net_answer {
	RI_NET_FOUND,
	RI_NET_NOT_FOUND,
	RI_NET_CANNOT_KNOW,	/* of a recorded machine, which has no name service */
};

/*
 * The address of a name into a buffer of RI_NET_NAME bytes, by hosts(5) and
 * then by the name service, where there is a network to ask it. It may take as
 * long as the resolver waits.
 */
enum ri_net_answer ri_net_resolve(struct ri_checking *checking, const char *name, char *address);

#endif
