/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All nodes of a job but node 0, in one process: they speak by the wire, the seal and the messages
 * of rankinit itself, over real sockets. The secret is in RANKINIT_LINK_KEY.
 *
 *     members PORT NODES JOB
 *
 * Each line of stdin is something that they do. When all have done it, a line of stdout says so,
 * with what there was since the start: "come: 9999 members, 10012 calls, 0 lost, 1514 ms".
 *
 *     come        all call node 0, until it has taken them; then their ranks run
 *     look NODE   this one asks that all look; all answer, and hear what was found
 *     fail NODE   this one says that it failed; all hear the verdict
 *     leave       all vote to leave this attempt, and hear that all do
 *     start       all call node 0 in the next attempt, vote to start, and hear that all do
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "link/wire.h"

enum {
	CALL_MS = 500,		/* as a member has it: between two calls, and as much at random */
	AT_ONCE = 128,		/* calls: one process is slower than as many machines */
	RESTARTS = 3,
	RANKS = 8,
};

/* What a node is waited for. */
enum deed { COME, FIND, JUDGE, LEAVE, START, DEEDS };

struct node {
	struct ri_wire wire;	/* the first: the wire of a node is the node */
	int64_t call_at;	/* again; 0: not */
	uint32_t watched;
	bool taken, judged;	/* by this attempt's node 0 */
	bool done[DEEDS];
	struct ri_link_life centre;
};

static struct {
	struct node *nodes;	/* the first, node 0, is unused */
	size_t count;
	struct sockaddr_in to;
	struct ri_wire_keys keys;	/* of this attempt */
	uint64_t attempt;
	struct ri_wires wires;
	int poll;
	int64_t now;
	size_t next;		/* node to call first; those below have called */
	size_t calling;		/* and are not taken yet */
	size_t done[DEEDS], calls, lost;
} own;

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void die(const char *what)
{
	fprintf(stderr, "members: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void tend(struct node *node)
{
	struct epoll_event wanted = { .events = (uint32_t)ri_wire_events(&node->wire),
		.data.ptr = node };

	if (wanted.events == 0 || wanted.events == node->watched)
		return;
	if (epoll_ctl(own.poll, node->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, node->wire.fd,
		&wanted) < 0)
		die("epoll_ctl");
	node->watched = wanted.events;
}

static void say(struct node *node, const struct ri_link_message *message)
{
	ri_wire_send(&node->wire, message);
	tend(node);
}

static void say_hello(struct ri_wire *wire)
{
	struct node *node = (struct node *)wire;
	size_t number = (size_t)(node - own.nodes);
	struct ri_link_message message = { .kind = RI_LINK_HELLO, .hello = {
		.node = number, .nodes = own.count, .age_ms = 1000, .may_stop = true,
		.restarts = RESTARTS, .place = RI_LINK_GUEST, .centre = node->centre,
		.version = "members",
	} };

	memcpy(message.hello.life.bytes, &number, sizeof(number));
	snprintf(message.hello.host, sizeof(message.hello.host), "worker-%zu", number);
	say(node, &message);
}

static void vote(struct node *node, enum ri_link_step step)
{
	const struct ri_link_message message = { .kind = RI_LINK_GO,
		.go = { .step = step, .go = true } };

	say(node, &message);
}

static void has_done(struct node *node, enum deed deed)
{
	own.done[deed] += !node->done[deed];
	node->done[deed] = true;
}

/* All its ranks wait in one place but those of node 7, which load data. */
static void say_groups(struct node *node)
{
	size_t number = (size_t)(node - own.nodes), first = RANKS * number;
	static struct ri_link_message message;

	message.kind = RI_LINK_GROUPS;
	snprintf(message.groups.text, sizeof(message.groups.text), number == 7
		? "loader still - %zu-%zu _BaseDataLoaderIter.__next__ (train.py:9)|waits for its "
			"data loader\n"
		: "collective still all_reduce %zu-%zu all_reduce (train.py:16)|\n",
		first, first + RANKS - 1);
	say(node, &message);
}

static bool hear(struct ri_wire *wire, const struct ri_link_message *message)
{
	const struct ri_link_message runs = { .kind = RI_LINK_PHASE, .phase = RI_LINK_RUNNING };
	static const struct ri_link_message answer = { .kind = RI_LINK_ANSWER };
	struct node *node = (struct node *)wire;

	switch (message->kind) {
	case RI_LINK_HELLO:
		if (message->hello.place != RI_LINK_TAKEN)
			break;
		own.calling -= !node->taken;
		node->taken = true;
		node->centre = message->hello.life;
		has_done(node, COME);
		if (own.attempt == 0)
			say(node, &runs);
		else
			vote(node, RI_LINK_START);
		break;
	case RI_LINK_ASK:
		if (message->ask.waits)
			say(node, &answer);
		break;
	case RI_LINK_LOOK:
		say_groups(node);
		break;
	case RI_LINK_FOUND:
		has_done(node, FIND);
		break;
	case RI_LINK_VERDICT:
		node->judged = true;
		has_done(node, JUDGE);
		break;
	case RI_LINK_GO:
		if (message->go.go && message->go.step == RI_LINK_START)
			say(node, &runs);
		if (message->go.go)
			has_done(node, message->go.step == RI_LINK_LEAVE ? LEAVE : START);
		break;
	default:
		break;
	}
	return true;
}

static void call(struct node *node)
{
	node->call_at = 0;
	node->watched = 0;
	own.calls++;
	own.calling++;
	ri_wire_call(&node->wire, (const struct sockaddr *)&own.to, sizeof(own.to), own.now);
	tend(node);
}

static void go_on(struct node *node, uint32_t events)
{
	if (node->wire.state == RI_WIRE_FREE)
		return;
	ri_wire_go_on(&node->wire, (short)events, own.now);
	tend(node);
	if (node->wire.state != RI_WIRE_DEAD)
		return;
	own.calling -= !node->taken;
	if (node->taken && !node->judged && own.lost++ == 0)
		fprintf(stderr, "members: node %zu: %s\n", (size_t)(node - own.nodes),
			node->wire.why);
	ri_wire_close(&node->wire);
	node->wire.until = INT64_MAX;
	node->taken = false;
	if (!node->judged)
		node->call_at = own.now + CALL_MS + rand() % CALL_MS;
}

/* What has come first, then what is due. */
static void pass(int wait_ms)
{
	static struct epoll_event events[1024];
	static int64_t looked_at;
	int count = epoll_wait(own.poll, events, 1024, wait_ms);

	own.now = now_ms();
	for (int i = 0; i < count; i++)
		go_on(events[i].data.ptr, events[i].events);
	while (own.next < own.count && own.calling < AT_ONCE)
		call(&own.nodes[own.next++]);
	if (own.now - looked_at < 50)
		return;
	looked_at = own.now;
	for (size_t i = 1; i < own.count; i++) {
		struct node *node = &own.nodes[i];

		if (node->call_at != 0 && own.now >= node->call_at)
			call(node);
		else if (own.now >= node->wire.until)
			go_on(node, 0);
	}
}

static void fail(struct node *node)
{
	size_t number = (size_t)(node - own.nodes);
	static struct ri_link_message message;

	message = (struct ri_link_message){ .kind = RI_LINK_END, .end = { .fatal = true,
		.verdict = { .class = RI_CLASS_OWN, .rank = (int64_t)(RANKS * number), .mark = 7,
			.why = { RI_CAUSE_KILLED, RI_RETRY_SAME } } } };
	snprintf(message.end.text, sizeof(message.end.text), "rank %zu (local rank 0, pid 9 on "
		"worker-%zu) failed first: SIGKILL\n", RANKS * number, number);
	say(node, &message);
}

/* As their rankinits do when they execute themselves. */
static void close_all(void)
{
	for (size_t i = 1; i < own.count; i++) {
		struct node *node = &own.nodes[i];

		ri_wire_close(&node->wire);
		*node = (struct node){ .wire = node->wire };
	}
}

/* Begin what a line says. Returns what all are waited for; DEEDS: it says nothing that is known. */
static enum deed begin(const char *words)
{
	static const struct ri_link_message look = { .kind = RI_LINK_LOOK };
	const char *number = strchr(words, ' ');
	size_t node = number == NULL ? 0 : (size_t)atoi(number);
	unsigned char key[RI_SEAL_KEY];

	if (strcmp(words, "come") == 0) {
		own.next = 1;
		return COME;
	}
	if (strcmp(words, "start") == 0) {
		ri_seal_next_key(key, own.keys.job, own.nodes[1].centre.bytes);
		memcpy(own.keys.job, key, sizeof(key));
		own.attempt++;
		close_all();
		own.next = 1;
		return START;
	}
	if (strcmp(words, "leave") == 0) {
		for (size_t i = 1; i < own.count; i++)
			vote(&own.nodes[i], RI_LINK_LEAVE);
		return LEAVE;
	}
	if (node == 0 || node >= own.count)
		return DEEDS;
	if (strncmp(words, "look ", 5) == 0) {
		say(&own.nodes[node], &look);
		return FIND;
	}
	fail(&own.nodes[node]);
	return strncmp(words, "fail ", 5) == 0 ? JUDGE : DEEDS;
}

static void obey(char *words)
{
	int64_t begun = own.now = now_ms();
	enum deed deed;

	words[strcspn(words, "\n")] = '\0';
	deed = begin(words);
	if (deed == DEEDS) {
		fprintf(stderr, "members: %s?\n", words);
		exit(2);
	}
	while (own.done[deed] < own.count - 1)
		pass(50);
	printf("%s: %zu members, %zu calls, %zu lost, %lld ms\n", words, own.done[deed], own.calls,
		own.lost, (long long)(own.now - begun));
	fflush(stdout);
	own.done[deed] = 0;
	for (size_t i = 1; i < own.count; i++)
		own.nodes[i].done[deed] = false;
}

static void set_up(char **words)
{
	const char *secret = getenv("RANKINIT_LINK_KEY");

	own.to = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(words[0])),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	own.count = own.next = (size_t)atoi(words[1]);
	if (secret == NULL || ri_seal_job_key(own.keys.job, words[2], secret, strlen(secret)) < 0)
		die("RANKINIT_LINK_KEY");
	own.keys.keyed = true;
	own.nodes = calloc(own.count, sizeof(*own.nodes));
	own.wires = (struct ri_wires){ .keys = &own.keys, .open = say_hello, .take = hear,
		.rooms = calloc(own.count, sizeof(*own.wires.rooms)) };
	own.poll = epoll_create1(EPOLL_CLOEXEC);
	if (own.nodes == NULL || own.wires.rooms == NULL || own.poll < 0)
		die("memory");
	for (size_t i = 0; i < own.count; i++)
		own.nodes[i].wire = (struct ri_wire){ .fd = -1, .wires = &own.wires,
			.until = INT64_MAX };
}

int main(int argc, char **argv)
{
	char line[64];

	if (argc != 4)
		return 2;
	set_up(argv + 1);
	while (fgets(line, sizeof(line), stdin) != NULL)
		obey(line);
	return 0;
}
