/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a peer sends to the centre's side of a connection, in pieces of any size. The input is
 * a list of what it does: 'f' and a length: so many bytes as the text of an honest frame;
 * 'r' and a length: so many bytes as they are; 'm' and a number: an honest message; 'd' and a
 * number: so many bytes of all that arrive now. wire.c is part of this program.
 */
#include <poll.h>

#include "fuzz.h"
#include "../../shim/link/wire.c"

enum { MESSAGES_MOST = 4096, STREAM_MOST = 1 << 20 };

static struct {
	struct ri_wire wire;
	struct ri_wire_room room;
	struct ri_wires wires;
	struct ri_wire_keys keys;
	struct ri_seal_pair seals;	/* the peer's */
	int fd;				/* its end */
	unsigned char stream[STREAM_MOST];	/* not delivered yet */
	size_t count;
	enum ri_link_kind said[MESSAGES_MOST];	/* by honest frames */
	size_t frames, taken, counted;
	bool broken;			/* something else was sent: nothing behind it counts */
} own;

static const char *const messages[] = {
	"{\"say\":\"heard\"}",
	"{\"say\":\"phase\",\"phase\":\"running\"}",
	"{\"say\":\"news\",\"text\":\"x\\n\"}",
	"{\"say\":\"end\",\"class\":\"own\",\"fatal\":true,\"text\":\"x\\n\"}",
	"{\"say\":\"verdict\",\"node\":1,\"named\":true,\"order\":true,\"text\":\"x\\n\"}",
};

static void open_(struct ri_wire *wire)
{
	CHECK(wire == &own.wire && wire->state == RI_WIRE_OPEN);
}

static bool take(struct ri_wire *wire, const struct ri_link_message *message)
{
	CHECK(wire == &own.wire && wire->state == RI_WIRE_OPEN);
	CHECK(own.taken < own.frames && message->kind == own.said[own.taken]);
	own.taken++;
	own.counted += message->kind != RI_LINK_GROUPS;
	ri_wire_send(wire, message);
	if (message->kind == RI_LINK_END)
		ri_wire_end(wire, 0);
	return message->kind != RI_LINK_VERDICT;
}

static void go_on(short events)
{
	ri_wire_go_on(&own.wire, events, 0);
	CHECK(own.wire.in_count <= RI_SEAL_FRAME && own.wire.out_end <= RI_WIRE_OUT);
	CHECK(own.wire.state != RI_WIRE_DEAD || own.wire.why != NULL);
	CHECK(own.wire.proved || own.taken == 0);
}

/* In pieces that the socket takes at once. */
static void deliver(size_t most)
{
	ssize_t sent;
	size_t count = own.count < most ? own.count : most, at = 0;

	while (at < count && own.wire.state != RI_WIRE_DEAD) {
		sent = send(own.fd, own.stream + at, count - at < 4096 ? count - at : 4096,
			MSG_DONTWAIT | MSG_NOSIGNAL);
		CHECK(sent > 0);
		at += (size_t)sent;
		go_on(POLLIN);
	}
	memmove(own.stream, own.stream + count, own.count - count);
	own.count -= count;
}

static void put_bytes(const void *bytes, size_t count)
{
	if (count > STREAM_MOST - own.count)
		deliver(own.count);
	memcpy(own.stream + own.count, bytes, count);
	own.count += count;
}

static void put_frame(const char *text, size_t length)
{
	static unsigned char frame[RI_SEAL_FRAME];
	static struct ri_link_message message;

	if (own.frames < MESSAGES_MOST && !own.broken) {
		if (ri_link_message_read(&message, text, length) == 0)
			own.said[own.frames++] = message.kind;
		else
			own.broken = true;
	}
	put_bytes(frame, ri_seal_frame(&own.seals.out, text, length, frame));
}

/*
 * Both openings, which have to come first: an honest one, or a peer without a key ('k'), with a
 * point of zeroes ('z') or of another version, whose opening is shorter ('v').
 */
static void begin_peer(char kind)
{
	static const unsigned char scalar[RI_SEAL_SCALAR] = { 1 };
	unsigned char opening[RI_WIRE_OPENING] = { 'R', 'K', 'L', kind == 'v' ? '1' : '4' };
	struct ri_seal_openings openings;
	bool fits = kind != 'k' && kind != 'z' && kind != 'v';
	size_t size = kind == 'v' ? 37 : sizeof(opening);
	int ends[2];

	memset(&own, 0, sizeof(own));
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	own.fd = ends[0];
	own.keys.keyed = true;
	own.wires = (struct ri_wires){ .keys = &own.keys, .open = open_, .take = take,
		.rooms = &own.room };
	own.wire.wires = &own.wires;
	ri_wire_accept(&own.wire, ends[1], 0);
	opening[4] = kind != 'k';
	if (kind != 'z')
		ri_seal_point(opening + RI_WIRE_OPENING - RI_SEAL_POINT, scalar);
	memcpy(openings.node, opening, RI_WIRE_OPENING);
	put_bytes(opening, size);
	deliver(RI_WIRE_HEAD - 1);
	CHECK(own.wire.state == RI_WIRE_GREETING);
	deliver(1);
	CHECK((own.wire.state == RI_WIRE_DEAD) == (kind == 'k' || kind == 'v'));
	deliver(own.count);
	CHECK(own.wire.state == (fits ? RI_WIRE_OPEN : RI_WIRE_DEAD));
	CHECK(recv(own.fd, openings.centre, RI_WIRE_OPENING, MSG_DONTWAIT) == RI_WIRE_OPENING);
	CHECK(ri_seal_begin(&own.seals, own.keys.job, RI_SEAL_NODE, &openings, scalar) == 0);
}

static void play(const char *bytes, size_t size)
{
	for (size_t at = 0; at + 2 <= size;) {
		char what = bytes[at];
		size_t number = (unsigned char)bytes[at + 1], left = size - at - 2;
		const char *message = messages[number % (sizeof(messages) / sizeof(messages[0]))];
		size_t length = number < left ? number : left;

		at += 2;
		if (what == 'd') {
			deliver(number);
		} else if (what == 'm') {
			put_frame(message, strlen(message));
		} else if (what == 'f' || what == 'r') {
			if (what == 'f')
				put_frame(bytes + at, length);
			else
				put_bytes(bytes + at, length);
			own.broken = own.broken || (what == 'r' && length > 0);
			at += length;
		}
	}
}

static void finish(void)
{
	bool ended;

	deliver(own.count);
	ended = own.wire.state != RI_WIRE_OPEN;
	CHECK(ended || own.taken == own.frames);
	CHECK(ended || own.counted < RI_WIRE_HEARS + 1);
	shutdown(own.fd, SHUT_WR);
	for (int i = 0; i < 8; i++)
		go_on(POLLIN | POLLHUP);
	CHECK(own.wire.state == RI_WIRE_DEAD);
	ri_wire_close(&own.wire);
	CHECK(own.wire.state == RI_WIRE_FREE && own.wire.room == NULL && own.wires.used <= 1);
	close(own.fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = fuzz_string(data, size);

	begin_peer(size == 0 ? '\0' : bytes[0]);
	play(bytes, size);
	finish();
	free(bytes);
	return 0;
}
