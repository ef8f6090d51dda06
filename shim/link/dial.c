/* SPDX-License-Identifier: Apache-2.0 */
#include "link/helper_state.h"

#include <sys/random.h>

enum {
	QUICK_MS = 10,		/* in a later attempt twice, four times ... as long until CALL_MS */
	CALL_MS = 500,		/* between two calls, and as much again at random */
	CALLS_LATER_MS = 300000,	/* without node 0; after that ten times as long */
};

static int64_t random_ms(int64_t below)
{
	uint32_t drawn = 0;

	if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) < 0)
		drawn = (uint32_t)ri_helper.now;
	return drawn % below;
}

static void call_later(void)
{
	int64_t alone = ri_helper.now - ri_helper.alone_at;
	int64_t pause = alone > CALLS_LATER_MS ? 10 * CALL_MS : CALL_MS;

	ri_helper_look_whether_met();
	ri_helper.calling = false;
	/* node 0 left the last attempt with this node, and is about to listen */
	if (ri_helper.setup->restarts.attempt > 0 && !ri_helper.member.met) {
		ri_helper.quick_ms = ri_helper.quick_ms == 0 ? QUICK_MS : 2 * ri_helper.quick_ms;
		pause = ri_helper.quick_ms < pause ? ri_helper.quick_ms : pause;
	}
	ri_helper.call_at = ri_helper.now + pause + random_ms(pause);
}

/* All addresses and ports at once: where packets are dropped each would take its time. */
static void call_all(const struct ri_addresses *found)
{
	const struct ri_link_part *part = &ri_helper.setup->part;
	union ri_socket_address address;
	socklen_t length;

	ri_helper.found = *found;
	for (int n = 0; n < found->count; n++)
		for (size_t i = 0; i < RI_LINK_PORTS && part->ports[i] != 0; i++) {
			size_t session = ri_helper_find_line();

			if (session == 0)
				return;
			length = ri_socket_address_make(&address, found->list[n], part->ports[i]);
			ri_wire_call(&ri_helper.lines[session].wire, &address.any, length,
				ri_helper.now);
			ri_helper.calling = true;
		}
}

static void begin_call(void)
{
	const char *name = ri_helper.setup->part.centre, *why;
	struct ri_addresses found;

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
	bool calls = false;

	for (size_t i = 1; i < ri_helper.count; i++) {
		struct ri_wire *wire = &ri_helper.lines[i].wire;

		if (!wire->calls || wire->state == RI_WIRE_FREE || i == ri_helper.joined)
			continue;
		if (ri_helper.joined != 0 || ri_helper.member.over)
			ri_wire_kill(wire, "another one was found");
		else
			calls = true;
	}
	if (ri_helper.calling && !calls)
		call_later();
	if (ri_helper.call_at == 0 && !ri_helper.calling && ri_helper.look_up.fd < 0 &&
		ri_helper.joined == 0 &&
		ri_member_calls(&ri_helper.member))
		call_later();
	if (ri_helper.call_at != 0 && ri_helper.now >= ri_helper.call_at &&
		ri_member_calls(&ri_helper.member))
		begin_call();
}
