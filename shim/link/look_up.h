/* SPDX-License-Identifier: Apache-2.0 */
/* Finding node 0: its name is resolved by a process of its own, since the resolver waits. */
#ifndef RI_SHIM_LINK_LOOK_UP_H
#define RI_SHIM_LINK_LOOK_UP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

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

/* An address as text, of either kind. Returns its length, or 0. */
socklen_t ri_socket_address_read(union ri_socket_address *out, const char *text, uint16_t port);

/* Begin. Returns NULL, or why it cannot. */
const char *ri_look_up_begin(struct ri_look_up *look_up, const char *name, int64_t now);

/*
 * It can be read, or its time is over: returns NULL and the address as text, or why there is
 * none. The look-up is over.
 */
const char *ri_look_up_end(struct ri_look_up *look_up, char address[INET6_ADDRSTRLEN + 16]);

#endif
