/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up world for whole jobs: nodes that come late, fail, are killed, stopped from outside or
 * started again, over a network that delays, breaks and repeats. A run follows from its seed.
 */
#ifndef TESTS_UNIT_LINK_WORLD_H
#define TESTS_UNIT_LINK_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/centre.h"
#include "link/member.h"

enum {
	RUNS = 10000,
	NODES = 6,
	ATTEMPTS = 2,
	LIVES = NODES * ATTEMPTS,
	WIRES = 256,
	EVENTS = 2048,
	END_MS = 400000,
};

enum what { START, CALL, RUN, FAIL, LOSE, STOP, DONE, DIE, BREAK, ARRIVE, WIRE_LOST, TIME };

struct wire {			/* a connection */
	size_t life, centre;	/* the member's and the centre's */
	bool ends[2];		/* as its member, as its centre sees it: open? */
	bool broken;		/* nothing arrives any more, */
	bool cut;		/* and no end of a process is the reason */
	int64_t last[2];	/* nothing overtakes: to the member, to the centre */
	int64_t node;		/* as the centre has it; -1: it has not said hello */
};

struct event {
	int64_t at;
	enum what what;
	size_t life, wire;
	bool to_centre;
	struct ri_link_message *message;
};

struct life {
	struct ri_member member;
	struct ri_centre centre;	/* of node 0 */
	struct ri_centre_node nodes[NODES];
	size_t node, attempt, number;
	bool alive, runs, failed, told_stop, done;
	size_t wire;		/* 0: none */
	bool judged;
	struct ri_link_decision decision;
	size_t judge;		/* the life of the centre that it heard */
	size_t said;		/* lines for people */
};

static struct world {
	uint64_t seed;
	int64_t now;
	size_t count;
	bool keyed, harsh;
	struct life lives[LIVES];
	struct wire wires[WIRES];	/* the first is unused */
	size_t wire_count;
	struct event events[EVENTS];
	size_t event_count;
	bool cut;			/* some connection was */
	bool something_failed[ATTEMPTS];
	size_t culprit[ATTEMPTS];	/* the node that failed of itself, or NODES */
} world;

/* Of all runs: a model in which nothing happens proves nothing. */
static size_t orders, verdicts, named;

/* Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003) 14. */
static uint64_t draw(uint64_t below)
{
	world.seed ^= world.seed << 13;
	world.seed ^= world.seed >> 7;
	world.seed ^= world.seed << 17;
	return (world.seed * 0x2545f4914f6cdd1dULL >> 32) % below;
}

static bool happens(unsigned percent)
{
	return draw(100) < percent;
}

static struct event *plan(int64_t at, enum what what, size_t life)
{
	struct event *event = &world.events[world.event_count++];

	assert_true(world.event_count <= EVENTS);
	*event = (struct event){ .at = at, .what = what, .life = life };
	return event;
}

static int64_t delay(void)
{
	return happens(5) ? (int64_t)draw(world.harsh ? 20000 : 300) : (int64_t)draw(5);
}

static void put(size_t number, bool to_centre, const struct ri_link_message *message)
{
	struct wire *wire = &world.wires[number];
	int64_t at = world.now + delay();
	struct event *event;

	if (!wire->ends[to_centre ? 0 : 1] || wire->broken)
		return;
	if (at < wire->last[to_centre])
		at = wire->last[to_centre];
	wire->last[to_centre] = at;
	event = plan(at, ARRIVE, 0);
	event->wire = number;
	event->to_centre = to_centre;
	event->message = malloc(sizeof(*message));
	assert_non_null(event->message);
	*event->message = *message;
}

/* Node 0's own member and its centre call each other. */
static void centre_send(void *context, size_t session, const struct ri_link_message *message)
{
	struct life *life = context;

	if (session == 0)
		ri_member_hear(&life->member, message, world.now);
	else
		put(session, false, message);
}

static void lose_later(size_t number, bool centre, int64_t at)
{
	struct event *event = plan(at, WIRE_LOST, 0);

	event->wire = number;
	event->to_centre = centre;
}

static void centre_drop(void *context, size_t session)
{
	(void)context;
	if (session == 0)
		return;
	world.wires[session].ends[1] = false;
	lose_later(session, false, world.now > world.wires[session].last[0] ? world.now
		: world.wires[session].last[0]);
}

static const char *centre_host(void *context, size_t node)
{
	static char name[16];

	(void)context;
	snprintf(name, sizeof(name), "host-%zu", node);
	return name;
}

static void member_send(void *context, const struct ri_link_message *message)
{
	struct life *life = context;

	if (life->node != 0)
		put(life->wire, true, message);
	else if (message->kind == RI_LINK_HELLO)
		ri_centre_hello(&life->centre, 0, &message->hello, world.now);
	else
		assert_true(ri_centre_hear(&life->centre, 0, 0, message, world.now));
}

static void member_tell(void *context, const struct ri_link_message *message)
{
	struct life *life = context;

	assert_true(life->alive);
	if (message->kind == RI_LINK_HEARD || message->kind == RI_LINK_ASK)
		return;
	/* no node asks for a look there, nor is a job started again */
	assert_int_equal(message->kind, RI_LINK_VERDICT);
	/* the order may come behind the verdict */
	assert_false(life->judged && (life->decision.order || !message->decision.order));
	life->judged = true;
	life->decision = message->decision;
	life->judge = life->node == 0 ? life->number : world.wires[life->wire].centre;
	verdicts++;
	orders += message->decision.order;
	named += message->decision.verdict.node >= 0;
}

static void member_say(void *context, const char *lines)
{
	struct life *life = context;

	assert_int_not_equal(lines[0], '\0');
	life->said++;
}

static void start(struct life *life)
{
	struct ri_link_hello self = { .node = life->node, .nodes = world.count, .may_stop = true };

	self.life.bytes[0] = 1;
	self.life.bytes[1] = (unsigned char)life->number;
	life->alive = true;
	life->member = (struct ri_member){ .send = member_send, .tell = member_tell,
		.say = member_say, .context = life, .self = self,
		.keyed = world.keyed, .centre_name = "host-0", .ports = "port 9471",
		.roll_ms = 10000 };
	ri_member_begin(&life->member, world.now);
	if (life->node == 0) {
		life->centre = (struct ri_centre){ .send = centre_send, .drop = centre_drop,
			.host = centre_host, .context = life, .nodes = life->nodes,
			.count = world.count, .keyed = world.keyed, .orders = world.keyed,
			.self = self,
			.roll_ms = 10000 };
		ri_centre_begin(&life->centre, world.now);
		ri_member_connect(&life->member, world.now);
	} else {
		plan(world.now + (int64_t)draw(500), CALL, life->number);
	}
}

/* Whoever is node 0 by now; in a harsh world a name is old now and then. */
static struct life *find_centre(void)
{
	struct life *found = NULL;

	for (size_t attempt = 0; attempt < ATTEMPTS; attempt++) {
		struct life *life = &world.lives[attempt * NODES];

		if (life->alive && (found == NULL || !world.harsh || !happens(20)))
			found = life;
	}
	return found;
}

static void call(struct life *life)
{
	struct life *centre = find_centre();
	struct wire *wire;

	if (!life->alive || life->done || !ri_member_calls(&life->member) || life->wire != 0)
		return;
	if (centre == NULL || world.wire_count == WIRES || happens(world.harsh ? 30 : 2)) {
		ri_member_lose(&life->member, "connection refused");
		if (world.now < END_MS)
			plan(world.now + 500 + (int64_t)draw(500), CALL, life->number);
		return;
	}
	life->wire = world.wire_count++;
	wire = &world.wires[life->wire];
	*wire = (struct wire){ .life = life->number, .centre = centre->number,
		.ends = { true, true }, .node = -1 };
	if (happens(world.harsh ? 30 : 1)) {
		struct event *event = plan(world.now + (int64_t)draw(60000), BREAK, 0);

		event->wire = life->wire;
	}
	ri_member_connect(&life->member, world.now);
}

static void arrive(struct event *event)
{
	struct wire *wire = &world.wires[event->wire];
	struct life *member = &world.lives[wire->life], *centre = &world.lives[wire->centre];
	const struct ri_link_message *message = event->message;

	if (wire->broken || !wire->ends[event->to_centre])
		return;
	if (!event->to_centre) {
		if (member->alive && !ri_member_hear(&member->member, message, world.now))
			fail_msg("seed: what the centre said is not what a centre says");
	} else if (centre->alive && message->kind == RI_LINK_HELLO) {
		wire->node = ri_centre_hello(&centre->centre, event->wire, &message->hello,
			world.now);
	} else if (centre->alive && wire->node >= 0) {
		assert_true(ri_centre_hear(&centre->centre, (size_t)wire->node, event->wire,
			message, world.now));
		if (world.harsh && happens(10))
			ri_centre_hear(&centre->centre, (size_t)wire->node, event->wire, message,
				world.now);
	}
}

static void lose_end(struct event *event)
{
	struct wire *wire = &world.wires[event->wire];
	struct life *member = &world.lives[wire->life], *centre = &world.lives[wire->centre];

	wire->ends[event->to_centre] = false;
	if (event->to_centre) {
		if (!centre->alive || wire->node < 0)
			return;
		ri_centre_lose(&centre->centre, (size_t)wire->node, event->wire,
			wire->cut ? 0 : RI_CENTRE_CLOSED, world.now);
	} else if (member->wire == event->wire) {
		member->wire = 0;
		if (member->alive) {
			ri_member_lose(&member->member, "connection lost");
			plan(world.now + 500 + (int64_t)draw(500), CALL, member->number);
		}
	}
}

/* Each side notices in its own time, the centre perhaps late. */
static void break_wire(size_t number)
{
	world.wires[number].broken = true;
	lose_later(number, true, world.now + (int64_t)draw(world.harsh ? 60000 : 10));
	lose_later(number, false, world.now + (int64_t)draw(world.harsh ? 60000 : 10));
}

static void die(struct life *life)
{
	if (!life->alive)
		return;
	if (life->node == 0)
		ri_centre_close(&life->centre, world.now);
	life->alive = false;
	for (size_t i = 1; i < world.wire_count; i++) {
		const struct wire *wire = &world.wires[i];

		if ((wire->life == life->number || wire->centre == life->number) && !wire->broken)
			break_wire(i);
	}
}

static void say_end(struct life *life, enum ri_class class)
{
	struct ri_link_end end = { .verdict.class = class, .fatal = true };

	snprintf(end.text, sizeof(end.text), "end of life %zu\n", life->number);
	ri_member_end(&life->member, &end);
}

/* It was told to stop before: what ends then is no failure, and PID 1 says nothing of it. */
static bool is_over(const struct life *life)
{
	return !life->alive || life->done || life->failed || (life->judged && life->decision.order);
}

static void fail_itself(struct life *life, enum ri_class class)
{
	if (is_over(life))
		return;
	life->failed = true;
	world.something_failed[life->attempt] = true;
	if (world.culprit[life->attempt] == NODES)
		world.culprit[life->attempt] = life->node;
	say_end(life, class);
	/* the others lose it, those of the same attempt alone */
	for (size_t i = 0; i < world.count; i++)
		if (i != life->node && life->runs && happens(70))
			plan(world.now + (int64_t)draw(1500), LOSE, life->attempt * NODES + i);
	plan(world.now + 2600 + (int64_t)draw(3000), DIE, life->number);
}

static void happen(struct event *event)
{
	struct life *life = &world.lives[event->life];

	switch (event->what) {
	case START:
		start(life);
		break;
	case CALL:
		call(life);
		break;
	case RUN:
		if (is_over(life))
			break;
		life->runs = true;
		ri_member_reach(&life->member, RI_LINK_RUNNING);
		break;
	case FAIL:
		fail_itself(life, happens(70) ? RI_CLASS_OWN : RI_CLASS_UNKNOWN);
		break;
	case LOSE:
		if (is_over(life) || !life->runs)
			break;
		life->failed = true;
		say_end(life, RI_CLASS_LOSS);
		plan(world.now + 2600 + (int64_t)draw(3000), DIE, life->number);
		break;
	case STOP:
		if (is_over(life))
			break;
		life->told_stop = life->done = true;
		say_end(life, RI_CLASS_STOPPED);
		plan(world.now + (int64_t)draw(30000), DIE, life->number);
		break;
	case DONE:
		if (is_over(life))
			break;
		life->done = true;
		ri_member_reach(&life->member, RI_LINK_LEAVING);
		say_end(life, RI_CLASS_NONE);
		plan(world.now + (int64_t)draw(500), DIE, life->number);
		break;
	case DIE:
		die(life);
		break;
	case BREAK:
		if (world.wires[event->wire].broken)
			break;
		world.cut = world.wires[event->wire].cut = true;
		break_wire(event->wire);
		break;
	case ARRIVE:
		arrive(event);
		break;
	case WIRE_LOST:
		lose_end(event);
		break;
	case TIME:
		break;
	}
	free(event->message);
	event->message = NULL;
}

static int64_t due_of(const struct life *life)
{
	int64_t due, other;

	if (!life->alive)
		return INT64_MAX;
	due = ri_member_due(&life->member);
	other = life->node == 0 ? ri_centre_due(&life->centre) : INT64_MAX;
	return other < due ? other : due;
}

/* The next thing that happens: of an event and a deadline at one time the event. */
static bool step(void)
{
	size_t next = 0, late = LIVES;
	int64_t due = INT64_MAX;
	struct event event;

	for (size_t i = 0; i < LIVES; i++)
		if (due_of(&world.lives[i]) < due) {
			due = due_of(&world.lives[i]);
			late = i;
		}
	for (size_t i = 1; i < world.event_count; i++)
		if (world.events[i].at < world.events[next].at)
			next = i;
	if (world.event_count > 0 && world.events[next].at <= due) {
		event = world.events[next];
		memmove(&world.events[next], &world.events[next + 1],
			(--world.event_count - next) * sizeof(event));
		world.now = event.at;
		happen(&event);
		return world.now < END_MS;
	}
	if (late == LIVES || due >= END_MS)
		return false;
	world.now = due;
	ri_member_pass(&world.lives[late].member, world.now);
	if (world.lives[late].node == 0)
		ri_centre_pass(&world.lives[late].centre, world.now);
	return true;
}

/* A node of a run, when it starts and what becomes of it. */
static void plan_node(size_t attempt, size_t node, int64_t begin)
{
	struct life *life = &world.lives[attempt * NODES + node];
	int64_t at = begin + (int64_t)draw(happens(20) ? 60000 : 3000);

	life->node = node;
	life->attempt = attempt;
	life->number = attempt * NODES + node;
	plan(at, START, life->number);
	plan(at + 100 + (int64_t)draw(2000), RUN, life->number);
}

static void begin_world(uint64_t seed, bool keyed, bool harsh)
{
	memset(&world, 0, sizeof(world));
	world.seed = seed * 0x9e3779b97f4a7c15ULL + 1;
	world.keyed = keyed;
	world.harsh = harsh;
	world.count = 2 + draw(NODES - 1);
	world.wire_count = 1;
	for (size_t i = 0; i < ATTEMPTS; i++)
		world.culprit[i] = NODES;
	for (size_t i = 0; i < LIVES; i++)
		world.lives[i].number = i;
	for (size_t i = 0; i < world.count; i++)
		plan_node(0, i, 0);
}

static void run_world(void)
{
	while (step())
		;
	for (size_t i = 0; i < world.event_count; i++)
		free(world.events[i].message);
}

#endif
