/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/port.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Bind as a TCPStore does: to every address, and past connections that only
 * wait to be forgotten. Returns the port, or 0 and errno.
 */
static unsigned try_port(unsigned port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1, saved;
	bool bound;

	if (fd < 0)
		return 0;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	bound = bind(fd, (struct sockaddr *)&address, length) == 0 &&
		getsockname(fd, (struct sockaddr *)&address, &length) == 0;
	saved = errno;
	close(fd);
	errno = saved;
	return bound ? ntohs(address.sin_port) : 0;
}

unsigned ri_port_pick(unsigned usual)
{
	unsigned picked = try_port(usual);

	if (picked != 0 || errno != EADDRINUSE)
		return picked == 0 ? usual : picked;
	picked = try_port(0);
	return picked == 0 ? usual : picked;
}
