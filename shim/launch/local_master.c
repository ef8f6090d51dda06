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

/* False where it is a name; not for inet_aton(3)'s short forms, which are names here. */
static bool read_address(const char *host, union any *out, socklen_t *length)
{
	*out = (union any){ .ipv4 = { .sin_family = AF_INET } };
	*length = sizeof(out->ipv4);
	if (inet_pton(AF_INET, host, &out->ipv4.sin_addr) == 1)
		return true;
	*out = (union any){ .ipv6 = { .sin6_family = AF_INET6 } };
	*length = sizeof(out->ipv6);
	return inet_pton(AF_INET6, host, &out->ipv6.sin6_addr) == 1;
}

/* By the kernel: an address of another machine cannot be bound. */
static bool is_own_address(const union any *address, socklen_t length)
{
	int fd = socket(address->head.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is_other;

	if (fd < 0)
		return true;	/* in doubt it stays as it is */
	is_other = bind(fd, &address->head, length) < 0 && errno == EADDRNOTAVAIL;
	close(fd);
	return !is_other;
}

/* A name is looked up nowhere: another one of this machine's does not have to be kept. */
static bool is_own_name(const char *host)
{
	char name[RI_MAX_NAME + 2];

	if (gethostname(name, sizeof(name)) < 0)
		return true;
	name[sizeof(name) - 1] = '\0';
	return ri_is_same_host(host, name);
}

bool ri_is_local_master(const char *host)
{
	union any address;
	socklen_t length;

	/* with "%eth0" it is an address of this link, on this machine or another */
	if (ri_loopback_is(host, strlen(host)) || strchr(host, '%') != NULL)
		return true;
	return read_address(host, &address, &length)
		? is_own_address(&address, length)
		: is_own_name(host);
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
