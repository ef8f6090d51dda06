/* SPDX-License-Identifier: Apache-2.0 */
#include "link/helper_state.h"

#include <string.h>
#include <sys/random.h>

#include "node/sockets.h"
#include "system/own_proc.h"

enum {
	QUICK_MS = 10,		/* in a later attempt twice, four times ... as long until CALL_MS */
	CALL_MS = 500,		/* between two calls, and as much again at random */
	CALLS_LATER_MS = 300000,	/* without node 0; after that ten times as long */
};

/* Linux include/net/tcp_states.h: connections that exist, or that node 0 alone has closed. */
enum { ESTABLISHED = 1, CLOSE_WAIT = 8 };

struct look {
	uint16_t first;		/* our end of a connection with node 0's port, 0: there is none */
	bool lasts;		/* the one that was there before is there still */
};

static void take_socket(void *context, const struct ri_socket *socket)
{
	struct look *look = context;
	bool is_centre = false;

	for (int i = 0; i < ri_helper.found.count; i++)
		is_centre = is_centre ||
			memcmp(ri_helper.found.list[i], socket->remote.address, 16) == 0;
	if ((socket->state != ESTABLISHED && socket->state != CLOSE_WAIT) ||
		socket->remote.port != ri_helper.setup->meeting || !is_centre)
		return;
	look->first = look->first == 0 ? socket->local.port : look->first;
	look->lasts = look->lasts || socket->local.port == ri_helper.met_by;
}

/*
 * Have the ranks of this node met those of node 0, before any centre took it? Then it is of an
 * attempt that is older than a centre which comes now.
 */
static void look_whether_met(void)
{
	static char room[65536];
	struct look look = { .first = 0 };

	if (ri_helper.setup->meeting == 0 || ri_helper.member.met ||
		ri_helper.member.phase == RI_LINK_STARTING || ri_helper.member.met_at != 0)
		return;
	ri_tcp_table_read("/proc/self/net/tcp", room, sizeof(room), take_socket, &look);
	ri_tcp_table_read("/proc/self/net/tcp6", room, sizeof(room), take_socket, &look);
	/* twice the same one: what a proxy answers, before node 0 does, does not last */
	if (look.lasts)
		ri_helper.member.met_at = ri_helper.met_look;
	if (!look.lasts)
		ri_helper.met_by = look.first;
	ri_helper.met_look = ri_helper.now;
}

static void call_later(void)
{
	int64_t alone = ri_helper.now - ri_helper.alone_at;
	int64_t pause = alone > CALLS_LATER_MS ? 10 * CALL_MS : CALL_MS;
	uint32_t drawn = 0;

	look_whether_met();
	ri_helper.calling = false;
	/* node 0 left the last attempt with this node, and is about to listen */
	if (ri_helper.setup->restarts.attempt > 0 && !ri_helper.member.met) {
		ri_helper.quick_ms = ri_helper.quick_ms == 0 ? QUICK_MS : 2 * ri_helper.quick_ms;
		pause = ri_helper.quick_ms < pause ? ri_helper.quick_ms : pause;
	}
	if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) < 0)
		drawn = (uint32_t)ri_helper.now;
	ri_helper.call_at = ri_helper.now + pause + drawn % pause;
}

/* All addresses and ports at once: where packets are dropped each would take its time. */
static void call_all(const struct ri_addresses *found)
{
	const struct ri_link_part *part = &ri_helper.setup->part;
	union ri_socket_address address;
	socklen_t length;

	ri_helper.found = *found;
	ri_helper.member.self.call++;
	for (int n = 0; n < found->count; n++)
		for (size_t i = 0; i < RI_LINK_PORTS && part->ports[i] != 0; i++) {
			size_t session = ri_helper_take_line();

			if (session == 0)
				return;
			length = ri_socket_address_make(&address, found->list[n], part->ports[i]);
			ri_wire_call(&ri_helper.lines[session].wire, &address.any, length,
				ri_helper.now);
			ri_helper_tend(session);
			ri_helper.calling = true;
		}
}

void ri_helper_end_look_up(void)
{
	struct ri_addresses found;
	const char *why = ri_look_up_end(&ri_helper.look_up, &found);

	if (why == NULL)
		call_all(&found);
	else
		ri_member_lose(&ri_helper.member, why);
	if (!ri_helper.calling)
		call_later();
}

/* When no line calls any more, and no call has found node 0. */
void ri_helper_look_after_calls(void)
{
	const char *name = ri_helper.setup->part.centre, *why;
	struct ri_addresses found;
	bool calls = false;

	for (size_t i = 1; i < ri_helper.count; i++) {
		struct ri_wire *wire = &ri_helper.lines[i].wire;

		if (!wire->calls || wire->state == RI_WIRE_FREE || i == ri_helper.joined)
			continue;
		if (ri_helper.joined != 0 || ri_helper.member.over) {
			ri_wire_kill(wire, "another one was found");
			ri_helper_tend(i);
		} else {
			calls = true;
		}
	}
	if (ri_helper.calling && !calls)
		call_later();
	if (ri_helper.call_at == 0 && !ri_helper.calling && ri_helper.look_up.fd < 0 &&
		ri_helper.joined == 0 && ri_member_calls(&ri_helper.member))
		call_later();
	if (ri_helper.call_at == 0 || ri_helper.now < ri_helper.call_at ||
		!ri_member_calls(&ri_helper.member))
		return;
	ri_helper.call_at = 0;
	if (ri_address_read(&found, name)) {
		call_all(&found);
		return;
	}
	why = ri_look_up_begin(&ri_helper.look_up, name, ri_helper.now);
	if (why != NULL) {
		ri_member_lose(&ri_helper.member, why);
		call_later();
	}
}
