/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/local_master.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/loopback.h"
#include "from/own_address.h"

/* Any address as bind(2) takes it. */
union any {
	struct sockaddr head;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
};

bool ri_is_local_master(const char *host)
{
	union any address = { .ipv4 = { .sin_family = AF_INET } };
	socklen_t length = sizeof(address.ipv4);
	char name[RI_MAX_NAME + 2];
	bool is_other;
	int fd;

	/* with "%eth0" it is an address of this link, on this machine or another */
	if (ri_loopback_is(host, strlen(host)) || strchr(host, '%') != NULL)
		return true;
	/* not by inet_aton(3), whose short forms are names here */
	if (inet_pton(AF_INET, host, &address.ipv4.sin_addr) != 1) {
		address = (union any){ .ipv6 = { .sin6_family = AF_INET6 } };
		length = sizeof(address.ipv6);
		if (inet_pton(AF_INET6, host, &address.ipv6.sin6_addr) != 1) {
			/* another name of this machine's does not have to be kept */
			if (gethostname(name, sizeof(name)) < 0)
				return true;
			name[sizeof(name) - 1] = '\0';
			return ri_is_same_host(host, name);
		}
	}
	/* by the kernel: an address of another machine cannot be bound */
	fd = socket(address.head.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return true;	/* in doubt it stays as it is */
	is_other = bind(fd, &address.head, length) < 0 && errno == EADDRNOTAVAIL;
	close(fd);
	return !is_other;
}

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
