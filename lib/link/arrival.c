/* SPDX-License-Identifier: Apache-2.0 */
#include "link/part.h"

#include <inttypes.h>
#include <string.h>

enum { NAMED_MOST = 8, NAME_COLUMNS = 64 };

/*
 * Istio's sidecar passes on all incoming packets from this address of its own (Istio
 * pilot/pkg/networking/util/util.go, InboundPassthroughBindIpv4 and -Ipv6).
 */
static bool is_own(const struct ri_socket *socket)
{
	static const unsigned char four[16] = { [10] = 0xff, [11] = 0xff, 127, 0, 0, 6 };
	static const unsigned char six[16] = { [15] = 6 };
	const unsigned char *remote = socket->remote.address;

	return memcmp(remote, socket->local.address, 16) == 0 ||
		(ri_socket_is_loopback(remote) && memcmp(remote, four, sizeof(four)) != 0 &&
			memcmp(remote, six, sizeof(six)) != 0);
}

static bool is_free(const unsigned char address[16])
{
	static const unsigned char none[16];

	return memcmp(address, none, sizeof(none)) == 0;
}

/* A table with open addressing: a job may have tens of thousands of connections. */
static void add_peer(struct ri_arrivals *arrivals, const unsigned char address[16])
{
	uint32_t at = 0;

	for (size_t i = 0; i < 16; i++)
		at = at * 31 + address[i];
	for (size_t tries = 0; tries < RI_ARRIVAL_PEERS; tries++) {
		unsigned char *peer = arrivals->peers[(at + tries) % RI_ARRIVAL_PEERS];

		if (is_free(peer)) {
			memcpy(peer, address, 16);
			arrivals->peer_count++;
			return;
		}
		if (memcmp(peer, address, 16) == 0)
			return;
	}
}

void ri_arrivals_add(struct ri_arrivals *arrivals, const struct ri_socket *socket)
{
	bool is_master = arrivals->master_count == 0;

	if (arrivals->place->node == 0) {
		if (socket->local.port != arrivals->place->port)
			return;
		arrivals->listens = arrivals->listens || socket->state == RI_SOCKET_LISTEN;
		if (socket->state != RI_SOCKET_ESTABLISHED)
			return;
		if (is_own(socket)) {
			arrivals->own++;
			return;
		}
		arrivals->foreign++;
		add_peer(arrivals, socket->remote.address);
		return;
	}
	for (size_t i = 0; i < arrivals->master_count; i++)
		is_master = is_master ||
			memcmp(arrivals->masters[i], socket->remote.address, 16) == 0;
	if (socket->remote.port != arrivals->place->port || !is_master)
		return;
	if (socket->state == RI_SOCKET_SYN_SENT)
		arrivals->calling++;
	else
		arrivals->connected++;
}

enum ri_arrival_state ri_arrivals_judge(const struct ri_arrivals *arrivals)
{
	const struct ri_rendezvous *place = arrivals->place;
	size_t come = arrivals->own + arrivals->foreign;
	uint64_t others = place->nodes - 1;
	bool all;

	if (place->node > 0)
		return arrivals->connected > 0 ? RI_ARRIVAL_MET
			: arrivals->calling > 0 ? RI_ARRIVAL_SILENT : RI_ARRIVAL_AWAY;
	/* every rank connects, those of node 0 too */
	all = place->crowded ? come >= place->nodes * place->ranks
		: arrivals->peer_count >= others || arrivals->foreign >= others * place->ranks;
	return all ? RI_ARRIVAL_MET
		: arrivals->listens || come > 0 ? RI_ARRIVAL_PART : RI_ARRIVAL_DEAF;
}

/* The one node of this address; -1: none, or several. */
static int64_t find_node(const struct ri_arrival_host *hosts, size_t count,
	const unsigned char address[16])
{
	int64_t node = -1;

	for (size_t i = 0; i < count; i++) {
		if (memcmp(hosts[i].address, address, 16) != 0)
			continue;
		if (node >= 0 && (size_t)node != hosts[i].node)
			return -1;
		node = (int64_t)hosts[i].node;
	}
	return node;
}

bool ri_arrivals_name(const struct ri_arrivals *arrivals, const struct ri_arrival_host *hosts,
	size_t count, bool *missing)
{
	for (size_t node = 0; node < arrivals->place->nodes; node++)
		missing[node] = node != 0;
	for (size_t i = 0; i < RI_ARRIVAL_PEERS; i++) {
		const unsigned char *peer = arrivals->peers[i];
		int64_t node = is_free(peer) ? 0 : find_node(hosts, count, peer);

		if (node < 0 || (uint64_t)node >= arrivals->place->nodes)
			return false;
		missing[node] = false;
	}
	return !arrivals->place->crowded;
}

/* "worker-0:29500" */
static void add_place(struct ri_text *out, const struct ri_rendezvous *place)
{
	bool six = strchr(place->host, ':') != NULL;

	ri_text_add(out, six ? "[" : "");
	ri_text_add_shown(out, place->host, NAME_COLUMNS);
	ri_text_addf(out, "%s:%u", six ? "]" : "", place->port);
}

static void say_member(struct ri_text *out, const struct ri_arrival_look *look)
{
	const struct ri_rendezvous *place = look->place;

	ri_text_addf(out, "node %" PRIu64 " has not connected to node 0 (", place->node);
	add_place(out, place);
	ri_text_addf(out, ") in %g s: ", (double)look->ms / 1000);
	switch (look->state) {
	case RI_ARRIVAL_NAMELESS:
		ri_text_addf(out, "%s; does node 0 run, and is its name known on this node? getent "
			"hosts ", look->why);
		ri_text_add_shown(out, place->host, NAME_COLUMNS);
		break;
	case RI_ARRIVAL_REFUSED:
		ri_text_add(out, "no process listens there yet; look at the log of node 0");
		break;
	case RI_ARRIVAL_OPEN:
		ri_text_add(out, "node 0 listens; look at what the ranks of this node do");
		break;
	case RI_ARRIVAL_SILENT:
		ri_text_add(out, "no answer from there; does a firewall or a network policy drop "
			"the packets, or is that machine down?");
		break;
	case RI_ARRIVAL_UNREACHABLE:
		ri_text_addf(out, "%s; look at the networks of both nodes: ip route", look->why);
		break;
	default:
		ri_text_add(out, "look at the logs of both nodes");
	}
}

/* "; missing: worker-3 (node 3), worker-6 (node 6)" */
static void add_missing(struct ri_text *out, const struct ri_arrival_look *look)
{
	size_t count = 0, named = 0;

	for (uint64_t node = 0; node < look->place->nodes; node++)
		count += look->missing[node];
	ri_text_add(out, "; missing: ");
	for (uint64_t node = 0; node < look->place->nodes && named < NAMED_MOST; node++) {
		if (!look->missing[node])
			continue;
		ri_text_add(out, named++ > 0 ? ", " : "");
		ri_text_add_shown(out, look->hosts[node], NAME_COLUMNS);
		ri_text_addf(out, " (node %" PRIu64 ")", node);
	}
	if (count > named)
		ri_text_addf(out, " and %zu more", count - named);
	ri_text_addf(out, "; look at %s", count == 1 ? "its log" : "their logs");
}

static void say_part(struct ri_text *out, const struct ri_arrival_look *look)
{
	const struct ri_arrivals *arrivals = look->arrivals;
	uint64_t others = look->place->nodes - 1;
	size_t come = arrivals->own + arrivals->foreign;

	ri_text_addf(out, "node 0 listens on port %u, and in %g s ", look->place->port,
		(double)look->ms / 1000);
	if (look->place->crowded)
		ri_text_addf(out, "%zu connection%s come, but the job needs %" PRIu64 " or more",
			come, come == 1 ? " has" : "s have",
			look->place->nodes * look->place->ranks);
	else if (look->missing == NULL && arrivals->peer_count > 0)
		ri_text_addf(out, "processes of %zu other address%s have connected, but the job "
			"has %" PRIu64 " other nodes", arrivals->peer_count,
			arrivals->peer_count == 1 ? "" : "es", others);
	else
		ri_text_addf(out, "%zu of %" PRIu64 " other nodes ha%s connected",
			arrivals->peer_count, others, others == 1 ? "s" : "ve");
	if (look->missing != NULL && !look->place->crowded)
		add_missing(out, look);
	else
		ri_text_addf(out, "; look at the log%s of the other node%s",
			others == 1 ? "" : "s", others == 1 ? "" : "s");
}

void ri_arrival_say(struct ri_text *out, const struct ri_arrival_look *look)
{
	const struct ri_rendezvous *place = look->place;

	if (look->state == RI_ARRIVAL_PART) {
		say_part(out, look);
	} else if (look->state == RI_ARRIVAL_DEAF) {
		ri_text_addf(out, "no process of node 0 listens on port %u after %g s, so no other "
			"node can connect; look at what rank 0 does", place->port,
			(double)look->ms / 1000);
	} else if (look->state != RI_ARRIVAL_MET) {
		say_member(out, look);
	} else if (place->node == 0) {
		ri_text_addf(out, "the other nodes have connected to node 0 (port %u)",
			place->port);
	} else {
		ri_text_addf(out, "node %" PRIu64 " has connected to node 0 (", place->node);
		add_place(out, place);
		ri_text_add(out, ")");
	}
}
