/* SPDX-License-Identifier: Apache-2.0 */
/* Finding node 0: its name is resolved by a process of its own, since the resolver waits. */
#ifndef RI_SHIM_LINK_LOOK_UP_H
#define RI_SHIM_LINK_LOOK_UP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "system/name_service.h"

/* The look-up of a name that is under way. Zeroes and fd -1: none is. */
struct ri_look_up {
	int fd;			/* to poll for reading; -1: none */
	pid_t pid;
	int64_t until;
};

union ri_socket_address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

/* The same of an address, IPv4 as ::ffff:a.b.c.d. Returns its length. */
socklen_t ri_socket_address_make(union ri_socket_address *out, const unsigned char address[16],
	uint16_t port);

/* What it finds, or has found in a text that is an address: IPv4 as ::ffff:a.b.c.d. */
struct ri_addresses {
	int count;
	unsigned char list[RI_NAME_ADDRESSES][16];
};

/* An address as text, of either kind, to *out. False where it is none. */
bool ri_address_read(struct ri_addresses *out, const char *text);

/* Begin. Returns NULL, or why it cannot. */
const char *ri_look_up_begin(struct ri_look_up *look_up, const char *name, int64_t now);

/*
 * It can be read, or its time is over: returns NULL and one address or more, or why there is
 * none. The look-up is over.
 */
const char *ri_look_up_end(struct ri_look_up *look_up, struct ri_addresses *out);

#endif
