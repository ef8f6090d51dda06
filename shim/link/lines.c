/* SPDX-License-Identifier: Apache-2.0 */
#include "link/helper_state.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "node/sockets.h"
#include "system/clock.h"
#include "system/log.h"
#include "system/own_proc.h"

enum {
	QUICK_MS = 10,		/* in a later attempt twice, four times ... as long until CALL_MS */
	CALL_MS = 500,		/* between two calls, and as much again at random */
	CALLS_LATER_MS = 300000,	/* without node 0; after that ten times as long */
};

_Static_assert((int)RI_GROUPS_MAX <= (int)RI_LINK_GROUPS_TEXT, "a node's groups fit");

static void say(void *context, const char *lines)
{
	size_t length;

	(void)context;
	for (; *lines != '\0'; lines += length + (lines[length] == '\n')) {
		length = strcspn(lines, "\n");
		ri_log(RI_LEVEL_ALWAYS, "%.*s", (int)length, lines);
	}
}

/*
 * Where PID 1's socket is full or closed the message is lost. All nodes leave an attempt, or none
 * does: only who goes on needs the key, and its helper alone has it.
 */
static void tell_init(void *context, const struct ri_link_message *message)
{
	static struct ri_link_message told;
	static struct ri_link_groups none;	/* a constant would lie in the binary */

	(void)context;
	if (message->kind == RI_LINK_LOOK && ri_helper.closing) {	/* its ranks are gone */
		ri_member_tell_groups(&ri_helper.member, &none, ri_helper.now);
		return;
	}
	if (message->kind == RI_LINK_ASK && ri_helper.closing && ri_helper.member.has_end) {
		ri_member_answer(&ri_helper.member, message->ask.number);
		return;
	}
	if (message->kind == RI_LINK_VERDICT)
		dup2(ri_helper.inner, STDIN_FILENO);	/* where its place was: see PID 1's side */
	told = *message;
	if (told.kind == RI_LINK_GO && told.go.go && told.go.step == RI_LINK_LEAVE)
		ri_seal_next_key(told.go.key, ri_helper.setup->keys.job,
			ri_helper.member.self.centre.bytes);
	if (send(ri_helper.inner, &told, sizeof(told), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		ri_log(RI_LEVEL_NOTE, "link: %s", strerror(errno));
	ri_seal_wipe(&told, sizeof(told));
}

static const char *name_of(void *context, size_t node)
{
	const struct ri_fact *hosts = &ri_helper.setup->job->topology->facts[RI_FACT_HOSTS];

	(void)context;
	return hosts->state == RI_STATE_KNOWN && node < hosts->number ? hosts->list[node] : NULL;
}

static int64_t read_us(clockid_t clock)
{
	struct timespec now;

	ri_clock_read(clock, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void ri_helper_look_at_clocks(void)
{
	int64_t before = read_us(CLOCK_BOOTTIME), wall = read_us(CLOCK_REALTIME);
	int64_t now = read_us(CLOCK_BOOTTIME), half = (now - before) / 2;

	ri_clocks_see(&ri_helper.member.wall, wall - before - half, half + 1, now);
}

/*
 * The centre's answer has its clocks, and was made between the question and now. Only one with
 * the secret is believed.
 */
static void compare_clocks(const struct ri_line *line, const struct ri_link_time *time)
{
	struct ri_link_noted *noted = ri_helper.setup->noted;
	int64_t now = read_us(CLOCK_BOOTTIME), half = (now - line->asked_us) / 2;

	if (time->clock_us == 0 || time->clock_us > RI_LINK_CLOCK || time->boot_us == 0 ||
		time->boot_us > RI_LINK_CLOCK || !ri_helper.setup->keys.keyed ||
		!ri_clocks_see(&ri_helper.member.node_0, now - half - (int64_t)time->boot_us,
			half + 1, (int64_t)time->boot_us) ||
		noted == NULL)
		return;
	noted->ahead_us = read_us(CLOCK_REALTIME) - half - (int64_t)time->clock_us;
	noted->error_us = half + 1;
	noted->compared = true;
}

/* Of node 0, just now. */
static struct ri_link_time read_clocks(void)
{
	return (struct ri_link_time){ .clock_us = (uint64_t)read_us(CLOCK_REALTIME),
		.boot_us = (uint64_t)read_us(CLOCK_BOOTTIME) };
}

/* Keep the last news for the report: of nodes that have not come, or are silent. */
static void keep_news(const struct ri_link_message *message)
{
	struct ri_link_noted *noted = ri_helper.setup->noted;

	if (message->kind == RI_LINK_NEWS && message->news.text[0] != '\0' && noted != NULL)
		ri_text_copy(ri_helper.setup->keys.keyed ? noted->roll_call : noted->unproved,
			RI_LINK_TEXT, message->news.text);
}

/* Send a message of the centre. Node 0's own member, session 0, gets it without a wire. */
static void send_to(void *context, size_t session, const struct ri_link_message *message)
{
	static struct ri_link_message hello;

	(void)context;
	if (session == 0) {
		keep_news(message);
		ri_member_hear(&ri_helper.member, message, ri_helper.now);
	} else if (message->kind == RI_LINK_HELLO) {
		hello = *message;
		hello.hello.time = read_clocks();
		ri_wire_send(&ri_helper.lines[session].wire, &hello);
	} else {
		ri_wire_send(&ri_helper.lines[session].wire, message);
	}
	ri_helper_tend(session);
}

static void drop(void *context, size_t session)
{
	(void)context;
	if (session != 0) {
		ri_helper.lines[session].node = -1;
		ri_wire_end(&ri_helper.lines[session].wire, ri_helper.now);
		ri_helper_tend(session);
	}
}

static bool has_arrived(void *context, size_t session)
{
	(void)context;
	return session == 0 || ri_wire_has_arrived(&ri_helper.lines[session].wire);
}

/* What the node of a session says. False for what a member does not say. */
static bool hear_node(size_t node, size_t session, const struct ri_link_message *message)
{
	static struct ri_link_message time;

	if (message->kind != RI_LINK_TIME)
		return ri_centre_hear(&ri_helper.centre, node, session, message, ri_helper.now);
	time.kind = RI_LINK_TIME;
	time.time = read_clocks();
	send_to(NULL, session, &time);
	return true;
}

static void send_to_centre(void *context, const struct ri_link_message *message)
{
	size_t session = ri_helper.joined != 0 ? ri_helper.joined : ri_helper.current;

	(void)context;
	if (message->kind == RI_LINK_HELLO || message->kind == RI_LINK_TIME) {
		ri_helper_look_at_clocks();
		ri_helper.lines[session].asked_us = read_us(CLOCK_BOOTTIME);
	}
	if (ri_helper.is_centre && message->kind == RI_LINK_HELLO) {
		ri_centre_hello(&ri_helper.centre, 0, &message->hello, ri_helper.now);
	} else if (ri_helper.is_centre) {
		hear_node(0, 0, message);
	} else {
		ri_wire_send(&ri_helper.lines[session].wire, message);
		ri_helper_tend(session);
	}
}

static void open_line(struct ri_wire *wire)
{
	if (wire->calls && ri_helper.joined == 0)
		ri_member_connect(&ri_helper.member, ri_helper.now);
}

/* Also where this process is killed, for as long as PID 1 lives: link.h says how. */
static void keep_open(int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} rights = { .head = { .cmsg_len = CMSG_LEN(sizeof(fd)), .cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS } };
	char byte = 0;
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &rights,
		.msg_controllen = sizeof(rights.room) };

	memcpy(CMSG_DATA(&rights.head), &fd, sizeof(fd));
	if (sendmsg(ri_helper.setup->kept[1], &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		ri_log(RI_LEVEL_NOTE, "link: %s", strerror(errno));
}

/* The kernel closes a descriptor that came with what is read without room for it. */
static void keep_no_longer(void)
{
	char byte;

	if (recv(ri_helper.setup->kept[0], &byte, 1, MSG_DONTWAIT) < 0)
		ri_log(RI_LEVEL_NOTE, "link: %s", strerror(errno));
}

/* The first centre that proves itself is the one that this member joins. */
static bool hear_centre(size_t session, const struct ri_link_message *message)
{
	if (ri_helper.joined != 0 && ri_helper.joined != session)
		return false;
	/* first: an end that waits for the answer is told by the clock of node 0 */
	if (message->kind == RI_LINK_TIME)
		compare_clocks(&ri_helper.lines[session], &message->time);
	else if (message->kind == RI_LINK_HELLO && (message->hello.place == RI_LINK_TAKEN ||
		message->hello.place == RI_LINK_GUEST))
		compare_clocks(&ri_helper.lines[session], &message->hello.time);
	if (!ri_member_hear(&ri_helper.member, message, ri_helper.now))
		return false;
	keep_news(message);
	if (ri_helper.member.joined && ri_helper.joined == 0) {
		ri_helper.joined = session;
		keep_open(ri_helper.lines[session].wire.fd);
	}
	if (ri_helper.member.closed || ri_helper.member.over)
		ri_wire_end(&ri_helper.lines[session].wire, ri_helper.now);
	return true;
}

static bool take(struct ri_wire *wire, const struct ri_link_message *message)
{
	size_t session = ri_helper.current;
	struct ri_line *line = &ri_helper.lines[session];

	if (wire->calls)
		return hear_centre(session, message);
	if (line->node >= 0)
		return hear_node((size_t)line->node, session, message);
	if (message->kind != RI_LINK_HELLO)
		return false;
	line->node = ri_centre_hello(&ri_helper.centre, session, &message->hello, ri_helper.now);
	return true;
}

size_t ri_helper_take_line(void)
{
	size_t session = ri_helper.free;

	ri_helper.free = ri_helper.lines[session].next;
	ri_helper.open += session != 0;
	return session;
}

void ri_helper_tend(size_t session)
{
	struct ri_line *line = &ri_helper.lines[session];
	struct epoll_event wanted = { .events = (uint32_t)ri_wire_events(&line->wire) };
	int how = line->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

	if (session == 0 || line->wire.state == RI_WIRE_FREE)
		return;
	wanted.data.u64 = session;
	if (wanted.events != 0 && wanted.events != line->watched) {
		if (epoll_ctl(ri_helper.lines_fd, how, line->wire.fd, &wanted) < 0)
			ri_wire_kill(&line->wire, strerror(errno));
		else
			line->watched = wanted.events;
	}
	if (line->wire.until < ri_helper.lines_due)
		ri_helper.lines_due = line->wire.until;
	if (line->wire.state != RI_WIRE_DEAD || line->doomed)
		return;
	line->doomed = true;
	line->next = ri_helper.dead;
	ri_helper.dead = session;
}

static void bury(size_t session)
{
	struct ri_line *line = &ri_helper.lines[session];
	struct ri_wire *wire = &line->wire;

	/* once, of a caller without a key, or with one: a node may have been forgotten */
	if (wire->at_odds && !ri_helper.at_odds) {
		ri_helper.at_odds = true;
		ri_log(RI_LEVEL_WARNING, "link: %s %s; give all nodes the same --link-key [%s]",
			wire->calls ? "node 0" : "a node that called",
			ri_helper.setup->keys.keyed ? "has no key"
			: "has a key, and this node has none",
			ri_code_name(RI_CODE_LINK_KEY_DIFFERS));
	}
	if (!wire->calls) {
		ri_helper.centre.foreign = ri_helper.centre.foreign || wire->foreign;
		if (wire->version != 0)
			ri_helper.centre.version = wire->version;
		if (line->node >= 0)
			ri_centre_lose(&ri_helper.centre, (size_t)line->node, session,
				wire->closed ? RI_CENTRE_CLOSED : wire->quiet_ms, ri_helper.now);
	} else if (!ri_helper.closed && (ri_helper.joined == 0 || ri_helper.joined == session)) {
		/* node 0 refused us, or it is gone */
		if (wire->speaks_link && !wire->proved)
			ri_member_shut_out(&ri_helper.member, wire->why);
		else
			ri_member_lose(&ri_helper.member, wire->why);
	}
	if (ri_helper.joined == session) {
		keep_no_longer();
		ri_helper.joined = 0;
		ri_helper.alone_at = ri_helper.now;
	}
	if (line->watched != 0)
		epoll_ctl(ri_helper.lines_fd, EPOLL_CTL_DEL, wire->fd, NULL);
	ri_wire_close(wire);
	line->node = -1;
	line->watched = 0;
	line->doomed = false;
	line->next = ri_helper.free;
	ri_helper.free = session;
	ri_helper.open--;
}

void ri_helper_bury_dead(void)
{
	while (ri_helper.dead != 0) {
		size_t session = ri_helper.dead;

		ri_helper.dead = ri_helper.lines[session].next;
		bury(session);
	}
}

void ri_helper_begin_member(void)
{
	static char ports[32];
	struct ri_text out = ri_text_of(ports, sizeof(ports));
	const struct ri_link_setup *setup = ri_helper.setup;
	const struct ri_link_job *job = setup->job;
	struct ri_link_hello self = { .node = job->part.node, .nodes = job->part.nodes,
		.may_stop = job->part.may_stop && setup->orders,
		.restarts = setup->orders && setup->keys.keyed ? job->restarts : 0 };

	ri_helper.wires.keys = &setup->keys;
	ri_helper.wires.open = open_line;
	ri_helper.wires.take = take;
	ri_link_ports_add(&out, &job->part);
	if (getrandom(self.life.bytes, sizeof(self.life.bytes), 0) < 0)
		_exit(1);
	ri_text_copy(self.host, sizeof(self.host), job->host == NULL ? "" : job->host);
	ri_text_replace_controls(self.host);
	ri_text_copy(self.version, sizeof(self.version), RI_VERSION);
	ri_helper.member = (struct ri_member){
		.send = send_to_centre, .tell = tell_init, .say = say, .self = self,
		.keyed = setup->keys.keyed, .centre_name = job->part.centre,
		.ports = ports,
		.roll_ms = ri_helper.is_centre ? 0 : (int64_t)job->options->roll_call_ms,
		.node_0.drift = !ri_helper.is_centre,
	};
	ri_member_begin(&ri_helper.member, ri_helper.now);
}

/* What a node says its ranks do. The memory is that of one round; without it nothing is found. */
static void add_groups(void *context, size_t node, const char *groups)
{
	const struct ri_link_job *job = ri_helper.setup->job;
	uint64_t nodes = job->part.nodes, ranks = job->context->fan_out;
	bool begins = ri_helper.together == NULL;
	const char *fault = NULL;

	(void)context;
	if (begins)
		ri_helper.together = ri_together_new(&ri_helper.groups, nodes, nodes * ranks);
	/* each node has as many ranks as rankinit starts here, where it does */
	for (size_t i = 0; begins && ri_helper.together != NULL && i < nodes; i++)
		ri_together_expect(ri_helper.together, i, ri_centre_host(&ri_helper.centre, i),
			i * ranks, ranks);
	if (ri_helper.together != NULL)
		fault = ri_together_add(ri_helper.together, node,
			ri_centre_host(&ri_helper.centre, node), groups, strlen(groups));
	if (fault != NULL)
		ri_log(RI_LEVEL_NOTE, "link: %s", fault);
}

static void judge_groups(void *context, struct ri_link_found *out)
{
	struct ri_together_found found;

	(void)context;
	if (ri_helper.together != NULL && ri_together_judge(ri_helper.together, &found)) {
		out->rank = found.rank;
		out->node = found.node < 0 ? 0 : (uint64_t)found.node;
		ri_link_text_set(out->text, RI_LINK_TEXT, found.text);
	}
	ri_helper.together = NULL;
	ri_arena_release(&ri_helper.groups);
}

/* Has the first rank come further than in the last attempt? */
static bool has_progressed(void *context)
{
	const struct ri_carried *before = ri_helper.setup->job->before;
	const struct ri_link_noted *noted = ri_helper.setup->noted;

	(void)context;
	return (ri_helper.ran_at != 0 && ri_helper.now - ri_helper.ran_at >= RI_AGAIN_LONG_MS) ||
		(noted != NULL && noted->lines > (before == NULL ? 0 : before->lines));
}

void ri_helper_begin_centre(void)
{
	const struct ri_link_setup *setup = ri_helper.setup;
	const struct ri_link_job *job = setup->job;
	const struct ri_carried *before = job->before;

	ri_helper.centre = (struct ri_centre){
		.send = send_to, .drop = drop, .host = name_of, .arrived = has_arrived,
		.nodes = ri_arena_array(&ri_helper.arena, job->part.nodes,
			sizeof(struct ri_centre_node)),
		.count = job->part.nodes, .keyed = setup->keys.keyed,
		.orders = setup->orders && setup->keys.keyed,
		.self = ri_helper.member.self, .roll_ms = (int64_t)job->options->roll_call_ms,
		.add = add_groups, .judge = judge_groups, .progressed = has_progressed,
		.wait_ms = setup->wait_ms, .end_ms = setup->end_ms, .gathers = before != NULL,
	};
	if (before != NULL) {
		ri_helper.centre.last_mark = before->link.verdict.mark;
		ri_helper.centre.quick = before->quick;
	}
	if (ri_helper.centre.nodes == NULL)
		_exit(1);
	/* it is its own clock */
	ri_helper.member.node_0.seen_us = setup->keys.keyed;
	if (setup->noted != NULL)
		setup->noted->compared = setup->keys.keyed;
	ri_centre_begin(&ri_helper.centre, ri_helper.now);
	ri_member_connect(&ri_helper.member, ri_helper.now);
}

/* --- calls of node 0 --- */

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
	if ((socket->state != RI_SOCKET_ESTABLISHED &&
			socket->state != RI_SOCKET_CLOSE_WAIT) ||
		socket->remote.port != ri_helper.setup->meeting || !is_centre)
		return;
	look->first = look->first == 0 ? socket->local.port : look->first;
	look->lasts = look->lasts || socket->local.port == ri_helper.rank_port;
}

/*
 * Have the ranks of this node met those of node 0, before any centre took it? Then it is of an
 * attempt that is older than a centre which comes now.
 */
static void look_whether_met(void)
{
	struct look look = { .first = 0 };

	if (ri_helper.setup->meeting == 0 || ri_helper.member.was_joined ||
		ri_helper.member.phase == RI_LINK_STARTING || ri_helper.member.ranks_met_at != 0)
		return;
	ri_tcp_sockets_read(take_socket, &look);
	/* twice the same one: what a proxy answers, before node 0 does, does not last */
	if (look.lasts)
		ri_helper.member.ranks_met_at = ri_helper.rank_port_at;
	if (!look.lasts)
		ri_helper.rank_port = look.first;
	ri_helper.rank_port_at = ri_helper.now;
}

static void call_later(void)
{
	int64_t alone = ri_helper.now - ri_helper.alone_at;
	int64_t pause = alone > CALLS_LATER_MS ? 10 * CALL_MS : CALL_MS;
	uint32_t drawn = 0;

	look_whether_met();
	ri_helper.calling = false;
	/* node 0 left the last attempt with this node, and is about to listen */
	if (ri_helper.setup->job->before != NULL && !ri_helper.member.was_joined) {
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
	const struct ri_link_part *part = &ri_helper.setup->job->part;
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
	const char *name = ri_helper.setup->job->part.centre, *why;
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
	if (ri_address_read(found.list[0], name)) {
		found.count = 1;
		call_all(&found);
		return;
	}
	why = ri_look_up_begin(&ri_helper.look_up, name, ri_helper.now);
	if (why != NULL) {
		ri_member_lose(&ri_helper.member, why);
		call_later();
	}
}
