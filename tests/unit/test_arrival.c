/* SPDX-License-Identifier: Apache-2.0 */
/* What a node's sockets say of who has come, and the line about it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "link/part.h"
#include "thinned.h"

enum { PORT = 29500 };

static struct ri_arrivals arrivals;
static struct ri_rendezvous place;
static bool missing[11];

static void read_address(unsigned char out[16], const char *text)
{
	unsigned char ipv4[4];

	if (inet_pton(AF_INET, text, ipv4) == 1)
		ri_socket_ipv4(out, ipv4);
	else
		assert_int_equal(inet_pton(AF_INET6, text, out), 1);
}

static void begin(uint64_t node, uint64_t nodes, uint64_t ranks)
{
	place = (struct ri_rendezvous){
		.node = node, .nodes = nodes, .ranks = ranks, .host = "worker-0", .port = PORT,
	};
	memset(&arrivals, 0, sizeof(arrivals));
	arrivals.place = &place;
}

static void add(const char *local, unsigned local_port, const char *remote, unsigned remote_port,
	unsigned state)
{
	struct ri_socket socket = {
		.local.port = (uint16_t)local_port, .remote.port = (uint16_t)remote_port,
		.state = state,
	};

	read_address(socket.local.address, local);
	read_address(socket.remote.address, remote);
	ri_arrivals_add(&arrivals, &socket);
}

static void listen_here(void)
{
	add("::", PORT, "::", 0, RI_SOCKET_LISTEN);
}

/* At node 0, which is 10.0.0.1. */
static void accept_from(const char *address)
{
	add("10.0.0.1", PORT, address, 40000, RI_SOCKET_ESTABLISHED);
}

static const char *say(enum ri_arrival_state state, const char *why, bool named)
{
	static const char *const hosts[] = {
		"w-0", "w-1", "w-2", "w-3", "w-4", "w-5", "w-6", "w-7", "w-8", "w-9", "w-10",
	};
	static char line[RI_ARRIVAL_LINE];
	struct ri_text out;

	out = ri_text_of(line, sizeof(line));
	ri_arrival_say(&out, &(struct ri_arrival_look){
		.place = &place, .state = state, .ms = 30000, .why = why, .arrivals = &arrivals,
		.missing = named ? missing : NULL, .hosts = hosts,
	});
	return line;
}

static void node_0_waits_for_a_listener(void **state)
{
	(void)state;
	begin(0, 4, 1);
	assert_int_equal(ri_arrivals_judge(&arrivals), RI_ARRIVAL_DEAF);
	add("10.0.0.1", PORT + 1, "10.0.0.2", 40000, RI_SOCKET_ESTABLISHED);
	add("10.0.0.1", 40000, "10.0.0.2", PORT, RI_SOCKET_ESTABLISHED);
	add("::", PORT + 1, "::", 0, RI_SOCKET_LISTEN);
	assert_int_equal(ri_arrivals_judge(&arrivals), RI_ARRIVAL_DEAF);
	assert_string_equal(say(RI_ARRIVAL_DEAF, NULL, false), "no process of node 0 listens on "
		"port 29500 after 30 s, so no other node can connect; look at what rank 0 does");
	listen_here();
	assert_int_equal(ri_arrivals_judge(&arrivals), RI_ARRIVAL_PART);
	assert_string_equal(say(RI_ARRIVAL_PART, NULL, false), "node 0 listens on port 29500, and "
		"in 30 s 0 of 3 other nodes have connected; look at the logs of the other nodes");
}

/* Its own ranks connect, too, by its address or by a loopback one; others may not be done. */
static void node_0_counts_addresses(void **state)
{
	(void)state;
	begin(0, 3, 8);
	listen_here();
	accept_from("10.0.0.1");
	add("127.0.1.1", PORT, "127.0.0.1", 40000, RI_SOCKET_ESTABLISHED);
	add("10.0.0.1", PORT, "10.0.0.9", 40000, RI_SOCKET_SYN_SENT);
	accept_from("10.0.0.2");
	accept_from("10.0.0.2");
	assert_int_equal(arrivals.own, 2);
	assert_int_equal(arrivals.foreign, 2);
	assert_int_equal(arrivals.peer_count, 1);
	assert_int_equal(ri_arrivals_judge(&arrivals), RI_ARRIVAL_PART);
	assert_string_equal(say(RI_ARRIVAL_PART, NULL, false), "node 0 listens on port 29500, and "
		"in 30 s processes of 1 other address have connected, but the job has 2 other "
		"nodes; look at the logs of the other nodes");
	accept_from("::ffff:10.0.0.3");
	assert_int_equal(ri_arrivals_judge(&arrivals), RI_ARRIVAL_MET);
	assert_string_equal(say(RI_ARRIVAL_MET, NULL, false),
		"the other nodes have connected to node 0 (port 29500)");
}

/* Behind one address there may be several nodes: with so many connections all may have come. */
static void nodes_may_share_an_address(void **state)
{
	(void)state;
	begin(0, 3, 2);
	listen_here();
	for (int i = 0; i < 3; i++)
		accept_from("10.0.0.2");
	assert_int_equal(ri_arrivals_judge(&arrivals), RI_ARRIVAL_PART);
	accept_from("10.0.0.2");
	assert_int_equal(ri_arrivals_judge(&arrivals), RI_ARRIVAL_MET);
	/* Istio's sidecar */
	begin(0, 2, 1);
	add("127.0.0.1", PORT, "127.0.0.6", 40000, RI_SOCKET_ESTABLISHED);
	assert_int_equal(ri_arrivals_judge(&arrivals), RI_ARRIVAL_MET);
	begin(0, 2, 1);
	add("::1", PORT, "::6", 40000, RI_SOCKET_ESTABLISHED);
	assert_int_equal(ri_arrivals_judge(&arrivals), RI_ARRIVAL_MET);
}

static void several_nodes_of_one_machine(void **state)
{
	(void)state;
	begin(0, 2, 2);
	place.crowded = true;
	listen_here();
	for (int i = 0; i < 3; i++)
		accept_from("127.0.0.1");
	assert_int_equal(ri_arrivals_judge(&arrivals), RI_ARRIVAL_PART);
	assert_string_equal(say(RI_ARRIVAL_PART, NULL, false), "node 0 listens on port 29500, and "
		"in 30 s 3 connections have come, but the job needs 4 or more; look at the log of "
		"the other node");
	accept_from("127.0.0.1");
	assert_int_equal(ri_arrivals_judge(&arrivals), RI_ARRIVAL_MET);
}

/* Each is looked for among those before it, so below valgrind most are there already. */
static void more_addresses_than_there_is_room_for(void **state)
{
	const size_t there = thinned(0, RI_ARRIVAL_PEERS - 10);
	char text[32];

	(void)state;
	begin(0, RI_MAX_RANKS, 1);
	for (size_t i = 0; i < RI_ARRIVAL_PEERS + 100; i++) {
		snprintf(text, sizeof(text), "11.%zu.%zu.%zu", i >> 16, i >> 8 & 255, i & 255);
		if (i >= there)
			accept_from(text);
		else
			read_address(arrivals.peers[arrivals.peer_count++], text);
	}
	assert_int_equal(arrivals.peer_count, RI_ARRIVAL_PEERS);
	assert_int_equal(arrivals.foreign, RI_ARRIVAL_PEERS + 100 - there);
}

static struct ri_arrival_host hosts[8];

static void set_hosts(const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		hosts[i].node = i + 1;
		read_address(hosts[i].address, texts[i]);
	}
}

static void names_who_is_missing(void **state)
{
	static const char *const texts[] = { "10.0.0.2", "10.0.0.3", "10.0.0.4" };

	(void)state;
	set_hosts(texts, 3);
	begin(0, 4, 1);
	listen_here();
	assert_true(ri_arrivals_name(&arrivals, hosts, 3, missing));
	assert_memory_equal(missing, ((bool[]){ false, true, true, true }), 4 * sizeof(bool));
	accept_from("10.0.0.3");
	assert_true(ri_arrivals_name(&arrivals, hosts, 3, missing));
	assert_memory_equal(missing, ((bool[]){ false, true, false, true }), 4 * sizeof(bool));
	assert_string_equal(say(RI_ARRIVAL_PART, NULL, true), "node 0 listens on port 29500, and "
		"in 30 s 1 of 3 other nodes have connected; missing: w-1 (node 1), w-3 (node 3); "
		"look at their logs");
	missing[1] = false;
	assert_string_equal(say(RI_ARRIVAL_PART, NULL, true), "node 0 listens on port 29500, and "
		"in 30 s 1 of 3 other nodes have connected; missing: w-3 (node 3); look at its "
		"log");
}

static void names_nobody_who_is_not_certain(void **state)
{
	static const char *const apart[] = { "10.0.0.2", "10.0.0.3", "10.0.0.4" };
	static const char *const shared[] = { "10.0.0.2", "10.0.0.2", "10.0.0.4" };

	(void)state;
	set_hosts(apart, 3);
	begin(0, 4, 1);
	accept_from("10.0.0.99");
	assert_false(ri_arrivals_name(&arrivals, hosts, 3, missing));
	set_hosts(shared, 3);
	begin(0, 4, 1);
	accept_from("10.0.0.2");
	assert_false(ri_arrivals_name(&arrivals, hosts, 3, missing));
	/* the same node by two addresses is certain */
	hosts[1].node = 1;
	assert_true(ri_arrivals_name(&arrivals, hosts, 3, missing));
	place.crowded = true;
	assert_false(ri_arrivals_name(&arrivals, hosts, 3, missing));
}

static void at_most_eight_names(void **state)
{
	(void)state;
	begin(0, 9, 1);
	memset(missing, 1, sizeof(missing));
	missing[0] = false;
	assert_non_null(strstr(say(RI_ARRIVAL_PART, NULL, true), ", w-8 (node 8); look"));
	begin(0, 11, 1);
	assert_non_null(strstr(say(RI_ARRIVAL_PART, NULL, true),
		", w-8 (node 8) and 2 more; look"));
}

static void another_node_sees_its_own_connections(void **state)
{
	static unsigned char masters[2][16];

	(void)state;
	begin(1, 2, 1);
	assert_int_equal(ri_arrivals_judge(&arrivals), RI_ARRIVAL_AWAY);
	/* a server of its own, and somebody else's port */
	add("10.0.0.2", PORT, "10.0.0.1", 40000, RI_SOCKET_ESTABLISHED);
	add("10.0.0.2", 40000, "10.0.0.1", PORT + 1, RI_SOCKET_ESTABLISHED);
	assert_int_equal(ri_arrivals_judge(&arrivals), RI_ARRIVAL_AWAY);
	add("10.0.0.2", 40000, "10.0.0.1", PORT, RI_SOCKET_SYN_SENT);
	assert_int_equal(ri_arrivals_judge(&arrivals), RI_ARRIVAL_SILENT);
	add("10.0.0.2", 40001, "10.0.0.1", PORT, RI_SOCKET_ESTABLISHED);
	assert_int_equal(ri_arrivals_judge(&arrivals), RI_ARRIVAL_MET);
	/* where its addresses are known they count, any of them */
	begin(1, 2, 1);
	read_address(masters[0], "2001:db8::1");
	read_address(masters[1], "10.0.0.1");
	arrivals.masters = (const unsigned char (*)[16])masters;
	arrivals.master_count = 2;
	add("10.0.0.2", 40000, "10.0.0.7", PORT, RI_SOCKET_ESTABLISHED);
	assert_int_equal(ri_arrivals_judge(&arrivals), RI_ARRIVAL_AWAY);
	/* it was there, and ended meanwhile: TIME_WAIT */
	add("10.0.0.2", 40000, "10.0.0.1", PORT, 6);
	assert_int_equal(ri_arrivals_judge(&arrivals), RI_ARRIVAL_MET);
}

static void lines_of_the_other_nodes(void **state)
{
#define HEAD "node 1 has not connected to node 0 (worker-0:29500) in 30 s: "
	static const struct { enum ri_arrival_state state; const char *line; } lines[] = {
		{ RI_ARRIVAL_NAMELESS, HEAD "why; does node 0 run, and is its name known on this "
			"node? getent hosts worker-0" },
		{ RI_ARRIVAL_REFUSED, HEAD "no process listens there yet; look at the log of "
			"node 0" },
		{ RI_ARRIVAL_OPEN, HEAD "node 0 listens; look at what the ranks of this node do" },
		{ RI_ARRIVAL_SILENT, HEAD "no answer from there; does a firewall or a network "
			"policy drop the packets, or is that machine down?" },
		{ RI_ARRIVAL_UNREACHABLE, HEAD "why; look at the networks of both nodes: ip "
			"route" },
		{ RI_ARRIVAL_AWAY, HEAD "look at the logs of both nodes" },
		{ RI_ARRIVAL_MET, "node 1 has connected to node 0 (worker-0:29500)" },
	};

	(void)state;
	begin(1, 2, 1);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_string_equal(say(lines[i].state, "why", false), lines[i].line);
	place.host = "2001:db8::1";
	assert_string_equal(say(RI_ARRIVAL_MET, NULL, false),
		"node 1 has connected to node 0 ([2001:db8::1]:29500)");
	place.host = "a\033[2Jb";
	assert_null(strchr(say(RI_ARRIVAL_REFUSED, NULL, false), '\033'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(node_0_waits_for_a_listener),
		cmocka_unit_test(node_0_counts_addresses),
		cmocka_unit_test(nodes_may_share_an_address),
		cmocka_unit_test(several_nodes_of_one_machine),
		cmocka_unit_test(more_addresses_than_there_is_room_for),
		cmocka_unit_test(names_who_is_missing),
		cmocka_unit_test(names_nobody_who_is_not_certain),
		cmocka_unit_test(at_most_eight_names),
		cmocka_unit_test(another_node_sees_its_own_connections),
		cmocka_unit_test(lines_of_the_other_nodes),
	};

	return cmocka_run_group_tests_name("arrival", tests, NULL, NULL);
}
