/* SPDX-License-Identifier: Apache-2.0 */
#include "link/link.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "link/part.h"
#include "link/look_up.h"
#include "node/sockets.h"
#include "system/clock.h"
#include "system/log.h"
#include "system/mask.h"
#include "system/name_service.h"
#include "system/own_proc.h"
#include "system/helper.h"

enum {
	LINES = 3,		/* about nodes that have not met; more would say the same */
	LOOKS = 20,		/* more than a year, by the usual time */
	LOOK_S = 25,		/* what one may take, most of it for the name service */
	NAMES_MS = 15000,	/* for the names of the other nodes */
	AGAIN_MS = 3000,	/* a call without an answer is looked at twice */
	PORT_MS = 3000,		/* for an answer of node 0's port */
	NODES = RI_ARRIVAL_PEERS,		/* of more nodes none is named */
};

/* What the process that looks leaves behind. */
struct ri_roll_answer {
	enum ri_arrival_state state;
	char line[RI_ARRIVAL_LINE];
};

/* In the process that looks: memory that PID 1 never has. */
static struct looker {
	const struct ri_roll_call *roll;
	struct ri_arrivals arrivals;
	unsigned char masters[RI_NAME_ADDRESSES][16];
	struct ri_arrival_host hosts[NODES * RI_NAME_ADDRESSES];
	bool missing[NODES];
} *own;

static pid_t helper;

static char said[RI_ARRIVAL_LINE];	/* what was printed last */

static void answer(enum ri_arrival_state state, const char *why, const bool *missing)
{
	const struct ri_roll_call *roll = own->roll;
	struct ri_text out = ri_text_of(roll->answer->line, sizeof(roll->answer->line));

	ri_arrival_say(&out, &(struct ri_arrival_look){
		.place = &roll->place, .state = state, .why = why, .arrivals = &own->arrivals,
		.ms = (uint64_t)roll->first_ms << (roll->looks - 1),
		.missing = missing, .hosts = roll->hosts,
	});
	roll->answer->state = state;
}

static void take_socket(void *context, const struct ri_socket *socket)
{
	ri_arrivals_add(context, socket);
}

static enum ri_arrival_state look_at_sockets(size_t master_count)
{
	memset(&own->arrivals, 0, sizeof(own->arrivals));
	own->arrivals.place = &own->roll->place;
	own->arrivals.masters = (const unsigned char (*)[16])own->masters;
	own->arrivals.master_count = master_count;
	return ri_tcp_sockets_read(take_socket, &own->arrivals)
		? ri_arrivals_judge(&own->arrivals) : RI_ARRIVAL_UNSEEN;
}

/*
 * Does a process listen on node 0's port? Asked by the first packet of a connection alone, so that
 * the process does not hear of it: a rank 0 that counts what accept(2) returns would take ours for
 * a rank, and fail.
 *
 * The answer to that packet completes our side of the connection, and theirs waits for one packet
 * more. Without TCP_QUICKACK the kernel sends that up to 200 ms later (Linux net/ipv4/tcp_input.c,
 * tcp_rcv_synsent_state_process; TCP_DELACK_MAX), and by then the socket is closed, with SO_LINGER
 * of 0 by a reset: the other machine drops what it had begun. A filter on the socket would be more
 * certain, but from 2026 on Linux wants CAP_NET_ADMIN for one on TCP.
 *
 * Returns 0, or an errno; -1: the kernel refused a socket, or what makes it no connection.
 */
static int ask_port(const unsigned char address[16], uint16_t port)
{
	const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	union ri_socket_address to;
	socklen_t length = ri_socket_address_make(&to, address, port);
	int fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct pollfd reply = { .fd = fd, .events = POLLOUT };
	int error = -1;

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) == 0 &&
		setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &(int){ 0 }, sizeof(int)) == 0)
		error = connect(fd, &to.any, length) < 0 ? errno : 0;
	length = sizeof(error);
	if (error == EINPROGRESS && poll(&reply, 1, PORT_MS) <= 0)
		error = ETIMEDOUT;
	else if (error == EINPROGRESS &&
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
		error = errno;
	close(fd);
	return error;
}

/* No process of this node calls: does one listen there? The best answer of any address counts. */
static void ask_ports(int count)
{
	enum ri_arrival_state best = RI_ARRIVAL_AWAY;
	const char *why = NULL;

	for (int i = 0; i < count && best != RI_ARRIVAL_OPEN; i++) {
		int error = ask_port(own->masters[i], own->roll->place.port);

		if (error == 0) {
			best = RI_ARRIVAL_OPEN;
		} else if (error == ECONNREFUSED) {
			best = RI_ARRIVAL_REFUSED;
		} else if (error == ETIMEDOUT && best != RI_ARRIVAL_REFUSED) {
			best = RI_ARRIVAL_SILENT;
		} else if (error > 0 && error != ETIMEDOUT) {
			why = strerror(error);
			if (best == RI_ARRIVAL_AWAY)
				best = RI_ARRIVAL_UNREACHABLE;
		}
	}
	answer(best, why, NULL);
}

static void look_as_member(void)
{
	enum ri_arrival_state state = look_at_sockets(0);
	int count;

	/* by the port alone: there may be a name service that we do not know */
	if (state == RI_ARRIVAL_UNSEEN) {
		answer(state, NULL, NULL);
		return;
	}
	answer(RI_ARRIVAL_NAMELESS, "the name service does not answer", NULL);
	count = ri_name_addresses(own->roll->place.host, own->masters, RI_NAME_ADDRESSES);
	if (count > 0 || state == RI_ARRIVAL_AWAY)
		state = look_at_sockets(count > 0 ? (size_t)count : 0);
	if (state == RI_ARRIVAL_SILENT) {
		ri_mask_pause(AGAIN_MS);
		state = look_at_sockets(count > 0 ? (size_t)count : 0);
	}
	if (state != RI_ARRIVAL_AWAY)
		answer(state, NULL, NULL);
	else if (count > 0)
		ask_ports(count);
	else if (count != EAI_AGAIN)
		answer(RI_ARRIVAL_NAMELESS, count == EAI_NONAME ? "no such name"
			: "its name has no address", NULL);
}

static void look(void *context)
{
	const struct ri_roll_call *roll = context;
	enum ri_arrival_state state;
	size_t count = 0;
	int64_t until;

	own = ri_pages(sizeof(*own));
	if (own == NULL)
		_exit(1);
	own->roll = roll;
	if (roll->place.node > 0) {
		look_as_member();
		return;
	}
	state = look_at_sockets(0);
	answer(state, NULL, NULL);
	if (state != RI_ARRIVAL_PART || roll->hosts == NULL || roll->place.nodes > NODES)
		return;
	/* the others' names, as far as there is time: which of them have come? */
	until = ri_now_ms() + NAMES_MS;
	for (size_t node = 1; node < roll->place.nodes; node++) {
		unsigned char addresses[RI_NAME_ADDRESSES][16];
		int found = ri_name_addresses(roll->hosts[node], addresses, RI_NAME_ADDRESSES);

		for (int i = 0; i < found; i++, count++) {
			own->hosts[count].node = node;
			memcpy(own->hosts[count].address, addresses[i], 16);
		}
		if (ri_now_ms() >= until)
			return;
	}
	if (ri_arrivals_name(&own->arrivals, own->hosts, count, own->missing))
		answer(RI_ARRIVAL_PART, NULL, own->missing);
}

/* Do all ranks run, and shall they? */
static bool is_running(const struct ri_roll_call *roll)
{
	return roll->stop->signal == 0 && roll->children->living == roll->children->started;
}

const char *ri_roll_call_said(void)
{
	return said[0] == '\0' ? NULL : said;
}

static void say(struct ri_roll_call *roll)
{
	if (!is_running(roll))
		return;
	ri_text_copy(said, sizeof(said), roll->answer->line);
	/* what shall be quiet is, though the line is no warning */
	if (ri_log_shows(RI_LEVEL_WARNING))
		ri_log(RI_LEVEL_ALWAYS, "%s", said);
}

void ri_roll_call_take(void *context)
{
	struct ri_roll_call *roll = context;
	int status = SIGKILL;	/* where it stays so, its end is not known */

	if (!ri_helper_reap(&helper, &status))
		return;
	roll->answer->line[RI_ARRIVAL_LINE - 1] = '\0';
	/* where its time was over it has left what it knew */
	if (status != 0 && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM))
		return;
	switch (roll->answer->state) {
	case RI_ARRIVAL_UNSEEN:
		roll->over = true;
		break;
	case RI_ARRIVAL_MET:
		roll->over = true;
		if (roll->lines > 0)
			say(roll);
		break;
	default:
		if (roll->lines++ < LINES)
			say(roll);
	}
}

int64_t ri_roll_call_due(void *context)
{
	const struct ri_roll_call *roll = context;

	return roll->over || roll->looks == LOOKS || !is_running(roll) ? INT64_MAX
		: roll->begun + (roll->first_ms << roll->looks);
}

void ri_roll_call_act(void *context)
{
	struct ri_roll_call *roll = context;

	roll->looks++;
	ri_roll_call_take(roll);
	if (helper != 0 || roll->over)
		return;
	if (roll->answer == NULL)
		roll->answer = ri_pages_shared(sizeof(*roll->answer));
	if (roll->answer == NULL) {
		roll->over = true;
		return;
	}
	roll->answer->state = RI_ARRIVAL_UNSEEN;
	helper = ri_helper_start(&(struct ri_helper_task){
		.body = look, .context = roll, .signal = SIGIO, .user = RI_HELPER_NOBODY,
		.name = "rankinit-look", .seconds = LOOK_S,
	});
	roll->over = helper == 0;
}

void ri_roll_call_end(void)
{
	ri_helper_end(&helper, 0, NULL);
}
