/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of again_world.h, as far as their PID 1 goes: it does what shim/ does. */
#ifndef TESTS_UNIT_AGAIN_NODES_H
#define TESTS_UNIT_AGAIN_NODES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/member.h"
#include "link/centre.h"

enum {
	RUNS = 10000,
	NODES = 5,
	WIRES = 512,
	EVENTS = 2048,
	WAIT_MS = 60000,	/* --restart-wait */
	RANKS_MS = 100000,	/* --link-grace */
	SLACK_MS = 5000,	/* more for a member: node 0 may have begun later */
	JUDGE_MS = 2500,
	FIND_MS = 4500,		/* where node 0 may not have begun yet */
	FINISH_MS = 5000,	/* that a stop waits for the answer of the others */
	END_MS = 1500000,
};

enum what { START, CALL, CHECKED, SAY_YES, LOOK, RUN, FAIL, LOSE, DONE, GONE, STOP, KILL, TIRE, DIE,
	FREEZE, BREAK, ARRIVE, WIRE_LOST };

/* Of a node's PID 1. In REFUSES it has taken back that it can leave, and waits for the answer. */
enum state { GATHERS, RUNS_RANKS, WAITS, REFUSES, EXECUTES, OVER };

/*
 * TAKES_STOP takes a stop off the queue when it sees it, ENDS_AT_ONCE waits for no answer then.
 * WAITS_ON waits for a node as long as it is connected, TELLS_NOBODY that it has not started.
 */
enum mutant { SOUND, IGNORES_STOP, STARTS_AT_ONCE, VOTES_EARLY, TAKES_STOP, ENDS_AT_ONCE,
	VOTES_UNSEEN, WAITS_ON, TELLS_NOBODY };

struct wire {			/* between a member and a centre of one attempt */
	size_t node, attempt;
	bool ends[2];		/* as the member, as the centre sees it: open? */
	bool broken;
	bool deaf;		/* nothing arrives at the member any more, and nobody notices */
	int64_t last[2];	/* nothing overtakes: to the member, to the centre */
	int64_t heard;		/* the node, as the centre has it; -1: no hello came */
};

struct event {
	int64_t at;
	enum what what;
	size_t node, attempt, wire;
	bool to_centre;
	struct ri_link_message *message;
};

struct node {
	struct ri_member member;
	enum state state;
	size_t number, attempt;
	uint64_t restarts;	/* as its --restarts has it */
	bool alive;		/* its helper: it stays for a moment behind PID 1's end */
	bool runs;		/* its ranks, */
	size_t of;		/* of that attempt */
	bool stopped, unfit, judged, again;
	int64_t stopped_at, looked_at;	/* for it, as the last thing before its ranks */
	bool pending;		/* that stop is in the queue */
	bool able, answered, goes;	/* of this step: it said yes; what PID 1 hears */
	size_t said_yes;	/* the attempt in which it last said that it is fit, */
	int64_t said_yes_at;	/* and when it had looked for a stop before; 0: never */
	int64_t since;		/* it has been in this state */
	int64_t thaws_at;	/* until then it does nothing, though its kernel answers */
	size_t wire;
};

static struct world {
	uint64_t seed, drawn;
	int64_t now;
	size_t count, attempts;
	bool harsh;
	struct node *aimed;	/* a stop comes to it within a step: as it says yes, or as all go */
	struct node *deafened;	/* it does not hear that all start */
	bool frozen, thaws;	/* some node was; none is for long */
	enum mutant mutant;
	struct node nodes[NODES];
	/* Node 0's, of its attempt. */
	struct ri_centre centre;
	struct ri_centre_node known[NODES];
	struct wire wires[WIRES];
	size_t wire_count;
	struct event events[EVENTS];
	size_t event_count;
	size_t wrong;		/* what must not happen, where a mutant makes it happen */
} world;

/* Of all worlds: one in which nothing happens proves nothing. */
static size_t restarted, refused, ended, crossed;

/* Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003) 14. */
static uint64_t draw(uint64_t below)
{
	world.drawn ^= world.drawn << 13;
	world.drawn ^= world.drawn >> 7;
	world.drawn ^= world.drawn << 17;
	return (world.drawn * 0x2545f4914f6cdd1dULL >> 32) % below;
}

static bool happens(unsigned percent)
{
	return draw(100) < percent;
}

static void require(bool good, const char *what)
{
	if (good)
		return;
	world.wrong++;
	if (world.mutant == SOUND)
		fail_msg("seed %llu, %lld ms: %s", (unsigned long long)world.seed,
			(long long)world.now, what);
}

static struct event *plan(int64_t at, enum what what, size_t node)
{
	struct event *event = &world.events[world.event_count++];

	assert_true(world.event_count <= EVENTS);
	*event = (struct event){ .at = at, .what = what, .node = node,
		.attempt = world.nodes[node].attempt };
	return event;
}

static int64_t after(int64_t least, uint64_t more)
{
	return world.now + least + (int64_t)draw(more);
}

/* PID 1 of a node. */

static void enter(struct node *node, enum state state)
{
	node->state = state;
	node->since = world.now;
	if (state != REFUSES)
		node->able = node->answered = node->goes = false;
}

static void say_end(struct node *node, enum ri_class class)
{
	struct ri_link_end end = { .verdict = { .class = class, .mark = 2 + draw(3) },
		.fatal = true };

	snprintf(end.text, sizeof(end.text), "an end of node %zu\n", node->number);
	ri_member_end(&node->member, &end);
}

/* They get it. */
static void stop_ranks(struct node *node)
{
	node->pending = false;
	say_end(node, RI_CLASS_STOPPED);
	plan(after(0, 20000), GONE, node->number);
}

/* All that must be true when ranks start. */
static void start_ranks(struct node *node)
{
	for (size_t i = 0; i < world.count; i++) {
		const struct node *other = &world.nodes[i];

		require(!other->runs || (other->of == node->attempt && other != node),
			"the ranks of two attempts run at once");
		require(node->attempt == 0 || (other->said_yes == node->attempt &&
			other->said_yes_at != 0), "a node has not said that it can");
		require(node->attempt == 0 || !other->stopped ||
			(other->stopped_at >= other->said_yes_at &&
			(other != node || (other->pending &&
			other->stopped_at >= other->looked_at))),
			"the ranks start again after a stop");
		require(node->attempt <= other->restarts, "too many restarts");
	}
	node->runs = true;
	node->of = node->attempt;
	enter(node, RUNS_RANKS);
	ri_member_reach(&node->member, RI_LINK_RUNNING);
	if (node->pending && world.mutant != IGNORES_STOP)
		stop_ranks(node);
}

static void end_node(struct node *node)
{
	int64_t stays = node->state == GATHERS ? FIND_MS : JUDGE_MS;

	node->runs = false;
	enter(node, OVER);
	ended++;
	plan(after(stays, 500), DIE, node->number);
}

static void vote(struct node *node, enum ri_link_step step, bool go)
{
	struct ri_link_go said = { .step = step, .go = go };

	if (!go)
		strcpy(said.text, "this node cannot\n");
	ri_member_vote(&node->member, &said);
}

static void refuse(struct node *node)
{
	vote(node, node->state == GATHERS ? RI_LINK_START : RI_LINK_LEAVE, false);
	if (node->stopped)
		say_end(node, RI_CLASS_STOPPED);
	end_node(node);
}

/*
 * A step, as PID 1's system calls follow each other: it looks for a stop, says that it can take the
 * step, and then hears and looks in turn, at the latest when poll(2) has waited for 50 ms. Anything
 * may happen between two of these.
 */
static void begin_step(struct node *node)
{
	if (node->pending && world.mutant != IGNORES_STOP && world.mutant != VOTES_UNSEEN) {
		refuse(node);
		return;
	}
	if (node->state == GATHERS) {
		node->said_yes = node->attempt;
		node->said_yes_at = world.now;
	}
	plan(after(0, 3), SAY_YES, node->number);
}

static void say_yes(struct node *node)
{
	if (node == world.aimed && happens(20))
		plan(after(0, 100), STOP, node->number);
	node->able = true;
	plan(after(0, 50), LOOK, node->number);
	plan(world.now + (node->state == WAITS ? JUDGE_MS : 1000), TIRE, node->number);
	vote(node, node->state == WAITS ? RI_LINK_LEAVE : RI_LINK_START, true);
}

/* Its ranks are gone. */
static void take_gone(struct node *node)
{
	node->runs = false;
	if ((node->stopped && !node->pending && world.mutant != IGNORES_STOP) ||
		node->member.self.restarts == 0 || (node->judged && !node->again)) {
		end_node(node);
		return;
	}
	enter(node, WAITS);
	begin_step(node);
}

/* No verdict, or nobody who says whether all can go on. */
static bool is_tired(const struct node *node)
{
	int64_t waited = world.now - node->since;

	if (node->state == GATHERS)
		return waited >= WAIT_MS + SLACK_MS;
	if (!node->again)
		return waited >= JUDGE_MS;
	if (node->number == 0 || (world.mutant == WAITS_ON && node->wire != 0))
		return false;
	return node->wire == 0 ? waited >= WAIT_MS
		: world.now >= ri_member_waits_until(&node->member, RANKS_MS, WAIT_MS);
}

static void take_tiredness(struct node *node)
{
	if ((node->state != WAITS && node->state != GATHERS) || !node->able)
		return;
	if (!is_tired(node)) {
		plan(world.now + 1000, TIRE, node->number);
		return;
	}
	/* the others may have heard that they start */
	if (node->state == GATHERS && !node->stopped && world.mutant != TELLS_NOBODY)
		say_end(node, RI_CLASS_OWN);
	refuse(node);
}

static void take_check(struct node *node)
{
	if (node->state != GATHERS)
		return;
	if (node->unfit)
		refuse(node);
	else if (world.mutant == STARTS_AT_ONCE)
		start_ranks(node);
	else
		begin_step(node);
}

/* It waits in the queue until PID 1 looks; ranks that run get it. */
static void take_stop(struct node *node)
{
	if (node->stopped || node->state == OVER)
		return;
	node->stopped = true;
	node->stopped_at = world.now;
	node->pending = true;
	if (node->state == RUNS_RANKS && node->runs && world.mutant != IGNORES_STOP)
		stop_ranks(node);
}

static void execute_again(struct node *node)
{
	enter(node, EXECUTES);
	restarted += node->number == 0;
	plan(world.now, DIE, node->number);
	if (!world.harsh || !happens(2))
		plan(after(5, !happens(10) ? 50 : world.harsh ? 10000 : 3000), START,
			node->number);
	else
		enter(node, OVER);
}

/* What was answered: a stop that is in the queue stays there for the next attempt. */
static void follow(struct node *node)
{
	if (!node->goes)
		end_node(node);
	else if (node->state != GATHERS)
		execute_again(node);
	else if (node->pending && world.mutant != IGNORES_STOP)
		refuse(node);
	else
		plan(after(0, 3), RUN, node->number);
	node->looked_at = world.now;
	node->able = false;
}

/* While it waits for the answer a stop is seen, of which the others have not heard. */
static void take_back(struct node *node)
{
	crossed++;
	if (world.mutant == TAKES_STOP)
		node->pending = false;
	if (node->state == GATHERS || world.mutant == ENDS_AT_ONCE) {
		refuse(node);
		return;
	}
	say_end(node, RI_CLASS_STOPPED);
	vote(node, RI_LINK_LEAVE, false);
	if (node->state != OVER)	/* the verdict may have come by that */
		enter(node, REFUSES);
}

static void look(struct node *node)
{
	if (!node->able || node->state == RUNS_RANKS || node->state == EXECUTES ||
		node->state == OVER)
		return;
	if (node->answered)
		follow(node);
	else if (node->state == REFUSES && world.now - node->since >= FINISH_MS)
		end_node(node);
	else if (node->pending && node->state != REFUSES && world.mutant != IGNORES_STOP)
		take_back(node);
	if (!node->answered)
		plan(after(0, 50), LOOK, node->number);
}

static void fail_itself(struct node *node, enum ri_class class)
{
	if (node->state != RUNS_RANKS || !node->runs || node->stopped || node->judged ||
		node->member.has_end)
		return;
	say_end(node, class);
	plan(after(0, happens(10) ? 20000 : 500), GONE, node->number);
	for (size_t i = 0; i < world.count && class != RI_CLASS_LOSS; i++)
		if (i != node->number && happens(60))
			plan(after(0, 1500), LOSE, i);
}

static void take_verdict(void *context, const struct ri_link_decision *verdict)
{
	struct node *node = context;

	/* the order may come behind the verdict */
	if (node->judged) {
		require(verdict->order && !verdict->again, "a second verdict");
		if (node->state == RUNS_RANKS)
			plan(after(0, 500), GONE, node->number);
		return;
	}
	node->judged = true;
	node->again = verdict->again;
	if (node->state == GATHERS) {
		vote(node, RI_LINK_LEAVE, false);
		end_node(node);
	} else if ((node->state == WAITS || node->state == REFUSES) && !verdict->again)
		end_node(node);
	else if (node->state == RUNS_RANKS && verdict->order)
		plan(after(0, happens(20) ? RANKS_MS : 500), GONE, node->number);
	if (node->state == RUNS_RANKS && verdict->again && world.mutant == VOTES_EARLY)
		vote(node, RI_LINK_LEAVE, true);
}

static void take_go(void *context, const struct ri_link_go *go)
{
	struct node *node = context;

	refused += !go->go && node->number == 0;
	require(world.harsh || world.frozen || world.deafened != NULL ||
		strstr(go->text, " not come within ") == NULL,
		"the others wait for a node that was stopped");
	require(node->state != RUNS_RANKS || !go->go || world.mutant == VOTES_EARLY,
		"it has not said that it can");
	/* a verdict may overtake the word that they start */
	if (node->state == OVER || (node->judged && go->step == RI_LINK_START))
		return;
	if (node->state == RUNS_RANKS && !go->go)
		node->again = false;
	else if (node->state == RUNS_RANKS)
		execute_again(node);
	else if (!node->able)
		end_node(node);
	if (!node->able)
		return;
	node->answered = true;
	node->goes = go->go;
	plan(after(0, 3), LOOK, node->number);
}

#endif
