/* SPDX-License-Identifier: Apache-2.0 */
#include "play/free_ports.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "launch/port.h"
#include "system/kept_fds.h"

enum {
	TRIES = 16,
	BLOCK = 256,	/* ports that one job at a time is given some of */
	LAST = 65535,
};

/*
 * A port is free until rank 0 listens, which takes it seconds: so a name says that it is
 * given away. It lies in the network namespace, as ports do, and goes with its socket
 * (unix(7), abstract). Returns the descriptor, or -1.
 */
static int hold(unsigned block)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
		"rankinit-simulated-%u", block);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&name,
		    (socklen_t)(sizeof(name.sun_family) + 1 + (size_t)length)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* A row lies in one block or in two. */
static bool hold_row(unsigned first, unsigned last)
{
	int one = hold(first / BLOCK), other = -1;

	if (one < 0)
		return false;
	if (last / BLOCK != first / BLOCK) {
		other = hold(last / BLOCK);
		if (other < 0) {
			close(one);
			return false;
		}
	}
	ri_kept_fds_add(one);
	ri_kept_fds_add(other);
	return true;
}

unsigned ri_play_ports(unsigned usual, size_t count)
{
	unsigned first = usual;

	for (int tries = 0; tries < TRIES; tries++) {
		unsigned last = first + (unsigned)count - 1, port = first;

		while (port <= last && last <= LAST && ri_port_pick(port) == port)
			port++;
		if (port > last && hold_row(first, last))
			return first;
		first = ri_port_pick(0);
	}
	return usual;
}
