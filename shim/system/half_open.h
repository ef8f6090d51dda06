/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a process listen on a port? Asked by the first packet of a connection alone, so that the
 * process does not hear of it: a rank 0 that counts what accept(2) returns would take ours for a
 * rank, and fail.
 *
 * The answer to that packet completes our side of the connection, and theirs waits for one packet
 * more. Without TCP_QUICKACK the kernel sends that up to 200 ms later (Linux net/ipv4/tcp_input.c,
 * tcp_rcv_synsent_state_process; TCP_DELACK_MAX), and by then the socket is closed, with SO_LINGER
 * of 0 by a reset: the other machine drops what it had begun. A filter on the socket would be more
 * certain, but from 2026 on Linux wants CAP_NET_ADMIN for one on TCP.
 */
#ifndef RI_SHIM_SYSTEM_HALF_OPEN_H
#define RI_SHIM_SYSTEM_HALF_OPEN_H

#include <stdint.h>

enum ri_half_open {
	RI_HALF_OPEN_UNKNOWN,	/* the kernel refused a socket */
	RI_HALF_OPEN_LISTENS,
	RI_HALF_OPEN_REFUSED,
	RI_HALF_OPEN_SILENT,	/* no answer in that time */
	RI_HALF_OPEN_FAILED,	/* errno says why there is no way there */
};

/* address: IPv4 as ::ffff:a.b.c.d. It waits for at most so long. */
enum ri_half_open ri_half_open_ask(const unsigned char address[16], uint16_t port, int most_ms);

#endif
