/* SPDX-License-Identifier: Apache-2.0 */
#include "link/helper_state.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "system/log.h"

enum {
	SILENT_MS = 20,		/* then a caller that has sent no opening gives way */
	CROWDED_MS = 250,	/* and one that has, but has not proved the key */
	BACKLOG = 4096,
	OTHERS = 16,		/* descriptors that are no connection of a node */
};

int ri_helper_reserve(void)
{
	struct rlimit limit = { .rlim_cur = 1024 };
	rlim_t left, most = RI_LINK_PORTS * RI_NAME_ADDRESSES + 1;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (ri_helper.is_centre)
		most = ri_helper.setup->part.nodes + RI_HELPER_STRANGERS;
	left = limit.rlim_cur > OTHERS ? limit.rlim_cur - OTHERS : 0;
	ri_helper.count = (size_t)(most > left ? left : most) + 1;
	/* with fewer lines than nodes, or than ports, the others are not heard */
	if (ri_helper.is_centre && ri_helper.count <= ri_helper.setup->part.nodes)
		ri_log(RI_LEVEL_WARNING, "link: this process may have %llu open files, so node 0 "
			"can hold the connections of %zu nodes, and the job has %llu others; raise "
			"the limit: docker run --ulimit nofile=%llu [%s]",
			(unsigned long long)limit.rlim_cur, ri_helper.count - 1,
			(unsigned long long)ri_helper.setup->part.nodes - 1,
			(unsigned long long)(most + OTHERS), ri_code_name(RI_CODE_LINK_FILES));
	else if (!ri_helper.is_centre && ri_helper.count <= RI_LINK_PORTS)
		ri_log(RI_LEVEL_WARNING, "link: this process may have %llu open files, too few "
			"for calls to node 0; raise the limit: docker run --ulimit nofile=N [%s]",
			(unsigned long long)limit.rlim_cur, ri_code_name(RI_CODE_LINK_FILES));
	ri_helper.lines = ri_arena_array(&ri_helper.arena, ri_helper.count,
		sizeof(*ri_helper.lines));
	ri_helper.events = ri_arena_array(&ri_helper.arena, ri_helper.count,
		sizeof(*ri_helper.events));
	ri_helper.rooms.all = ri_arena_array(&ri_helper.arena, ri_helper.count,
		sizeof(*ri_helper.rooms.all));
	ri_helper.lines_fd = epoll_create1(EPOLL_CLOEXEC);
	if (ri_helper.lines == NULL || ri_helper.events == NULL || ri_helper.rooms.all == NULL ||
		ri_helper.lines_fd < 0)
		return -1;
	for (size_t i = 0; i < ri_helper.count; i++)
		ri_helper.lines[i] = (struct ri_line){ .node = -1,
			.wire = { .fd = -1, .rooms = &ri_helper.rooms },
			.next = i > 0 && i + 1 < ri_helper.count ? i + 1 : 0 };
	ri_helper.free = ri_helper.count > 1 ? 1 : 0;
	ri_helper.lines_due = INT64_MAX;
	return 0;
}

static int listen_on(uint16_t port, bool six)
{
	static const unsigned char any[16], any_of_four[16] = { [10] = 0xff, [11] = 0xff };
	union ri_socket_address address;
	socklen_t length = ri_socket_address_make(&address, six ? any : any_of_four, port);
	int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int yes = 1, no = 0;

	if (fd < 0)
		return -1;
	/* one socket for both kinds of addresses (ipv6(7)) */
	if (six)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	/* a container that was started again finds what waits to be forgotten */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, &address.any, length) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	close(fd);
	return -1;
}

void ri_helper_listen(void)
{
	const struct ri_link_part *part = &ri_helper.setup->part;
	int why = 0;

	for (size_t i = 0; i < RI_LINK_PORTS && part->ports[i] != 0; i++) {
		if (ri_helper.listener >= 0)
			break;
		ri_helper.listener = listen_on(part->ports[i], true);
		/* not where the port is taken: another program may have it for IPv6 alone */
		if (ri_helper.listener < 0 && errno != EADDRINUSE)
			ri_helper.listener = listen_on(part->ports[i], false);
		why = errno;
		if (ri_helper.listener >= 0)
			ri_log(RI_LEVEL_NOTE, "link: node 0 listens on port %u", part->ports[i]);
	}
	if (ri_helper.listener < 0)
		ri_log(RI_LEVEL_WARNING, "link: node 0 cannot listen on %s: %s; choose another "
			"port with --link-port [%s]", ri_helper.member.ports, strerror(why),
			ri_code_name(RI_CODE_LINK_PORT));
}

/* Until when may a caller that has not proved the key keep other callers waiting? */
static int64_t gives_way_at(const struct ri_wire *wire)
{
	return wire->born + (wire->state == RI_WIRE_GREETING ? SILENT_MS : CROWDED_MS);
}

/* Those that have proved the key, or are gone, are strangers no more. */
static void count_strangers(void)
{
	size_t count = 0;

	for (size_t i = 0; i < ri_helper.stranger_count; i++) {
		const struct ri_wire *wire = &ri_helper.lines[ri_helper.strangers[i]].wire;

		if (wire->state != RI_WIRE_FREE && !wire->proved)
			ri_helper.strangers[count++] = ri_helper.strangers[i];
	}
	ri_helper.stranger_count = count;
}

int64_t ri_helper_room_at(size_t *stranger)
{
	int64_t at = INT64_MAX;

	*stranger = 0;
	count_strangers();
	for (size_t i = 0; i < ri_helper.stranger_count; i++) {
		const struct ri_wire *wire = &ri_helper.lines[ri_helper.strangers[i]].wire;

		if (gives_way_at(wire) < at) {
			at = gives_way_at(wire);
			*stranger = ri_helper.strangers[i];
		}
	}
	if (ri_helper.stranger_count < RI_HELPER_STRANGERS && ri_helper.free != 0) {
		*stranger = 0;
		at = ri_helper.now;
	}
	return at > ri_helper.listen_at ? at : ri_helper.listen_at;
}

static void take_caller(int fd, size_t stranger)
{
	size_t session;

	if (stranger != 0) {
		ri_wire_kill(&ri_helper.lines[stranger].wire, "others wait");
		ri_helper_tend(stranger);
		ri_helper_bury_dead();
		count_strangers();
	}
	session = ri_helper_take_line();
	ri_wire_accept(&ri_helper.lines[session].wire, fd, ri_helper.now);
	ri_helper.strangers[ri_helper.stranger_count++] = session;
	ri_helper_tend(session);
}

void ri_helper_accept(void)
{
	size_t stranger;
	int fd;

	for (int i = 0; i < RI_HELPER_STRANGERS; i++) {
		if (ri_helper_room_at(&stranger) > ri_helper.now)
			return;
		fd = accept4(ri_helper.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		/* accept(2): what went wrong with one that called is no reason to wait */
		if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
			return;
		/*
		 * Without a descriptor, memory or the right to take it, the next poll would only
		 * find it again.
		 */
		if (fd < 0 && ri_helper.listen_at == 0)
			ri_log(RI_LEVEL_WARNING, "link: node 0 cannot take the call of another "
				"node: %s [%s]", strerror(errno), ri_code_name(RI_CODE_LINK_PORT));
		if (fd < 0) {
			ri_helper.listen_at = ri_helper.now + CROWDED_MS;
			return;
		}
		take_caller(fd, stranger);
	}
}
