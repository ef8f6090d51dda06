/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TCP sockets of a network namespace, as /proc/self/net/tcp and tcp6 list them: a line for
 * each below a heading (Linux Documentation/networking/proc_net_tcp.rst; net/ipv4/tcp_ipv4.c,
 * get_tcp4_sock; net/ipv6/tcp_ipv6.c, get_tcp6_sock). Every user may read them, and gVisor has
 * them too.
 */
#ifndef RI_NODE_SOCKETS_H
#define RI_NODE_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

/* Linux include/net/tcp_states.h */
enum {
	RI_SOCKET_ESTABLISHED = 1,
	RI_SOCKET_SYN_SENT = 2,
	RI_SOCKET_CLOSE_WAIT = 8,	/* the other side alone has closed it */
	RI_SOCKET_LISTEN = 10,
};

struct ri_socket_end {
	unsigned char address[16];	/* IPv4 as ::ffff:a.b.c.d */
	uint16_t port;
};

struct ri_socket {
	struct ri_socket_end local, remote;
	unsigned state;
};

/* One line of either file. False, and *out as it was, where it is none, as the heading. */
bool ri_socket_read(struct ri_socket *out, const char *line);

/* The address of these four bytes in network order. */
void ri_socket_ipv4(unsigned char address[16], const void *ipv4);

/* Is it of 127.0.0.0/8, or ::1 (RFC 6890)? */
bool ri_socket_is_loopback(const unsigned char address[16]);

#endif
