/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up world of jobs with --restarts: nodes whose ranks fail, that are stopped, killed or
 * unfit, that take long to end their ranks or to execute themselves again, over a network that
 * delays and breaks. A run follows from its seed; whatever must not happen is noticed as it does.
 */
#ifndef TESTS_UNIT_AGAIN_WORLD_H
#define TESTS_UNIT_AGAIN_WORLD_H

#include "again_nodes.h"

/* The network. */

static int64_t delay(void)
{
	return happens(5) ? (int64_t)draw(world.harsh ? 20000 : 300) : (int64_t)draw(5);
}

static void put(size_t number, bool to_centre, const struct ri_link_message *message)
{
	struct wire *wire = &world.wires[number];
	int64_t at = world.now + delay();
	struct event *event;

	if (number == 0 || !wire->ends[to_centre ? 0 : 1] || wire->broken ||
		(wire->deaf && !to_centre))
		return;
	if (at < wire->last[to_centre])
		at = wire->last[to_centre];
	wire->last[to_centre] = at;
	event = plan(at, ARRIVE, wire->node);
	event->wire = number;
	event->to_centre = to_centre;
	event->message = malloc(sizeof(*message));
	assert_non_null(event->message);
	*event->message = *message;
}

static void centre_send(void *context, size_t session, const struct ri_link_message *message)
{
	(void)context;
	if (world.deafened != NULL && world.deafened->wire == session && session != 0)
		world.wires[session].deaf |= message->kind == RI_LINK_GO && message->go.go &&
			message->go.step == RI_LINK_START;
	if (session != 0)
		put(session, false, message);
	else
		ri_member_hear(&world.nodes[0].member, message, world.now);
}

static void lose_later(size_t number, bool centre, int64_t at)
{
	struct event *event = plan(at, WIRE_LOST, world.wires[number].node);

	event->wire = number;
	event->to_centre = centre;
}

/* What was sent before arrives. */
static void close_wire(size_t number, bool by_centre)
{
	struct wire *wire = &world.wires[number];
	bool other = !by_centre;

	wire->ends[by_centre] = false;
	lose_later(number, other,
		world.now > wire->last[other] ? world.now + 1 : wire->last[other] + 1);
}

static void centre_drop(void *context, size_t session)
{
	(void)context;
	if (session != 0)
		close_wire(session, true);
}

static const char *centre_host(void *context, size_t node)
{
	(void)context;
	(void)node;
	return NULL;
}

static bool centre_progressed(void *context)
{
	(void)context;
	return true;
}

static void hear(size_t node, size_t session, const struct ri_link_message *message)
{
	assert_true(ri_centre_hear(&world.centre, node, session, message, world.now));
}

static void member_send(void *context, const struct ri_link_message *message)
{
	struct node *node = context;

	if (node->number != 0)
		put(node->wire, true, message);
	else if (message->kind == RI_LINK_HELLO)
		ri_centre_hello(&world.centre, 0, &message->hello, world.now);
	else
		hear(0, 0, message);
}

static void member_tell(void *context, const struct ri_link_message *message)
{
	if (message->kind == RI_LINK_VERDICT)
		take_verdict(context, &message->decision);
	else if (message->kind == RI_LINK_GO)
		take_go(context, &message->go);
}

static void member_say(void *context, const char *lines)
{
	(void)context;
	assert_int_not_equal(lines[0], '\0');
}

static void begin_life(struct node *node)
{
	struct ri_link_hello self = { .node = node->number, .nodes = world.count,
		.may_stop = true, .restarts = node->restarts - node->attempt };

	self.life.bytes[0] = 1 + (unsigned char)node->number;
	self.life.bytes[1] = (unsigned char)node->attempt;
	node->alive = true;
	node->judged = node->again = node->unfit = false;
	node->wire = 0;
	node->member = (struct ri_member){ .send = member_send, .tell = member_tell,
		.say = member_say, .context = node, .self = self, .keyed = true,
		.centre_name = "host-0", .ports = "port 9471" };
	enter(node, GATHERS);
	ri_member_begin(&node->member, world.now);
	if (node->number == 0) {
		memset(world.known, 0, sizeof(world.known));
		world.centre = (struct ri_centre){ .send = centre_send, .drop = centre_drop,
			.host = centre_host, .nodes = world.known, .count = world.count,
			.keyed = true, .orders = true, .self = self,
			.gathers = node->attempt > 0, .last_mark = 2,
			.progressed = centre_progressed, .wait_ms = WAIT_MS,
			.end_ms = world.mutant == WAITS_ON ? END_MS : RANKS_MS };
		ri_centre_begin(&world.centre, world.now);
		ri_member_connect(&node->member, world.now);
	} else {
		plan(after(0, 20), CALL, node->number);
	}
	plan(after(0, happens(10) ? 10000 : 100), node->attempt == 0 ? RUN : CHECKED,
		node->number);
}

static void call(struct node *node)
{
	struct node *centre = &world.nodes[0];
	struct wire *wire;

	if (!node->alive || !ri_member_calls(&node->member) || node->wire != 0)
		return;
	/* another attempt has other keys */
	if (!centre->alive || world.now < centre->thaws_at ||
		centre->attempt != node->attempt || world.wire_count == WIRES ||
		(world.harsh && happens(20))) {
		ri_member_lose(&node->member, "connection refused");
		plan(after(20, 500), CALL, node->number);
		return;
	}
	node->wire = world.wire_count++;
	wire = &world.wires[node->wire];
	*wire = (struct wire){ .node = node->number, .attempt = node->attempt,
		.ends = { true, true }, .heard = -1 };
	if (world.harsh && happens(30))
		plan(after(0, 60000), BREAK, node->number)->wire = node->wire;
	ri_member_connect(&node->member, world.now);
}

static bool is_there(const struct wire *wire, bool centre)
{
	const struct node *node = &world.nodes[centre ? 0 : wire->node];

	return node->alive && node->attempt == wire->attempt;
}

static void greet(struct wire *wire, const struct event *event)
{
	wire->heard = ri_centre_hello(&world.centre, event->wire, &event->message->hello,
		world.now);
}

static void arrive(struct event *event)
{
	struct wire *wire = &world.wires[event->wire];
	struct node *node = &world.nodes[wire->node];

	if (wire->broken || !wire->ends[event->to_centre] || !is_there(wire, event->to_centre))
		return;
	if (!event->to_centre)
		require(ri_member_hear(&node->member, event->message, world.now) ||
			world.mutant != SOUND, "not what a centre says");
	else if (event->message->kind == RI_LINK_HELLO)
		greet(wire, event);
	else if (wire->heard >= 0)
		hear((size_t)wire->heard, event->wire, event->message);
}

static void lose_wire(struct event *event)
{
	struct wire *wire = &world.wires[event->wire];
	struct node *node = &world.nodes[wire->node];

	if (!wire->ends[event->to_centre])
		return;
	wire->ends[event->to_centre] = false;
	if (!is_there(wire, event->to_centre))
		return;
	if (event->to_centre && wire->heard >= 0)
		ri_centre_lose(&world.centre, (size_t)wire->heard, event->wire,
			wire->broken ? 0 : RI_CENTRE_CLOSED, world.now);
	if (event->to_centre || node->wire != event->wire)
		return;
	node->wire = 0;
	ri_member_lose(&node->member, "connection lost");
	plan(after(20, 500), CALL, node->number);
}

static void break_wire(size_t number)
{
	world.wires[number].broken = true;
	lose_later(number, true, after(0, 60000));
	lose_later(number, false, after(0, 60000));
}

/* Also for ever; what it would do or hear meanwhile it does and hears then. */
static void freeze(struct node *node)
{
	static const uint64_t most[] = { 100, 3000, 50000, 400000 };
	int64_t at = after(0, most[draw(world.thaws ? 3 : 4)]);

	world.frozen = true;
	if (!world.thaws && happens(30))
		at = 10 * END_MS;
	if (node->thaws_at < at)
		node->thaws_at = at;
}

static bool waits_for_thaw(struct event *event)
{
	bool centre = event->to_centre && (event->what == ARRIVE || event->what == WIRE_LOST);
	const struct node *node = &world.nodes[centre ? 0 : event->node];

	if (event->what == KILL || event->what == BREAK || event->what == FREEZE ||
		event->at >= node->thaws_at)
		return false;
	event->at = node->thaws_at;
	return true;
}

/* The helper of an attempt ends: what it had said arrives, and its side of each wire closes. */
static void let_helper_go(struct node *node)
{
	if (!node->alive)
		return;
	if (node->number == 0)
		ri_centre_close(&world.centre, world.now);
	node->alive = false;
	for (size_t i = 1; i < world.wire_count; i++) {
		const struct wire *wire = &world.wires[i];

		if (wire->attempt != node->attempt || wire->broken)
			continue;
		if (node->number == 0)
			close_wire(i, true);
		else if (wire->node == node->number)
			close_wire(i, false);
	}
}

static void kill_node(struct node *node)
{
	if (node->state == OVER)
		return;
	let_helper_go(node);
	node->runs = false;
	enter(node, OVER);
}

static void start_life(struct node *node)
{
	if (node->state != EXECUTES)
		return;
	node->attempt++;
	world.attempts = node->attempt > world.attempts ? node->attempt : world.attempts;
	begin_life(node);
	node->unfit = world.harsh && happens(3);
}

/* That all go is on its way to the node: its PID 1, which polls, may see a stop before. */
static void aim(struct node *node)
{
	if (node == NULL || !happens(50))
		return;
	plan(world.now, STOP, node->number);
	plan(after(0, 3), LOOK, node->number);
}

static void pass_centre(void)
{
	const struct ri_joint_step *steps = world.centre.steps;
	bool over[] = { steps[RI_LINK_START].over, steps[RI_LINK_LEAVE].over };

	if (!world.nodes[0].alive || world.now < world.nodes[0].thaws_at)
		return;
	ri_centre_pass(&world.centre, world.now);
	for (int i = RI_LINK_START; i <= RI_LINK_LEAVE; i++)
		if (!over[i] && steps[i].over && steps[i].said.go.go)
			aim(world.aimed);
}

static void happen(struct event *event)
{
	struct node *node = &world.nodes[event->node];
	bool is_old = event->attempt != node->attempt;

	switch (event->what) {
	case START:
		start_life(node);
		break;
	case CALL:
		if (!is_old)
			call(node);
		break;
	case CHECKED:
		take_check(node);
		break;
	case SAY_YES:
		if (!is_old && (node->state == GATHERS || node->state == WAITS))
			say_yes(node);
		break;
	case LOOK:
		if (!is_old)
			look(node);
		break;
	case RUN:
		if (is_old || node->state != GATHERS)
			break;
		if (node->attempt == 0 && node->pending)
			refuse(node);
		else
			start_ranks(node);
		break;
	case FAIL:
		fail_itself(node, happens(70) ? RI_CLASS_OWN : RI_CLASS_UNKNOWN);
		break;
	case LOSE:
		if (!is_old)
			fail_itself(node, RI_CLASS_LOSS);
		break;
	case DONE:
		if (node->state != RUNS_RANKS || node->member.has_end || node->judged)
			break;
		ri_member_reach(&node->member, RI_LINK_LEAVING);
		say_end(node, RI_CLASS_NONE);
		end_node(node);
		break;
	case GONE:
		if (!is_old && node->state == RUNS_RANKS)
			take_gone(node);
		break;
	case STOP:
		take_stop(node);
		break;
	case KILL:
		kill_node(node);
		break;
	case TIRE:
		if (!is_old)
			take_tiredness(node);
		break;
	case DIE:
		if (!is_old)
			let_helper_go(node);
		break;
	case FREEZE:
		freeze(node);
		break;
	case BREAK:
		if (!world.wires[event->wire].broken)
			break_wire(event->wire);
		break;
	case ARRIVE:
		arrive(event);
		break;
	case WIRE_LOST:
		lose_wire(event);
		break;
	}
	pass_centre();
	free(event->message);
}

static int64_t due_of_centre(void)
{
	int64_t due = ri_centre_due(&world.centre);

	due = due < world.nodes[0].thaws_at ? world.nodes[0].thaws_at : due;
	return world.nodes[0].alive ? due : INT64_MAX;
}

/* The next thing that happens: of an event and a deadline at one time the event. */
static bool step(void)
{
	size_t next = 0;
	struct event event;

	for (size_t i = 1; i < world.event_count; i++)
		if (world.events[i].at < world.events[next].at)
			next = i;
	if (world.event_count > 0 && world.events[next].at <= due_of_centre()) {
		if (waits_for_thaw(&world.events[next]))
			return true;
		event = world.events[next];
		memmove(&world.events[next], &world.events[next + 1],
			(--world.event_count - next) * sizeof(event));
		world.now = event.at > world.now ? event.at : world.now;
		happen(&event);
		return world.now < END_MS;
	}
	if (due_of_centre() >= END_MS)
		return false;
	world.now = due_of_centre();
	pass_centre();
	return true;
}

static void begin_world(uint64_t seed, bool harsh, enum mutant mutant)
{
	memset(&world, 0, sizeof(world));
	world.seed = seed;
	world.drawn = seed * 0x9e3779b97f4a7c15ULL + 1;
	world.harsh = harsh;
	world.mutant = mutant;
	world.count = 2 + draw(NODES - 1);
	world.wire_count = 1;
	world.now = 1000;
	uint64_t restarts = draw(4);

	for (size_t i = 0; i < world.count; i++) {
		world.nodes[i].number = i;
		world.nodes[i].restarts = restarts + (harsh && happens(5));
		begin_life(&world.nodes[i]);
	}
}

static void run_world(void)
{
	while (step())
		;
	for (size_t i = 0; i < world.event_count; i++)
		free(world.events[i].message);
}

#endif
