/* SPDX-License-Identifier: Apache-2.0 */
#include "link/wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	READS_AT_ONCE = 4,	/* of a frame's size, so that no peer keeps the others waiting */
	IDLE_S = 30, PROBE_S = 10, PROBES = 3,	/* of a connection whose other end may be gone */
	UNHEARD_MS = 60000,	/* how long the other side may leave bytes unacknowledged */
};

_Static_assert((int)RI_WIRE_OPENING == (int)RI_SEAL_OPENING, "opening");

static const unsigned char magic[4] = { 'R', 'K', 'L', '4' };

void ri_wire_kill(struct ri_wire *wire, const char *why)
{
	if (wire->state == RI_WIRE_DEAD || wire->state == RI_WIRE_FREE)
		return;
	wire->state = RI_WIRE_DEAD;
	wire->why = why;
}

/* For bytes that wait. There is one for each wire. */
static struct ri_wire_room *need_room(struct ri_wire *wire)
{
	struct ri_wires *wires = wire->wires;

	if (wire->room != NULL)
		return wire->room;
	if (wires->free == NULL) {
		wire->room = &wires->rooms[wires->used++];
	} else {
		wire->room = wires->free;
		wires->free = wire->room->next;
	}
	return wire->room;
}

static void leave_room(struct ri_wire *wire)
{
	if (wire->room == NULL || wire->in_count > 0 || wire->out_end > wire->out_begin)
		return;
	wire->room->next = wire->wires->free;
	wire->wires->free = wire->room;
	wire->room = NULL;
}

void ri_wire_close(struct ri_wire *wire)
{
	if (wire->fd >= 0)
		close(wire->fd);
	ri_seal_wipe(wire->scalar, sizeof(wire->scalar));
	ri_seal_wipe(&wire->seals, sizeof(wire->seals));
	wire->in_count = wire->out_begin = wire->out_end = 0;
	leave_room(wire);
	*wire = (struct ri_wire){ .fd = -1, .wires = wire->wires };
}

static void begin(struct ri_wire *wire, int fd, enum ri_wire_state state, int64_t now)
{
	/* tcp(7): a peer whose machine is gone is given up after a minute, without our messages */
	const struct { int level, name, value; } settings[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 }, { IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S },
		{ IPPROTO_TCP, TCP_KEEPINTVL, PROBE_S }, { IPPROTO_TCP, TCP_KEEPCNT, PROBES },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, UNHEARD_MS }, { IPPROTO_TCP, TCP_NODELAY, 1 },
	};

	*wire = (struct ri_wire){ .fd = fd, .wires = wire->wires, .state = state,
		.calls = state == RI_WIRE_CONNECTING, .born = now,
		.until = now + RI_WIRE_PROOF_MS };
	for (size_t i = 0; fd >= 0 && i < RI_ARRAY_SIZE(settings); i++)
		setsockopt(fd, settings[i].level, settings[i].name, &settings[i].value,
			sizeof(settings[i].value));
}

void ri_wire_accept(struct ri_wire *wire, int fd, int64_t now)
{
	begin(wire, fd, RI_WIRE_GREETING, now);
}

void ri_wire_call(struct ri_wire *wire, const struct sockaddr *address, socklen_t length,
	int64_t now)
{
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	begin(wire, fd, RI_WIRE_CONNECTING, now);
	if (fd < 0 || (connect(fd, address, length) < 0 && errno != EINPROGRESS))
		ri_wire_kill(wire, strerror(errno));
}

short ri_wire_events(const struct ri_wire *wire)
{
	bool waits = wire->out_end > wire->out_begin;

	switch (wire->state) {
	case RI_WIRE_CONNECTING:
		return POLLOUT;
	case RI_WIRE_GREETING:
	case RI_WIRE_OPEN:
	case RI_WIRE_ENDING:
		return (short)(POLLIN | (waits ? POLLOUT : 0));
	case RI_WIRE_FREE:
	case RI_WIRE_DEAD:
		break;
	}
	return 0;
}

/* Returns how many bytes the kernel takes now: all of them, where the other side is gone. */
static size_t give(struct ri_wire *wire, const unsigned char *bytes, size_t count)
{
	size_t given = 0;
	ssize_t sent;

	while (given < count) {
		sent = send(wire->fd, bytes + given, count - given, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN)
			break;
		/* its last words may wait to be read: then its end comes behind them */
		wire->deaf = sent < 0;
		if (wire->deaf)
			return count;
		given += (size_t)sent;
	}
	return given;
}

static void flush(struct ri_wire *wire)
{
	if (wire->out_end > wire->out_begin)
		wire->out_begin += give(wire, wire->room->out + wire->out_begin,
			wire->out_end - wire->out_begin);
	leave_room(wire);
}

static void put(struct ri_wire *wire, const unsigned char *bytes, size_t count)
{
	size_t waits = wire->out_end - wire->out_begin, given;
	unsigned char *out;

	if (wire->deaf)
		return;
	given = waits > 0 ? 0 : give(wire, bytes, count);
	if (given == count)
		return;
	if (waits + count - given > RI_WIRE_OUT) {
		ri_wire_kill(wire, "it does not read");
		return;
	}
	out = need_room(wire)->out;
	if (waits > 0)
		memmove(out, out + wire->out_begin, waits);
	memcpy(out + waits, bytes + given, count - given);
	wire->out_begin = 0;
	wire->out_end = waits + count - given;
}

/* This side's opening, with a nonce and a point that were never used. */
static void greet(struct ri_wire *wire)
{
	unsigned char *opening = wire->calls ? wire->openings.node : wire->openings.centre;

	memcpy(opening, magic, sizeof(magic));
	opening[sizeof(magic)] = wire->wires->keys->keyed;
	if (getrandom(opening + RI_WIRE_HEAD, RI_WIRE_NONCE, 0) != RI_WIRE_NONCE ||
		getrandom(wire->scalar, RI_SEAL_SCALAR, 0) != RI_SEAL_SCALAR) {
		ri_wire_kill(wire, "the kernel has no randomness");
		return;
	}
	ri_seal_point(opening + RI_WIRE_HEAD + RI_WIRE_NONCE, wire->scalar);
	put(wire, opening, RI_WIRE_OPENING);
}

/*
 * What the other side's opening says. One that does not fit is answered too, to be understood, and
 * as soon as its head is there: that of another version may be shorter. Returns the bytes used.
 */
static size_t take_opening(struct ri_wire *wire, const unsigned char *opening, size_t count)
{
	const struct ri_wire_keys *keys = wire->wires->keys;
	unsigned char *theirs = wire->calls ? wire->openings.centre : wire->openings.node;
	const char *why = NULL;

	if (count < RI_WIRE_HEAD)
		return 0;
	if (memcmp(opening, magic, 3) != 0) {
		ri_wire_kill(wire, "something else listens there");
		return 0;
	}
	wire->speaks_link = true;
	wire->at_odds = opening[sizeof(magic)] != keys->keyed;
	if (opening[3] != magic[3])
		wire->version = opening[3] > ' ' && opening[3] < 0x7f ? (char)opening[3] : '?';
	if (wire->version != 0)
		why = "it speaks another version of the link";
	else if (wire->at_odds)
		why = keys->keyed ? "it has no key" : "it has a key, and this node none";
	else if (count < RI_WIRE_OPENING)
		return 0;
	if (!wire->calls)
		greet(wire);
	if (why != NULL)
		ri_wire_kill(wire, why);
	if (wire->state == RI_WIRE_DEAD)
		return 0;
	memcpy(theirs, opening, RI_WIRE_OPENING);
	if (ri_seal_begin(&wire->seals, keys->job, wire->calls ? RI_SEAL_NODE : RI_SEAL_CENTRE,
		&wire->openings, wire->scalar) < 0) {
		ri_wire_kill(wire, "its opening has no usable point");
		return 0;
	}
	ri_seal_wipe(wire->scalar, sizeof(wire->scalar));
	wire->state = RI_WIRE_OPEN;
	wire->wires->open(wire);
	return RI_WIRE_OPENING;
}

void ri_wire_send(struct ri_wire *wire, const struct ri_link_message *message)
{
	static unsigned char frame[RI_SEAL_FRAME];
	static char json[RI_LINK_FRAME + 1];
	static struct ri_link_message last;	/* what json says; all nodes may get the same */
	static size_t length;
	struct ri_text text;
	size_t size;

	if (wire->state != RI_WIRE_OPEN)
		return;
	if (length == 0 || memcmp(&last, message, sizeof(last)) != 0) {
		text = ri_text_of(json, sizeof(json));
		length = ri_link_message_render(message, &text) < 0 ? 0 : text.length;
		last = *message;
	}
	size = length == 0 ? 0 : ri_seal_frame(&wire->seals.out, json, length, frame);
	if (size == 0)
		ri_wire_kill(wire, "a message cannot be made");
	else
		put(wire, frame, size);
}

/* An error that is no reset: the other machine or the network has been gone a while (tcp(7)). */
static void break_off(struct ri_wire *wire, int error)
{
	struct tcp_info info = { .tcpi_last_ack_recv = 0 };
	socklen_t size = sizeof(info);

	if (error != ECONNRESET &&
		getsockopt(wire->fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0)
		wire->quiet_ms = info.tcpi_last_ack_recv;
	ri_wire_kill(wire, strerror(error));
}

/* Returns how many of the bytes were used: whole openings and frames. */
static size_t take_bytes(struct ri_wire *wire, const unsigned char *bytes, size_t count)
{
	static struct ri_seal_opened opened;
	static struct ri_link_message message;
	enum ri_seal_result result;
	size_t used = 0;

	if (wire->state == RI_WIRE_GREETING)
		used = take_opening(wire, bytes, count);
	while (wire->state == RI_WIRE_OPEN) {
		result = ri_seal_open(&wire->seals.in, bytes + used, count - used, &opened);
		if (result == RI_SEAL_MORE)
			break;
		if (result == RI_SEAL_OPENED)
			used += opened.used;
		wire->foreign = result == RI_SEAL_BROKEN && !wire->proved;
		if (result == RI_SEAL_BROKEN)
			ri_wire_kill(wire, wire->foreign ? "it has another key, or is of another "
				"job" : "a frame was changed on its way");
		else if (ri_link_message_read(&message, (char *)opened.text, opened.length) < 0)
			ri_wire_kill(wire, "a message cannot be read");
		if (wire->state != RI_WIRE_OPEN)
			break;
		wire->proved = true;
		wire->until = INT64_MAX;
		wire->heard += !wire->calls && message.kind != RI_LINK_GROUPS &&
			!(message.kind == RI_LINK_TIME && wire->wires->keys->keyed);
		if (wire->heard > RI_WIRE_HEARS || !wire->wires->take(wire, &message))
			ri_wire_kill(wire, "it says what it may not say");
	}
	/* what comes while it ends is read, so that the kernel does not reset the connection */
	return wire->state == RI_WIRE_ENDING ? count : used;
}

static void read_some(struct ri_wire *wire)
{
	static unsigned char bytes[2 * RI_SEAL_FRAME];
	size_t count, used;
	bool is_all = false;
	ssize_t got;

	/* what comes behind a short read is polled for again */
	for (int i = 0; i < READS_AT_ONCE && !is_all && wire->state != RI_WIRE_DEAD; i++) {
		count = wire->in_count;
		if (count > 0)
			memcpy(bytes, wire->room->in, count);
		got = recv(wire->fd, bytes + count, sizeof(bytes) - count, MSG_DONTWAIT);
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			break_off(wire, errno);
		wire->closed = got == 0 && wire->in_count == 0;
		if (got == 0)
			ri_wire_kill(wire, wire->calls && wire->state == RI_WIRE_OPEN &&
				!wire->proved ? "it has another key, or is of another job"
				: "it closed the connection");
		if (got <= 0)
			return;
		is_all = (size_t)got < sizeof(bytes) - count;
		count += (size_t)got;
		used = take_bytes(wire, bytes, count);
		/* the beginning of a frame, at most */
		wire->in_count = wire->state == RI_WIRE_DEAD ? 0 : count - used;
		if (wire->in_count > 0)
			memcpy(need_room(wire)->in, bytes + used, wire->in_count);
		leave_room(wire);
	}
}

void ri_wire_go_on(struct ri_wire *wire, short events, int64_t now)
{
	int error = 0;
	socklen_t length = sizeof(error);

	if (wire->state == RI_WIRE_CONNECTING && events != 0) {
		if (getsockopt(wire->fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
			error = errno;
		if (error == 0) {
			wire->state = RI_WIRE_GREETING;
			greet(wire);
		} else {
			ri_wire_kill(wire, strerror(error));
		}
	} else if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) {
		read_some(wire);
	}
	if (wire->state != RI_WIRE_DEAD && (events & POLLOUT) != 0)
		flush(wire);
	if (wire->state == RI_WIRE_ENDING && wire->out_end == wire->out_begin)
		shutdown(wire->fd, SHUT_WR);
	if (now >= wire->until)
		ri_wire_kill(wire, wire->state == RI_WIRE_CONNECTING ? "no answer"
			: "what listens there does not speak as a node of this job");
}

bool ri_wire_has_arrived(const struct ri_wire *wire)
{
	struct tcp_info info = { .tcpi_unacked = 0 };
	socklen_t size = sizeof(info);

	return wire->out_end == wire->out_begin &&
		(getsockopt(wire->fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0 ||
		info.tcpi_unacked == 0);
}

void ri_wire_end(struct ri_wire *wire, int64_t now)
{
	if (wire->state != RI_WIRE_OPEN) {
		ri_wire_kill(wire, "it was not open");
		return;
	}
	wire->state = RI_WIRE_ENDING;
	wire->until = now + RI_WIRE_END_MS;
	if (wire->out_end == wire->out_begin)
		shutdown(wire->fd, SHUT_WR);
}
