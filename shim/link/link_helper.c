/* SPDX-License-Identifier: Apache-2.0 */
#include "link/helper_state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "system/clock.h"
#include "system/kept_fds.h"
#include "system/log.h"

enum {
	FLUSH_MS = 500,		/* for what was said last */
	JUDGE_MS = 2500,	/* for the verdict: the centre may wait for a better word */
	FOUND_MS = 2000,	/* for what a look of all nodes finds */
	FIND_MS = 4500,		/* to find a centre, or for nodes that may call yet */
	NODES_A_MS = 1000,	/* of a large job so many are looked at, at most */
	SILENT_MS = 20,		/* then a caller that has sent no opening gives way */
	CROWDED_MS = 250,	/* and one that has, but has not proved the key */
	BACKLOG = 4096,
	OTHERS = 16,		/* descriptors that are no connection of a node */
};

struct ri_helper ri_helper;

static int64_t read_clock(void)
{
	struct timespec now;

	ri_clock_read(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- callers, at node 0 --- */

/* The lines, as many as there may be descriptors. Returns 0, or -1 without memory. */
static int reserve(void)
{
	struct rlimit limit = { .rlim_cur = 1024 };
	rlim_t left, most = RI_LINK_PORTS * RI_NAME_ADDRESSES + 1;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (ri_helper.is_centre)
		most = ri_helper.setup->job->part.nodes + RI_HELPER_STRANGERS;
	left = limit.rlim_cur > OTHERS ? limit.rlim_cur - OTHERS : 0;
	ri_helper.count = (size_t)(most > left ? left : most) + 1;
	/* with fewer lines than nodes, or than ports, the others are not heard */
	if (ri_helper.is_centre && ri_helper.count <= ri_helper.setup->job->part.nodes)
		ri_log(RI_LEVEL_WARNING, "link: this process may have %llu open files, so node 0 "
			"can hold the connections of %zu nodes, and the job has %llu others; raise "
			"the limit: docker run --ulimit nofile=%llu [%s]",
			(unsigned long long)limit.rlim_cur, ri_helper.count - 1,
			(unsigned long long)ri_helper.setup->job->part.nodes - 1,
			(unsigned long long)(most + OTHERS), ri_code_name(RI_CODE_LINK_FILES));
	else if (!ri_helper.is_centre && ri_helper.count <= RI_LINK_PORTS)
		ri_log(RI_LEVEL_WARNING, "link: this process may have %llu open files, too few "
			"for calls to node 0; raise the limit: docker run --ulimit nofile=N [%s]",
			(unsigned long long)limit.rlim_cur, ri_code_name(RI_CODE_LINK_FILES));
	ri_helper.lines = ri_arena_array(&ri_helper.arena, ri_helper.count,
		sizeof(*ri_helper.lines));
	ri_helper.events = ri_arena_array(&ri_helper.arena, ri_helper.count,
		sizeof(*ri_helper.events));
	ri_helper.wires.rooms = ri_arena_array(&ri_helper.arena, ri_helper.count,
		sizeof(*ri_helper.wires.rooms));
	ri_helper.lines_fd = epoll_create1(EPOLL_CLOEXEC);
	if (ri_helper.lines == NULL || ri_helper.events == NULL || ri_helper.wires.rooms == NULL ||
		ri_helper.lines_fd < 0)
		return -1;
	for (size_t i = 0; i < ri_helper.count; i++)
		ri_helper.lines[i] = (struct ri_line){ .node = -1,
			.wire = { .fd = -1, .wires = &ri_helper.wires },
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

/* On the first of its ports that is free. */
static void listen_for_nodes(void)
{
	const struct ri_link_part *part = &ri_helper.setup->job->part;
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

/*
 * When node 0 may accept a caller. *stranger: the line of a caller that gives way to it; 0: a
 * line is free.
 */
static int64_t find_room_at(size_t *stranger)
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

static void accept_callers(void)
{
	size_t stranger;
	int fd;

	for (int i = 0; i < RI_HELPER_STRANGERS; i++) {
		if (find_room_at(&stranger) > ri_helper.now)
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

/* --- what PID 1 says, and the end --- */

/* This node, and the job with it. */
static bool has_failed(void)
{
	const struct ri_link_end *end = &ri_helper.member.end;

	return ri_helper.member.has_end && end->fatal && end->verdict.class > RI_CLASS_STOPPED;
}

/* A failure of its own may still be another node's, or have another's beside it. */
static bool awaits_verdict(void)
{
	return has_failed() && !ri_helper.member.judged;
}

/*
 * Nodes that may call yet are to hear that the job has failed, or does not start again: from node
 * 0, if it has a port.
 */
static bool is_missed(void)
{
	const struct ri_centre *centre = &ri_helper.centre;
	bool stays = centre->gathers && centre->steps[RI_LINK_START].over;

	/* an order waits for a node that may be heard again soon */
	if (ri_helper.is_centre && centre->order_at != 0)
		return true;
	return ri_helper.is_centre && ri_helper.listener >= 0 && ri_centre_misses(centre) &&
		(has_failed() || (centre->decided && centre->fatal) || stays);
}

/* All nodes are to leave this attempt when they can, and this one can. */
static bool waits_to_leave(void)
{
	return (ri_helper.member.again &&
		ri_member_waits_for_all(&ri_helper.member, RI_LINK_LEAVE)) ||
		(ri_helper.is_centre && ri_joint_is_open(&ri_helper.centre, RI_LINK_LEAVE));
}

/* Then it goes on for as long as node 0 says that all wait, or may come back. */
static int64_t close_at(void)
{
	const struct ri_link_setup *setup = ri_helper.setup;

	if (ri_helper.left || !waits_to_leave())
		return ri_helper.close_at;
	if (ri_helper.is_centre)
		return INT64_MAX;
	return ri_helper.joined == 0 ? ri_helper.alone_at + setup->wait_ms
		: ri_member_waits_until(&ri_helper.member, setup->end_ms, setup->wait_ms);
}

/* This node has said that it cannot start its ranks. */
static bool has_refused(void)
{
	const struct ri_member_step *step = &ri_helper.member.steps[RI_LINK_START];

	return step->votes && !step->vote.go;
}

/* Another node's failure waits for a better word: all are to hear the verdict. */
static bool is_about_to_decide(void)
{
	return ri_helper.is_centre && ri_helper.centre.settle_at != 0;
}

/*
 * All ranks of this node ended with 0, so that no rank of the others may be stopped: node 0 is to
 * hear that, if it is there, or may be and the connection is what is lost.
 */
static bool ended_well_unheard(void)
{
	const struct ri_member *member = &ri_helper.member;

	return !ri_helper.is_centre && member->has_end && !member->end_heard &&
		member->end.verdict.class == RI_CLASS_NONE && (member->joined || member->told_lost);
}

/* It has said all of how its ranks ended: how long is it worth to go on? */
static void begin_closing(void)
{
	int64_t most = FLUSH_MS;

	ri_helper.closing = true;
	if (ri_helper.member.has_end)	/* PID 1 answers nothing any more */
		ri_member_answer(&ri_helper.member, ri_helper.member.asks);
	if ((awaits_verdict() && ri_helper.member.joined) || is_about_to_decide())
		most = ri_helper.is_centre ? FIND_MS : JUDGE_MS;	/* is_missed() */
	if (ended_well_unheard())
		most = FIND_MS;
	/* node 0 is to hear of it, too, and may not have begun this attempt yet */
	if (is_missed() || (!ri_helper.is_centre && !ri_helper.member.was_joined &&
		(has_refused() || awaits_verdict())))
		most = FIND_MS;
	ri_helper.close_at = ri_helper.now + most;
	if (most < FOUND_MS && ri_member_awaits(&ri_helper.member, ri_helper.close_at))
		ri_helper.close_at = ri_helper.now + FOUND_MS;
}

/* A stop has come, and PID 1 goes: others are to hear what is known. */
static void hurry(void)
{
	ri_helper.hurries = true;
	if (ri_helper.is_centre)
		ri_centre_hurry(&ri_helper.centre, ri_helper.now);
}

static void hear_init(void)
{
	static struct ri_link_message message;
	ssize_t got = recv(ri_helper.inner, &message, sizeof(message), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0 || !ri_link_packet_check(&message, (size_t)got)) {
		ri_helper.left = true;
		begin_closing();
		return;
	}
	if (message.kind == RI_LINK_PHASE) {
		ri_member_reach(&ri_helper.member, message.phase);
		if (ri_helper.ran_at == 0)
			ri_helper.ran_at = ri_helper.now;
	} else if (message.kind == RI_LINK_GO) {
		ri_member_vote(&ri_helper.member, &message.go);
		if (message.go.step == RI_LINK_LEAVE)
			begin_closing();
	} else if (message.kind == RI_LINK_ANSWER) {
		ri_member_answer(&ri_helper.member, message.answers);
	} else if (message.kind == RI_LINK_LOOK) {
		ri_member_look(&ri_helper.member, &message.look, ri_helper.now);
	} else if (message.kind == RI_LINK_GROUPS) {
		ri_member_tell_groups(&ri_helper.member, &message.groups, ri_helper.now);
	} else if (message.kind == RI_LINK_END) {
		ri_helper_look_at_clocks();
		ri_member_end(&ri_helper.member, &message.end);
		if (ri_helper.call_at != 0)
			ri_helper.call_at = ri_helper.now;	/* a centre should know of it now */
	}
}

/* Has what was said last arrived, as far as it can? */
static bool is_settled(void)
{
	const struct ri_member *member = &ri_helper.member;
	bool said = !member->has_end || (member->end_heard && !awaits_verdict());
	const struct ri_centre *centre = &ri_helper.centre;

	if (ri_member_awaits(member, ri_helper.now) || waits_to_leave() || is_about_to_decide())
		return false;
	/* a stop does not wait for nodes that know that none starts, and go as well */
	if (has_refused() && member->steps[RI_LINK_START].answered &&
		member->end.verdict.class == RI_CLASS_STOPPED &&
		(!ri_helper.is_centre || centre->called == centre->count))
		return true;
	if (!ri_helper.is_centre)
		return said || member->over || (member->was_joined && !ended_well_unheard() &&
			member->end.verdict.class == RI_CLASS_NONE);
	return said && !is_missed();
}

/* The others are told that this is the end, and close their side when they have read all. */
static bool is_closed(void)
{
	if (!ri_helper.closing ||
		(!ri_helper.closed && !ri_helper.hurries && !is_settled() &&
			ri_helper.now < close_at()))
		return false;
	if (!ri_helper.closed) {
		ri_helper.closed = true;
		ri_helper.close_at = ri_helper.now + FLUSH_MS;
		if (ri_helper.is_centre)
			ri_centre_close(&ri_helper.centre, ri_helper.now);
		else
			ri_member_give_up(&ri_helper.member);
		for (size_t i = 1; i < ri_helper.count; i++) {
			if (ri_helper.lines[i].wire.state == RI_WIRE_FREE)
				continue;
			ri_wire_end(&ri_helper.lines[i].wire, ri_helper.now);
			ri_helper_tend(i);
		}
		if (ri_helper.listener >= 0)
			close(ri_helper.listener);
		ri_helper.listener = -1;
	}
	ri_helper_bury_dead();
	return ri_helper.open == 0 || ri_helper.now >= ri_helper.close_at;
}

/* --- the loop --- */

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t find_due(void)
{
	int64_t due = earlier(ri_member_due(&ri_helper.member), ri_helper.lines_due);
	int64_t room_at;
	size_t stranger;

	if (ri_helper.is_centre)
		due = earlier(due, ri_centre_due(&ri_helper.centre));
	if (ri_helper.call_at != 0 && !ri_helper.closed && ri_member_calls(&ri_helper.member))
		due = earlier(due, ri_helper.call_at);
	if (ri_helper.look_up.fd >= 0)
		due = earlier(due, ri_helper.look_up.until);
	if (ri_helper.closing)
		due = earlier(due, ri_helper.closed ? ri_helper.close_at : close_at());
	if (ri_helper.dead != 0)
		due = ri_helper.now;	/* killed behind its turn: it is to be buried */
	/* who calls may have to wait for a stranger */
	room_at = ri_helper.listener < 0 ? 0 : find_room_at(&stranger);
	return room_at > ri_helper.now ? earlier(due, room_at) : due;
}

enum { INNER, LISTENER, LOOK_UP, LINES, POLLS };

/* What there is one of, and all lines together. Returns how many of these have something. */
static int wait(struct pollfd polls[POLLS])
{
	size_t stranger;
	bool listens = ri_helper.listener >= 0 && find_room_at(&stranger) <= ri_helper.now;
	int64_t left = ri_helper.due - ri_helper.now;
	int count;

	polls[INNER].fd = ri_helper.hurries ? -1 : ri_helper.inner;
	polls[LISTENER].fd = listens ? ri_helper.listener : -1;
	polls[LOOK_UP].fd = ri_helper.look_up.fd;
	polls[LINES].fd = ri_helper.lines_fd;
	for (int i = 0; i < POLLS; i++) {
		polls[i].events = POLLIN;
		polls[i].revents = 0;
	}
	if (ri_helper.left)	/* then POLLHUP is what may come, when PID 1 has closed its end */
		polls[INNER].events = 0;
	if (poll(polls, POLLS, ri_helper.due == INT64_MAX ? -1
		: left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left) < 0 && errno != EINTR)
		_exit(1);
	count = polls[LINES].revents == 0 ? 0
		: epoll_wait(ri_helper.lines_fd, ri_helper.events, (int)ri_helper.count, 0);
	return count < 0 ? 0 : count;
}

static void go_on_with(size_t session, uint32_t events)
{
	struct ri_wire *wire = &ri_helper.lines[session].wire;

	ri_helper.current = session;
	if (wire->state != RI_WIRE_FREE && wire->state != RI_WIRE_DEAD)
		ri_wire_go_on(wire, (short)events, ri_helper.now);
	ri_helper_tend(session);
	ri_helper_bury_dead();
}

/* What was said comes before what is due: a deadline may pass while we are stopped. */
static void hear(const struct pollfd polls[POLLS], int lines)
{
	if (polls[INNER].revents != 0 && ri_helper.left)
		hurry();
	else if (polls[INNER].revents != 0)
		hear_init();
	for (int i = 0; i < lines; i++)
		go_on_with(ri_helper.events[i].data.u64, ri_helper.events[i].events);
	if (ri_helper.now >= ri_helper.lines_due) {
		ri_helper.lines_due = INT64_MAX;
		for (size_t i = 1; i < ri_helper.count; i++)
			go_on_with(i, 0);
	}
	if (polls[LISTENER].revents != 0 && ri_helper.listener >= 0)
		accept_callers();
	if (ri_helper.look_up.fd >= 0 &&
		(polls[LOOK_UP].revents != 0 || ri_helper.now >= ri_helper.look_up.until))
		ri_helper_end_look_up();
}

/*
 * What is due, and is this the end? That looks at all nodes: of a large job not at each word, but
 * once in some milliseconds.
 */
static bool is_over(void)
{
	int64_t again_at = ri_helper.passed_at + (int64_t)(ri_helper.count / NODES_A_MS);

	if (ri_helper.now < again_at) {
		ri_helper.due = again_at;
		return false;
	}
	ri_helper.passed_at = ri_helper.now;
	ri_member_pass(&ri_helper.member, ri_helper.now);
	if (ri_helper.is_centre) {
		ri_centre_pass(&ri_helper.centre, ri_helper.now);
	} else if (!ri_helper.closed) {
		ri_helper_look_after_calls();
	}
	ri_helper_bury_dead();
	if (is_closed())
		return true;
	ri_helper.due = find_due();
	return false;
}

/* No other node can come to this attempt, so none needs to wait for that. */
static void refuse_unreachable(void)
{
	if (ri_helper.listener < 0)
		ri_joint_refuse(&ri_helper.centre, "node 0 cannot listen for the others");
	else if (ri_helper.count < ri_helper.setup->job->part.nodes)
		ri_joint_refuse(&ri_helper.centre, "node 0 may not open a file for each of the "
			"others; raise the limit: docker run --ulimit nofile=N");
}

/* Of what PID 1 has open only these stay, and 0 to 2: who reads the rest waits for its end. */
static void close_others(int one, int other)
{
	unsigned low = (unsigned)(one < other ? one : other);
	unsigned high = (unsigned)(one < other ? other : one);

	if (low > STDERR_FILENO + 1)
		ri_close_between(STDERR_FILENO + 1, low - 1);
	if (high > low + 1)
		ri_close_between(low + 1, high - 1);
	ri_close_between(high + 1, ~0u);
}

void ri_link_help(void *context)
{
	const struct ri_link_setup *setup = context;
	int inner = setup->inner;
	struct pollfd polls[POLLS];

	/* where stderr is closed no connection is to become it: PID 1 takes no lines */
	if (fcntl(STDERR_FILENO, F_GETFD) < 0)
		dup2(inner, STDERR_FILENO);
	/* no socket may get a number that a library prints to */
	dup2(setup->place < 0 ? inner : setup->place, STDIN_FILENO);
	dup2(inner, STDOUT_FILENO);
	close_others(setup->kept[0], setup->kept[1]);
	ri_helper.setup = setup;
	ri_helper.is_centre = setup->job->part.node == 0;
	ri_helper.inner = STDOUT_FILENO;
	ri_helper.listener = ri_helper.look_up.fd = -1;
	ri_helper.now = ri_helper.alone_at = read_clock();
	if (reserve() < 0)
		_exit(1);
	ri_helper_begin_member();
	if (ri_helper.is_centre) {
		ri_helper_begin_centre();
		listen_for_nodes();
		refuse_unreachable();
	} else {
		ri_helper.call_at = ri_helper.now;
	}
	while (!is_over()) {
		int lines = wait(polls);

		ri_helper.now = read_clock();
		hear(polls, lines);
	}
}
