/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node's helper makes of what its own PID 1 and the centre say: docs/link.md has the
 * tables. Node 0 has one too. It decides from messages and times alone, as link/centre.h does.
 */
#ifndef RI_LINK_MEMBER_H
#define RI_LINK_MEMBER_H

#include "link/message.h"

/*
 * clocks.c: how far one clock goes before another, the wall clock of a node before its
 * CLOCK_BOOTTIME, and that before node 0's. A wall clock may be set at any moment, and a virtual
 * machine may have stood still; then what came before is known the less exactly. All times are
 * microseconds.
 */
struct ri_clocks {
	bool drift;		/* they are of two machines */
	/* The rest starts as zeroes. */
	int64_t ahead_us, error_us;	/* it goes so far before the other, give or take, */
	int64_t seen_us;	/* as seen then, by the other; 0: never */
	/* before it was set last, or stood still, it went so far before, give or take: */
	int64_t before_us, before_error_us;
	int64_t set_us;		/* that was seen then; 0: never */
};

/*
 * It goes so far before the other clock, which shows seen_us. Returns whether that is news: not
 * where more was known, and the two do not contradict each other.
 */
bool ri_clocks_see(struct ri_clocks *clocks, int64_t ahead_us, int64_t error_us, int64_t seen_us);

/*
 * The time of an end by the other clock, and how exactly that is known; 0, which is unknown, where
 * it was, or the clocks were never compared.
 */
void ri_clocks_convert(const struct ri_clocks *clocks, struct ri_link_end *end);

struct ri_member {
	/* Given by the caller. */
	void (*send)(void *context, const struct ri_link_message *message);	/* to the centre */
	/*
	 * To PID 1: the verdict, what a look of all nodes has found, whether they take a step; that
	 * the centre knows its end, and asks whether a rank ends of an exception, or what they do.
	 */
	void (*tell)(void *context, const struct ri_link_message *message);
	void (*say)(void *context, const char *lines);	/* to people */
	void *context;
	struct ri_link_hello self;
	bool keyed;
	const char *centre_name;	/* by which node 0 is called */
	const char *ports;		/* and where: "port 7000" */
	int64_t roll_ms;		/* until node 0 is said not to answer; 0: never */
	/* As soon as it is known, and again when it asks for the time: */
	struct ri_clocks wall;		/* the wall clock and CLOCK_BOOTTIME, */
	struct ri_clocks node_0;	/* and that and node 0's */
	/* The rest starts as zeroes. */
	int64_t begun, roll_at;
	bool joined;			/* the centre has answered, and the connection lasts */
	bool was_joined;		/* that was so once */
	int64_t ranks_met_at;	/* by the caller: its ranks had met node 0's; 0: not seen */
	bool closed;			/* the centre said that it ends */
	bool over;			/* never call again */
	bool rolled;			/* it was said that node 0 does not answer */
	bool told_lost;			/* that a connection ended */
	bool judged;
	bool ordered;			/* by that verdict, or behind it */
	int64_t judged_at;
	bool again;			/* by that verdict */
	int64_t heard_at;		/* from the centre, at last */
	int64_t waits_since;		/* for all to take a step; 0: it does not */
	int64_t silent_at;		/* then it is said that node 0 does not answer */
	struct ri_member_step {
		bool votes;		/* this node has said whether it can, */
		struct ri_link_go vote;	/* so, */
		bool able;		/* that it can, by this word or an earlier one, */
		bool answered;		/* and the centre whether all do */
	} steps[2];			/* by enum ri_link_step */
	bool has_end, end_heard;
	bool asks_time;			/* of node 0, */
	bool holds;			/* and says its end when it has the answer, */
	uint64_t held_answer;		/* and then that there is no more: an ask's number */
	int64_t ask_at;			/* when it asks without an end; 0: never */
	unsigned said, looked;		/* lines and looks of a centre that proves nothing */
	bool owes;			/* the groups of a look */
	uint64_t asks;			/* how often PID 1 was asked, */
	bool waits;			/* and whether the centre waits for the last answer */
	int64_t kept_at;		/* when PID 1 said its groups last; 0: never */
	struct ri_link_groups kept;
	int64_t find_at;		/* by then it hears what was found; 0: it awaits nothing */
	enum ri_link_phase phase;
	struct ri_link_end end;
	char trouble[RI_LINK_WORD];	/* why the last call failed, or "" */
	bool shut_out;			/* though what listens there took it */
};

void ri_member_begin(struct ri_member *member, int64_t now);

/* Is there a reason to call the centre, where there is no connection? */
bool ri_member_calls(const struct ri_member *member);

/* A connection has proved itself: the hello goes out. */
void ri_member_connect(struct ri_member *member, int64_t now);

/* The centre says something. Returns false for what a centre does not say: then lose it. */
bool ri_member_hear(struct ri_member *member, const struct ri_link_message *message, int64_t now);

/* The connection is over, or a call has failed: why, in a few words. */
void ri_member_lose(struct ri_member *member, const char *why);

/* The same of a call that was taken, by what has another key, say: no link came of it. */
void ri_member_shut_out(struct ri_member *member, const char *why);

/* PID 1 says how far its ranks are, or how they ended; of ends the one that says most counts. */
void ri_member_reach(struct ri_member *member, enum ri_link_phase phase);
void ri_member_end(struct ri_member *member, const struct ri_link_end *end);

/*
 * PID 1 says whether this node can take a step; the last word counts. Where node 0 has sent the
 * node away it hears at once that none is taken.
 */
void ri_member_vote(struct ri_member *member, const struct ri_link_go *vote);

/* Has it said that it can, be it taken back since, and not heard whether all do? */
bool ri_member_waits_for_all(const struct ri_member *member, enum ri_link_step step);

/* PID 1, or what it has left, answers the question of that number: nothing of it is unheard. */
void ri_member_answer(struct ri_member *member, uint64_t number);

/*
 * Until when does it wait for all to leave, with a connection that may be to a node 0 which is
 * frozen? end_ms is what an order gives ranks to end, wait_ms what nodes wait for each other.
 */
int64_t ri_member_waits_until(const struct ri_member *member, int64_t end_ms, int64_t wait_ms);

/*
 * PID 1 asks that all nodes look, and says what its own ranks do, which answers each look of the
 * next two seconds, too.
 */
void ri_member_look(struct ri_member *member, const struct ri_link_look *look, int64_t now);
void ri_member_tell_groups(struct ri_member *member, const struct ri_link_groups *groups,
	int64_t now);

/* Will the centre say what a look has found? The end of the node waits so long. */
bool ri_member_awaits(const struct ri_member *member, int64_t now);

/* The node ends, and the centre has not heard how: what PID 1 says then is of this node alone. */
void ri_member_give_up(const struct ri_member *member);

/* When something is due, or INT64_MAX. */
int64_t ri_member_due(const struct ri_member *member);
void ri_member_pass(struct ri_member *member, int64_t now);

#endif
