/* SPDX-License-Identifier: Apache-2.0 */
/* Anything as /proc/net/tcp and tcp6, and what a node makes of the sockets in it. */
#include "fuzz.h"
#include "link/part.h"

static struct ri_arrivals arrivals;
static bool missing[4];

static void say(const struct ri_arrival_look *arrival)
{
	char line[RI_ARRIVAL_LINE];
	struct ri_text out;

	out = ri_text_of(line, sizeof(line));
	ri_arrival_say(&out, arrival);
	CHECK(out.length > 0 && fuzz_is_printable(line));
}

static void look(const struct ri_rendezvous *place, char *const *lines,
	const struct ri_arrival_host *hosts, size_t host_count)
{
	struct ri_arrival_look arrival = { .place = place, .ms = 30000, .why = "why" };
	static const char *const names[] = { "a", "b", "c", "d" };
	unsigned char node0[16];
	struct ri_socket socket;

	ri_socket_ipv4(node0, (unsigned char[]){ 10, 0, 0, 4 });
	memset(&arrivals, 0, sizeof(arrivals));
	arrivals.place = place;
	arrivals.masters = (const unsigned char (*)[16])&node0;
	arrivals.master_count = place->crowded;
	for (; *lines != NULL; lines++)
		if (ri_socket_read(&socket, *lines))
			ri_arrivals_add(&arrivals, &socket);
	CHECK(arrivals.peer_count <= arrivals.foreign);
	CHECK(place->node > 0 || arrivals.calling + arrivals.connected == 0);
	arrival.state = ri_arrivals_judge(&arrivals);
	arrival.arrivals = &arrivals;
	arrival.hosts = names;
	if (ri_arrivals_name(&arrivals, hosts, host_count, missing))
		arrival.missing = missing;
	say(&arrival);
	/* what a call of node 0 adds to that */
	for (int i = RI_ARRIVAL_NAMELESS; place->node > 0 && i <= RI_ARRIVAL_AWAY; i++) {
		arrival.state = (enum ri_arrival_state)i;
		say(&arrival);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *lines[257];
	struct ri_rendezvous place = { .nodes = 4, .ranks = 1, .host = "a", .port = 29500 };
	struct ri_arrival_host hosts[3] = { { .node = 1 }, { .node = 2 }, { .node = 3 } };

	/* 10.0.0.5 to 10.0.0.7 */
	for (unsigned char i = 0; i < 3; i++)
		ri_socket_ipv4(hosts[i].address, (unsigned char[]){ 10, 0, 0, 5 + i });
	fuzz_split(text, lines, 0, 256);
	look(&place, lines, hosts, 3);
	place.crowded = true;
	look(&place, lines, hosts, 3);
	place.node = 1;
	look(&place, lines, hosts, 3);
	place.crowded = false;
	look(&place, lines, hosts, 3);
	free(text);
	return 0;
}
