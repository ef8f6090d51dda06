/* SPDX-License-Identifier: Apache-2.0 */
#include "system/half_open.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Without both of these it would be a connection. */
static bool prepare(int fd)
{
	const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	const int later = 0;

	return setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) == 0 &&
		setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &later, sizeof(later)) == 0;
}

static int begin(int fd, const unsigned char address[16], uint16_t port, int family)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	memcpy(&four.sin_addr, address + 12, sizeof(four.sin_addr));
	memcpy(&six.sin6_addr, address, sizeof(six.sin6_addr));
	return family == AF_INET ? connect(fd, (const struct sockaddr *)&four, sizeof(four))
		: connect(fd, (const struct sockaddr *)&six, sizeof(six));
}

/* 0: it answers; else an errno. The socket is closed before anything else happens. */
static int ask(int fd, const unsigned char address[16], uint16_t port, int family, int most_ms)
{
	struct pollfd answer = { .fd = fd, .events = POLLOUT };
	int error = begin(fd, address, port, family) < 0 ? errno : 0;
	socklen_t length = sizeof(error);

	if (error == EINPROGRESS && poll(&answer, 1, most_ms) <= 0)
		error = ETIMEDOUT;
	else if (error == EINPROGRESS && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
		error = errno;
	close(fd);
	return error;
}

enum ri_half_open ri_half_open_ask(const unsigned char address[16], uint16_t port, int most_ms)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	int family = memcmp(address, mapped, sizeof(mapped)) == 0 ? AF_INET : AF_INET6;
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return RI_HALF_OPEN_UNKNOWN;
	if (!prepare(fd)) {
		close(fd);
		return RI_HALF_OPEN_UNKNOWN;
	}
	switch (errno = ask(fd, address, port, family, most_ms)) {
	case 0:
		return RI_HALF_OPEN_LISTENS;
	case ECONNREFUSED:
		return RI_HALF_OPEN_REFUSED;
	case ETIMEDOUT:
		return RI_HALF_OPEN_SILENT;
	default:
		return RI_HALF_OPEN_FAILED;
	}
}
