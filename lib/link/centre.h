/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What node 0's helper makes of what the nodes say: who has come, which node failed first, who
 * is to stop. It decides from messages and times alone; docs/link.md has the tables.
 *
 * Sessions are numbers of the caller's, one for each connection that has proved itself; 0 is
 * node 0's own member. Times are milliseconds of one clock that goes on in a suspended machine.
 */
#ifndef RI_LINK_CENTRE_H
#define RI_LINK_CENTRE_H

#include "link/message.h"

enum {
	RI_CENTRE_ASK_MS = 400,		/* between two questions who ends of an exception */
	RI_CENTRE_OWN_MS = 500,		/* for an earlier end than one of its own */
	RI_CENTRE_SETTLE_MS = 2000,	/* for a better word than a loss, or than none */
	RI_CENTRE_WORDS_MS = 1000,	/* for all that a node says that is heard again */
	RI_CENTRE_UNHEARD_MS = 65000,	/* an order waits for one that is not */
	RI_CENTRE_SILENT_MS = 60000,	/* a connection that was lost so long ago is news */
	RI_CENTRE_ENDS = 16,	/* that are news: of a thousand nodes the others end alike */
};

/* Another life of a node than the one that has its place: it is told, and decides nothing. */
struct ri_centre_guest {
	struct ri_link_life life;	/* none: there was none */
	bool here;			/* it has a session */
	bool may_stop;
	bool moved;			/* its host has another name */
	size_t session;
	uint64_t call;
	int64_t born, called_at;
};

struct ri_centre_node {
	struct ri_link_life life;	/* none: it has not called */
	struct ri_centre_guest guest;
	int64_t born;			/* when that life began, as its age says */
	bool called;			/* a caller that proved the key said it is this node */
	bool taken;
	bool here;			/* it has a session */
	bool may_stop;
	uint64_t restarts;
	bool ready[2];			/* it can take that step */
	bool barred;			/* it said that it cannot */
	bool closed;			/* it is not here, and closed its last session itself */
	bool vacant;			/* lives.c: another life may take its place */
	bool left;			/* a rank of it has ended with 0 */
	bool ended;
	bool lives;			/* a rank of it is still on its way out */
	bool open;			/* by its end: there may be a better word of it */
	bool answered;			/* it has said that nothing of it is unheard */
	bool silent;			/* that was news */
	bool listed;			/* ri_centre_add_listed names it next */
	bool followed;			/* gone behind the verdict, and another life called */
	bool told;			/* it has the verdict */
	bool awaited;			/* it is to say what its ranks do */
	unsigned owed;			/* looks that it has not answered */
	enum ri_link_phase phase;
	enum ri_class class;	/* where it ended */
	size_t session;
	uint64_t call;			/* by which that session came */
	int64_t said_at;		/* when it said something last */
	int64_t lost_at;		/* when it had the last one */
	int64_t heard_at;		/* ... and when that was heard last */
	char host[RI_LINK_WORD];
};

/*
 * joint_step.c: a step that all nodes take together, or none does. Each says whether it can, and
 * node 0's helper that they do, when all have said so and are connected; or, as soon as one cannot,
 * that none does. As long as nodes wait each hears of it by RI_LINK_NEWS, with the names of those
 * they wait for, or empty; also behind the start, until the ranks of all nodes run.
 *
 * A restart takes two. Behind a verdict with `again` a node can leave the attempt when its ranks
 * have ended: then all execute themselves again. In the next attempt, whose keys are others, it can
 * start its ranks when it is fit. So those of two attempts never run at once.
 */
struct ri_joint_step {
	int64_t since;		/* nodes wait; 0: none does */
	int64_t beat_at, line_ms;	/* when they hear that node 0 does, and whom it waits for */
	bool over;		/* it was said, as follows */
	struct ri_link_message said;
};

/* The mark of all failures of which no node is named, or that left no word. */
#define RI_CENTRE_LOSSES UINT64_C(1)

struct ri_centre {
	/* Given by the caller. */
	void (*send)(void *context, size_t session, const struct ri_link_message *message);
	void (*drop)(void *context, size_t session);	/* behind what was sent to it */
	const char *(*host)(void *context, size_t node);	/* by the job's own list, or NULL */
	/* Has all that was sent arrived there, so that its own words can, too? NULL: it has. */
	bool (*arrived)(void *context, size_t session);
	void *context;
	struct ri_centre_node *nodes;	/* zeroes */
	size_t count;
	bool keyed;			/* each caller has proved that it has the secret */
	bool orders;			/* there is a secret, and node 0 has no --link=tell */
	struct ri_link_hello self;
	int64_t roll_ms;		/* the first roll call, after the start; 0: there is none */
	/* Of a look of all nodes: what the ranks of a node do; "" is not passed on. */
	void (*add)(void *context, size_t node, const char *groups);
	/*
	 * It is over: what does all of it tell? *found names no rank and has no text, as it stays
	 * if there is nothing to tell. What was added is to be forgotten.
	 */
	void (*judge)(void *context, struct ri_link_found *found);
	uint64_t last_mark;		/* of what had ended the last attempt; 0: nothing had */
	bool (*progressed)(void *context);	/* has this one come further than that? */
	int64_t wait_ms;	/* of a step: for a node that has not come, or was lost */
	int64_t end_ms;		/* to leave: more for one that is here, whose ranks end */
	bool gathers;	/* its ranks wait for all nodes: until then no end decides */
	uint64_t quick;	/* attempts before this one that were over in no time, in a row */
	/* The rest starts as zeroes. */
	int64_t begun, roll_at, settle_at;
	int64_t ask_at;		/* while it settles */
	bool questions;		/* an answer ends the wait, */
	size_t clear;		/* and of so many nodes, the first ones, nothing more can come */
	int64_t failed_at;	/* when the first failure was heard; 0: none was */
	bool looks;		/* all do, in a round that ends when they have answered, or */
	int64_t look_until, look_again_at;
	struct ri_joint_step steps[2];	/* by enum ri_link_step */
	int64_t ran_at;		/* since when all may run; 0: from the start */
	int64_t pause_until;	/* no node leaves before */
	size_t called;			/* nodes that have */
	size_t guests;			/* that are here */
	bool rolled;			/* a roll call has named a missing node */
	bool foreign;			/* a node with another key or of another job called */
	char version;			/* of the wire, as a node that called speaks it; 0: none */
	size_t left;		/* nodes of which a rank has ended with 0 */
	bool decided;
	bool fatal;			/* what decided it ended the job */
	unsigned arrivals;		/* waits for what was sent to nodes just now */
	int64_t order_at;		/* until then the order waits for a node; 0: for none */
	int64_t order_look_at;		/* then it is looked whether it still has to */
	struct ri_link_decision decision;
	/* What is known while it settles: the best two ends, of two nodes, with these. */
	struct ri_link_end ends[2];
	size_t end_count, losers;
	bool tied;		/* the verdict names both */
	unsigned ends_told, twins;	/* lines about these: of ends, of second lives */
};

/* The first call. */
void ri_centre_begin(struct ri_centre *centre, int64_t now);

/*
 * A caller that has the key said hello: answer it. Returns the node that the session is of, or -1
 * where the caller was sent away and its session dropped.
 */
int64_t ri_centre_hello(struct ri_centre *centre, size_t session, const struct ri_link_hello *hello,
	int64_t now);

/*
 * The node of a session, as ri_centre_hello returned it, says more, but RI_LINK_TIME, which is the
 * caller's. Returns false for what a member does not say, such as groups without a look.
 */
bool ri_centre_hear(struct ri_centre *centre, size_t node, size_t session,
	const struct ri_link_message *message, int64_t now);

enum { RI_CENTRE_CLOSED = -1 };	/* in place of how long it had been quiet */

/*
 * The session is over. The other side has closed it; or it broke, as where a cable is cut: what was
 * sent last may not have arrived, and it had been quiet for so long.
 */
void ri_centre_lose(struct ri_centre *centre, size_t node, size_t session, int64_t quiet_ms,
	int64_t now);

/*
 * Is there a node that may call yet, to hear the verdict? It has not come, or was lost without an
 * end less than RI_CENTRE_SILENT_MS ago.
 */
bool ri_centre_misses(const struct ri_centre *centre);

/*
 * When something is due, or INT64_MAX; what was received until then is to be heard before. Pass
 * then, and behind each thing that was heard.
 */
int64_t ri_centre_due(const struct ri_centre *centre);
void ri_centre_pass(struct ri_centre *centre, int64_t now);

/* Node 0's rankinit has no more time: what is known decides, if a failure settles. */
void ri_centre_hurry(struct ri_centre *centre, int64_t now);

/* Node 0's rankinit ends: the others do not miss it, and call again. */
void ri_centre_close(struct ri_centre *centre, int64_t now);

/* Is this step waited for? */
bool ri_joint_is_open(const struct ri_centre *centre, enum ri_link_step step);

/* No node can start: why, in words that say so of all. */
void ri_joint_refuse(struct ri_centre *centre, const char *why);

/* The host of a node: by its own words, else by the job's list; or "". */
const char *ri_centre_host(const struct ri_centre *centre, size_t node);

/* What follows is between the centre's own files. nodes.c: its nodes, and what goes to all. */

/* "node 3 (gpu-0514)" */
void ri_centre_add_node(struct ri_text *out, const struct ri_centre *centre, size_t node);

/*
 * "node 2, node 3 (worker-3)", or of more than ten "nodes 12-47, 51 and 3000 more": all nodes that
 * are listed, which they are not any more. Returns how many.
 */
size_t ri_centre_add_listed(struct ri_text *out, struct ri_centre *centre);

/* A message for all members that are connected; a line for guests, too. */
void ri_centre_send_all(const struct ri_centre *centre, const struct ri_link_message *message);
void ri_centre_tell(struct ri_centre *centre, const char *line);

/* May it have ended with 0 since the failure, or before, and the word of that not have come? */
bool ri_centre_is_unheard(const struct ri_centre *centre, const struct ri_centre_node *node);

/*
 * Is it older than this centre by more than its guest is apart from that? It may be what is left of
 * the attempt before, if its ranks met none: who of the two is the node is not known.
 */
bool ri_centre_is_disputed(const struct ri_centre *centre, const struct ri_centre_node *node);

/* decision.c: how its ranks are, how they ended, and that nothing of them is unheard. */
void ri_decision_take_phase(struct ri_centre *centre, size_t node, enum ri_link_phase phase,
	int64_t now);
void ri_decision_take_end(struct ri_centre *centre, size_t node, const struct ri_link_end *said,
	int64_t now);
void ri_decision_take_answer(struct ri_centre *centre, size_t node, int64_t now);

int64_t ri_decision_due(const struct ri_centre *centre);
void ri_decision_pass(struct ri_centre *centre, int64_t now);

/* This end decides, with that text; and what a node is told of it that has come since. */
void ri_decision_make(struct ri_centre *centre, const struct ri_link_end *end, const char *text,
	int64_t now);
void ri_decision_send(struct ri_centre *centre, size_t node);

/*
 * lives.c: the lives of a node, what the centre makes of a hello, and when another life may take
 * the place of one that is gone.
 *
 * The life that came first has the place. Another one is a guest, which is told what happens and
 * decides nothing: it may be a copy of the container. That the first one is gone is proved when
 * it closed its connection, as the kernel does for a process that it kills, a younger life calls,
 * and the first one does not call again for as long as it needs. A connection that broke proves
 * nothing. After the verdict guests are sent away: the next centre may take them.
 */
int64_t ri_lives_due(const struct ri_centre *centre);
void ri_lives_pass(struct ri_centre *centre, int64_t now);

/* A node says whether it can take a step. Behind the word of all it hears that again. */
void ri_joint_hear(struct ri_centre *centre, size_t node, const struct ri_link_go *vote);

/* A node has come, by this session: what was said to all before, it hears now. */
void ri_joint_greet(const struct ri_centre *centre, size_t session);

int64_t ri_joint_due(const struct ri_centre *centre, enum ri_link_step step);
void ri_joint_pass(struct ri_centre *centre, enum ri_link_step step, int64_t now);

/*
 * After a failure of the job, which was just decided: do the ranks of all nodes start again
 * (--restarts)? The decision has a verdict, and gets whether they do: not where a rank of the job
 * has ended well, or a node is not there any more, or could not start its own again. If node 0 was
 * asked for restarts, and there is none, the lines of the verdict get the reason; where there is
 * one after a pause, they say that.
 */
void ri_joint_decide(struct ri_centre *centre, struct ri_text *lines);

#endif
