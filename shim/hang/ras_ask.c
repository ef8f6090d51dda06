/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/ras_ask.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 200 };

struct exchange {
	int64_t (*now_ms)(void);
	int64_t until;
	int fd;
	size_t length;
	char text[RI_RAS_TEXT];
};

static bool wait_for(const struct exchange *exchange, short events)
{
	struct pollfd poll_fd = { .fd = exchange->fd, .events = events };
	int64_t left;

	while ((left = exchange->until - exchange->now_ms()) > 0) {
		int ready = poll(&poll_fd, 1, (int)left);

		if (ready >= 0 || errno != EINTR)
			return ready > 0;
	}
	return false;
}

static bool is_connected(const struct exchange *exchange)
{
	int error = -1;
	socklen_t size = sizeof(error);

	return wait_for(exchange, POLLOUT) &&
		getsockopt(exchange->fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

static bool connect_to(struct exchange *exchange, const struct sockaddr *address, socklen_t size)
{
	exchange->fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (exchange->fd < 0)
		return false;
	if (connect(exchange->fd, address, size) == 0 ||
		(errno == EINPROGRESS && is_connected(exchange)))
		return true;
	close(exchange->fd);
	return false;
}

static bool connect_any(struct exchange *exchange, const struct ri_ras_place *place)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(place->port) };
	struct sockaddr_in6 six = {
		.sin6_family = AF_INET6, .sin6_port = htons(place->port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};

	memcpy(&four.sin_addr, place->ipv4, sizeof(place->ipv4));
	return (place->has_ipv4 &&
			connect_to(exchange, (struct sockaddr *)&four, sizeof(four))) ||
		(place->has_ipv6 && connect_to(exchange, (struct sockaddr *)&six, sizeof(six)));
}

/* A new connection has room for as much as this. */
static bool send_line(const struct exchange *exchange, const char *line)
{
	return send(exchange->fd, line, strlen(line), MSG_NOSIGNAL) == (ssize_t)strlen(line);
}

/* Up to its end, or that of its first line, or the time. Returns what came. */
static struct ri_span receive(struct exchange *exchange, size_t most, bool one_line)
{
	ssize_t got = 1;

	exchange->length = 0;
	while (got != 0 && exchange->length < most && wait_for(exchange, POLLIN)) {
		got = recv(exchange->fd, exchange->text + exchange->length,
			most - exchange->length, 0);
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			break;
		exchange->length += got > 0 ? (size_t)got : 0;
		if (one_line && memchr(exchange->text, '\n', exchange->length) != NULL)
			break;
	}
	return (struct ri_span){ exchange->text, exchange->length };
}

/* NVIDIA/nccl src/ras/client.cc: the client greets, and waits for the server's greeting. */
static void talk(struct exchange *exchange, struct ri_ras *out)
{
	struct ri_span said;

	if (!send_line(exchange, "CLIENT PROTOCOL 2\n"))
		return;
	said = receive(exchange, RI_RAS_GREETING, true);
	if (said.length == 0)
		return;
	if (!ri_ras_is_greeting(said)) {
		out->answer = RI_RAS_FOREIGN;
		return;
	}
	if (!send_line(exchange, "VERBOSE STATUS\n"))
		return;
	said = receive(exchange, RI_RAS_TEXT, false);
	if (said.length > 0)
		ri_ras_read(said, out);
}

void ri_ras_ask(const char *address, int64_t (*now_ms)(void), struct ri_ras *out)
{
	static struct exchange exchange;
	struct ri_ras_place place;

	exchange.now_ms = now_ms;
	exchange.until = now_ms() + PATIENCE_MS;
	if (!ri_ras_place_read(address, &place) || !connect_any(&exchange, &place))
		return;
	ri_text_copy(out->address, sizeof(out->address), address);
	talk(&exchange, out);
	close(exchange.fd);
}
