/* SPDX-License-Identifier: Apache-2.0 */
#include "link/own.h"

#include <sys/random.h>

enum {
	CALL_MS = 500,		/* between two calls, and as much again at random */
	CALLS_LATER_MS = 300000,	/* without node 0; after that ten times as long */
};

static int64_t random_ms(int64_t below)
{
	uint32_t drawn = 0;

	if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) < 0)
		drawn = (uint32_t)ri_own.now;
	return drawn % below;
}

static void call_later(void)
{
	int64_t pause = ri_own.now - ri_own.alone_at > CALLS_LATER_MS ? 10 * CALL_MS : CALL_MS;

	ri_own_look_whether_met();
	ri_own.calling = false;
	ri_own.call_at = ri_own.now + pause + random_ms(pause);
}

/* All addresses and ports at once: where packets are dropped each would take its time. */
static void call_all(const struct ri_addresses *found)
{
	const struct ri_link_part *part = &ri_own.setup->part;
	union ri_socket_address address;
	socklen_t length;

	ri_own.found = *found;
	for (int n = 0; n < found->count; n++)
		for (size_t i = 0; i < RI_LINK_PORTS && part->ports[i] != 0; i++) {
			size_t session = ri_own_find_line();

			if (session == 0)
				return;
			length = ri_socket_address_make(&address, found->list[n], part->ports[i]);
			ri_wire_call(&ri_own.lines[session].wire, &address.any, length,
				ri_own.now);
			ri_own.calling = true;
		}
}

static void begin_call(void)
{
	const char *name = ri_own.setup->part.centre, *why;
	struct ri_addresses found;

	ri_own.call_at = 0;
	if (ri_address_read(&found, name)) {
		call_all(&found);
		return;
	}
	why = ri_look_up_begin(&ri_own.look_up, name, ri_own.now);
	if (why != NULL) {
		ri_member_lose(&ri_own.member, why);
		call_later();
	}
}

void ri_own_end_look_up(void)
{
	struct ri_addresses found;
	const char *why = ri_look_up_end(&ri_own.look_up, &found);

	if (why == NULL)
		call_all(&found);
	else
		ri_member_lose(&ri_own.member, why);
	if (!ri_own.calling)
		call_later();
}

/* When no line calls any more, and nobody was found. */
void ri_own_look_after_calls(void)
{
	bool calls = false;

	for (size_t i = 1; i < ri_own.count; i++) {
		struct ri_wire *wire = &ri_own.lines[i].wire;

		if (!wire->calls || wire->state == RI_WIRE_FREE || i == ri_own.joined)
			continue;
		if (ri_own.joined != 0 || ri_own.member.over)
			ri_wire_kill(wire, "another one was found");
		else
			calls = true;
	}
	if (ri_own.calling && !calls)
		call_later();
	if (ri_own.call_at == 0 && !ri_own.calling && ri_own.look_up.fd < 0 && ri_own.joined == 0 &&
		ri_member_calls(&ri_own.member))
		call_later();
	if (ri_own.call_at != 0 && ri_own.now >= ri_own.call_at && ri_member_calls(&ri_own.member))
		begin_call();
}
