/* SPDX-License-Identifier: Apache-2.0 */
/* Finding node 0: its name is resolved by a process of its own, since the resolver waits. */
#ifndef RI_SHIM_LINK_LOOK_UP_H
#define RI_SHIM_LINK_LOOK_UP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "system/name_service.h"

/* The look-up of a name that is under way. Zeroes and fd -1: none is. */
struct ri_look_up {
	int fd;			/* to poll for reading; -1: none */
	pid_t pid;
	int64_t until;
};

/* What it finds: IPv4 as ::ffff:a.b.c.d. */
struct ri_addresses {
	int count;
	unsigned char list[RI_NAME_ADDRESSES][16];
};

/* Begin. Returns NULL, or why it cannot. */
const char *ri_look_up_begin(struct ri_look_up *look_up, const char *name, int64_t now);

/*
 * It can be read, or its time is over: returns NULL and one address or more, or why there is
 * none. The look-up is over.
 */
const char *ri_look_up_end(struct ri_look_up *look_up, struct ri_addresses *out);

#endif
