/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the nodes of a job say to each other, as docs/link.md lists it: thirteen messages, each a
 * JSON object of at most RI_LINK_FRAME bytes. Names that a reader does not know are skipped,
 * so that a later version may say more.
 */
#ifndef RI_LINK_MESSAGE_H
#define RI_LINK_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "link/seal.h"
#include "report/outcome.h"

enum {
	RI_LINK_FRAME = 8192,	/* bytes of any message */
	RI_LINK_TEXT = 3072,	/* of the lines in one, '\0' included; escaped twice that */
	RI_LINK_GROUPS_TEXT = 7936,	/* of a node's groups: JSON escapes the '\n' alone */
	RI_LINK_WORD = 65,	/* of a host's name or a version, '\0' included */
	RI_LINK_LIFE = RI_SEAL_LIFE,
	/* from a look of all nodes until the centre says what was found */
	RI_LINK_LOOK_MS = 5000,
	RI_LINK_SOON_MS = 1500,	/* where a stop waits for it */
	RI_LINK_BEAT_MS = 10000,	/* in which nodes that wait for others hear of node 0 */
};

/* The end of the year 9999, in microseconds since 1970: no clock says more. */
#define RI_LINK_CLOCK INT64_C(253402300799000000)

/* One start of a rankinit; zeroes: none. */
struct ri_link_life {
	unsigned char bytes[RI_LINK_LIFE];
};

/* What the centre makes of a member. */
enum ri_link_place {
	RI_LINK_TAKEN,		/* one of the job */
	RI_LINK_GUEST,		/* told what there is to tell; its own words change nothing */
	RI_LINK_LATER,		/* this centre's job is over: call again, there may be another */
	RI_LINK_OTHER,		/* another centre has taken it, or it is one itself: never again */
	RI_LINK_SIZE,		/* it counts the nodes otherwise: likewise */
};

/* The clocks of the centre when it said this, in microseconds; 0: it does not say. */
struct ri_link_time {
	uint64_t clock_us;	/* since 1970: for people */
	uint64_t boot_us;	/* CLOCK_BOOTTIME, which cannot be set */
};

struct ri_link_hello {
	struct ri_link_life life;	/* of the speaker */
	struct ri_link_life centre;	/* that took a member before; the centre leaves it out */
	uint64_t node;
	uint64_t nodes;
	uint64_t age_ms;	/* how long the speaker has run */
	uint64_t call;		/* of a member: its calls at all addresses at once are one; or 0 */
	uint64_t met_ms;	/* how long ago its ranks had met node 0's; 0: not seen */
	bool may_stop;		/* its ranks, for another node's failure */
	uint64_t restarts;	/* of its ranks that may still be; 0: they never start again */
	enum ri_link_place place;	/* said by the centre; a member says RI_LINK_GUEST */
	struct ri_link_time time;	/* of the centre; a member leaves it out */
	char host[RI_LINK_WORD];
	char version[RI_LINK_WORD];
};

enum ri_link_phase {
	RI_LINK_STARTING,
	RI_LINK_RUNNING,	/* its ranks were started */
	RI_LINK_LEAVING,	/* one of them has ended with 0 */
};

struct ri_link_end {
	/*
	 * Without a status, and who hears it knows the node. RI_CLASS_NONE: all of its ranks ended
	 * with 0; OWN also: not fit, not started; STOPPED: from outside, it is on its way.
	 */
	struct ri_verdict verdict;
	bool fatal;		/* the job cannot go on without these ranks */
	bool lives;		/* its rank has raised, and is still on its way out */
	/* another rank of the node may have failed before, and lives; or more words may come */
	bool open;
	/*
	 * When, in microseconds; 0: that is not known. PID 1 says it by the wall clock, since 1970;
	 * between nodes it is by the CLOCK_BOOTTIME of node 0, give or take error_us.
	 */
	uint64_t at_us, error_us;
	char text[RI_LINK_TEXT];	/* lines, each ended by '\n', without secrets */
};

struct ri_link_news {
	char text[RI_LINK_TEXT];	/* lines, likewise; "": all still wait */
};

/* The verdict on the job, and what each node is to do. */
struct ri_link_decision {
	struct ri_verdict verdict;	/* of the end that decided; without a status */
	bool order;		/* the member is to stop */
	bool again;		/* the ranks of all nodes are to start again when all have ended */
	char text[RI_LINK_TEXT];
};

/*
 * Has a rank of this node ended, other than with 0, begun an exception, or been told to stop, and
 * the centre has not heard how that ends?
 */
struct ri_link_ask {
	bool waits;		/* the verdict does, for the answer that there is none */
	uint64_t number;	/* of a packet to PID 1, whose answer has it; else 0 */
};

/* All nodes shall look at what their ranks do: a member asks for it, the centre says it. */
struct ri_link_look {
	bool soon;		/* a stop waits for it */
};

/* What the ranks of a node did when it looked. */
struct ri_link_groups {
	char text[RI_LINK_GROUPS_TEXT];	/* lines of hang/together.h; "": it did not look */
};

/* What all of that says together. */
struct ri_link_found {
	int64_t rank;		/* that holds up the others; -1: none is named */
	uint64_t node;		/* of that rank */
	char text[RI_LINK_TEXT];	/* lines for people; "": there is nothing to tell */
};

/* All nodes take a step together, or none does: centre.h. */
enum ri_link_step {
	RI_LINK_START,		/* a job that has started again: of its ranks */
	RI_LINK_LEAVE,		/* of this attempt, for the next one */
};

/* First each node says of itself whether it can, then the centre whether they do. */
struct ri_link_go {
	enum ri_link_step step;
	bool go;
	char text[RI_LINK_TEXT];	/* why not, as lines; "" where it goes on */
	/* Of the helper's packet, to leave: of the next attempt; else zeroes. No node hears it. */
	unsigned char key[RI_SEAL_KEY];
};

enum ri_link_kind {
	RI_LINK_HELLO, RI_LINK_PHASE, RI_LINK_END, RI_LINK_HEARD, RI_LINK_NEWS, RI_LINK_VERDICT,
	RI_LINK_ASK,		/* is there something of this node that the centre has not heard? */
	RI_LINK_ANSWER,		/* there is not */
	RI_LINK_LOOK, RI_LINK_GROUPS, RI_LINK_FOUND, RI_LINK_GO,
	RI_LINK_TIME,		/* what do the clocks of node 0 show? */
};

struct ri_link_message {
	enum ri_link_kind kind;
	union {
		struct ri_link_hello hello;
		enum ri_link_phase phase;
		struct ri_link_end end;
		struct ri_link_news news;
		struct ri_link_decision decision;
		struct ri_link_ask ask;
		uint64_t answers;	/* the number of an ask, in a packet of PID 1's */
		struct ri_link_look look;
		struct ri_link_groups groups;
		struct ri_link_found found;
		struct ri_link_go go;
		struct ri_link_time time;
	};
};

/* Append "node 3 (gpu-0514)"; without a host, which is NULL or "", "node 3". */
void ri_link_add_node(struct ri_text *out, uint64_t node, const char *host);

bool ri_link_life_is_none(const struct ri_link_life *life);
bool ri_link_life_is(const struct ri_link_life *a, const struct ri_link_life *b);

/* Beyond doubt? Not where a time is not known. */
bool ri_link_end_is_earlier(const struct ri_link_end *a, const struct ri_link_end *b);

/* Does this class say more? A stop from outside says most: the others get it themselves. */
bool ri_link_class_outweighs(enum ri_class a, enum ri_class b);

/* Does it say more, or as much and was likely earlier? */
bool ri_link_end_outweighs(const struct ri_link_end *a, const struct ri_link_end *b);

/* Do they say as much, and the clocks do not tell which was first? b was not likely earlier. */
bool ri_link_end_is_tie(const struct ri_link_end *a, const struct ri_link_end *b);

/*
 * Lines for a message: what is no UTF-8 or a control character is replaced, whole lines are
 * left out at the end where they do not fit. Takes any bytes.
 */
void ri_link_text_set(char *out, size_t size, const char *lines);

/* Append the message as JSON. Returns 0, or -1 where memory ran out or it does not fit. */
int ri_link_message_render(const struct ri_link_message *message, struct ri_text *out);

/*
 * Read one of so many bytes. Returns 0, or -1 where it is none: broken JSON, a member that is
 * missing, of another type or out of its bounds, a text with control characters. jansson's hash
 * must have been seeded (json_object_seed).
 */
int ri_link_message_read(struct ri_link_message *out, const char *bytes, size_t length);

/*
 * PID 1 and its helper send the struct itself, as one packet: phases, ends and groups one way,
 * "heard", verdicts and what was found the other, looks and steps both. The helper speaks with the
 * network, so PID 1 takes nothing of a packet on trust. Is this one, of so many bytes? Its texts
 * end and have no control characters then; what stands behind the fields of its kind means nothing.
 */
bool ri_link_packet_check(struct ri_link_message *packet, size_t length);

#endif
