/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of the link, as either side has it: the opening in the clear, then sealed
 * frames with one message each. Nothing here waits; docs/link.md has the protocol.
 *
 * A wire that goes wrong is dead from then on, with a reason; its owner closes it.
 */
#ifndef RI_SHIM_LINK_WIRE_H
#define RI_SHIM_LINK_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "link/message.h"
#include "link/seal.h"

enum {
	RI_WIRE_NONCE = 32,
	RI_WIRE_HEAD = 4 + 1,	/* "RKL4", 1 for a key */
	RI_WIRE_OPENING = RI_WIRE_HEAD + RI_WIRE_NONCE + RI_SEAL_POINT,
	RI_WIRE_PROOF_MS = 2000,	/* until the other side has proved itself */
	RI_WIRE_END_MS = 1000,	/* until what is still to be sent has gone */
	RI_WIRE_OUT = 4 * RI_SEAL_FRAME,	/* bytes that wait for a peer which does not read */
	/*
	 * messages of a member, but for groups, which it was asked for, and for the time, which one
	 * with a key may ask for as long as it runs; a centre may say more
	 */
	RI_WIRE_HEARS = 64,
};

enum ri_wire_state {
	RI_WIRE_FREE,
	RI_WIRE_CONNECTING,
	RI_WIRE_GREETING,	/* the other side's opening has not come */
	RI_WIRE_OPEN,
	RI_WIRE_ENDING,		/* closed when all is sent */
	RI_WIRE_DEAD,
};

/* What both sides of a job know. */
struct ri_wire_keys {
	unsigned char job[RI_SEAL_KEY];
	bool keyed;
};

/* A wire has one while a peer sends or reads slowly. */
struct ri_wire_room {
	struct ri_wire_room *next;	/* of those that are free */
	unsigned char in[RI_SEAL_FRAME];	/* part of a frame, or of an opening */
	unsigned char out[RI_WIRE_OUT];	/* what the kernel has not taken */
};

struct ri_wire;

/* What the wires of one process have together. */
struct ri_wires {
	const struct ri_wire_keys *keys;
	void (*open)(struct ri_wire *wire);	/* frames may be sent */
	/* A message has come; false: it is one that the other side does not say. */
	bool (*take)(struct ri_wire *wire, const struct ri_link_message *message);
	/* One for each, of which few are used at a time: pages of the others are never touched. */
	struct ri_wire_room *rooms;
	/* The rest starts as zeroes. */
	size_t used;			/* rooms: the rest has never been */
	struct ri_wire_room *free;	/* used ones, the last first; or NULL */
};

struct ri_wire {
	int fd;
	enum ri_wire_state state;
	bool calls;		/* this side connected */
	bool speaks_link;	/* the other side speaks as a rankinit does */
	bool proved;		/* a frame of the other side opened */
	bool deaf;		/* the other side takes nothing any more */
	bool at_odds;		/* one side has a key, and the other none */
	bool foreign;		/* the other side has another key, or is of another job */
	char version;		/* which it speaks, where that is another; 0: it does not */
	unsigned heard;
	int64_t born;
	int64_t until;		/* when it is given up; INT64_MAX: never */
	const char *why;	/* where it is dead */
	bool closed;		/* ... and the other side closed it, behind a whole message */
	int64_t quiet_ms;	/* ... and it was heard last so long before */
	unsigned char scalar[RI_SEAL_SCALAR];	/* of this side's point, until seals are made */
	struct ri_seal_openings openings;
	struct ri_seal_pair seals;
	struct ri_wires *wires;		/* the owner's; it stays when the wire is closed */
	struct ri_wire_room *room;	/* of theirs; NULL: nothing waits */
	size_t in_count;
	size_t out_begin, out_end;
};

/* The other side called; the wire owns fd, which does not block, from now on. */
void ri_wire_accept(struct ri_wire *wire, int fd, int64_t now);

/* Call this address. Where that cannot begin the wire is dead at once. */
void ri_wire_call(struct ri_wire *wire, const struct sockaddr *address, socklen_t length,
	int64_t now);

/* What to poll for; 0: nothing, as of one that is free or dead. */
short ri_wire_events(const struct ri_wire *wire);

/* Go on after a poll that returned these events. */
void ri_wire_go_on(struct ri_wire *wire, short events, int64_t now);

/* Send a message: now, or as soon as the kernel takes it. */
void ri_wire_send(struct ri_wire *wire, const struct ri_link_message *message);

/* Has the other side's kernel all that was sent? */
bool ri_wire_has_arrived(const struct ri_wire *wire);

/* Close it when all is sent, in a second at most. */
void ri_wire_end(struct ri_wire *wire, int64_t now);

void ri_wire_kill(struct ri_wire *wire, const char *why);

/* Close it: it is free then. */
void ri_wire_close(struct ri_wire *wire);

#endif
