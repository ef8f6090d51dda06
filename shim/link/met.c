/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Have the ranks of this node met those of node 0, before any centre took it? Then it is of an
 * attempt that is older than a centre which comes now.
 */
#include "link/helper_state.h"

#include <string.h>

#include "node/sockets.h"
#include "system/own_proc.h"

/* Linux include/net/tcp_states.h: connections that exist, or that node 0 alone has closed. */
enum { ESTABLISHED = 1, CLOSE_WAIT = 8 };

struct look {
	uint16_t first;		/* our end of a connection with node 0's port, 0: there is none */
	bool lasts;		/* the one that was there before is there still */
};

static bool is_centre(const unsigned char address[16])
{
	for (int i = 0; i < ri_helper.found.count; i++)
		if (memcmp(ri_helper.found.list[i], address, 16) == 0)
			return true;
	return false;
}

static void take(void *context, const struct ri_socket *socket)
{
	struct look *look = context;

	if ((socket->state != ESTABLISHED && socket->state != CLOSE_WAIT) ||
		socket->remote.port != ri_helper.setup->meeting ||
		!is_centre(socket->remote.address))
		return;
	look->first = look->first == 0 ? socket->local.port : look->first;
	look->lasts = look->lasts || socket->local.port == ri_helper.met_by;
}

void ri_helper_look_whether_met(void)
{
	static char room[65536];
	struct look look = { .first = 0 };

	if (ri_helper.setup->meeting == 0 || ri_helper.member.met ||
		ri_helper.member.phase == RI_LINK_STARTING || ri_helper.member.met_at != 0)
		return;
	ri_tcp_table_read("/proc/self/net/tcp", room, sizeof(room), take, &look);
	ri_tcp_table_read("/proc/self/net/tcp6", room, sizeof(room), take, &look);
	/* twice the same one: what a proxy answers, before node 0 does, does not last */
	if (look.lasts)
		ri_helper.member.met_at = ri_helper.met_look;
	if (!look.lasts)
		ri_helper.met_by = look.first;
	ri_helper.met_look = ri_helper.now;
}
