/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round: all nodes look at what their ranks do, at one moment, and node 0's helper says what that
 * tells together. It decides from messages and times alone, as link/centre.h does.
 */
#ifndef RI_LINK_ROUND_H
#define RI_LINK_ROUND_H

#include "link/centre.h"

enum { RI_ROUND_AGAIN_MS = 10000 };	/* from the beginning of one to that of the next */

struct ri_round {
	/* Given by the caller. */
	struct ri_centre *centre;
	/* What the ranks of a node do, of the round that goes on; "" is not passed on. */
	void (*add)(void *context, size_t node, const char *groups);
	/*
	 * The round is over: what does all of it tell? *found names no rank and has no text, as it
	 * stays if there is nothing to tell. What was added is to be forgotten.
	 */
	void (*judge)(void *context, struct ri_link_found *found);
	void *context;
	/* The rest starts as zeroes. */
	bool open;
	int64_t until;		/* of the one that goes on */
	int64_t again_at;	/* not before: the next one */
};

/*
 * The node of a session asks for a look, or says what its ranks do: messages of these kinds go here
 * and not to ri_centre_hear. Returns false for what a member does not say: groups without a look.
 */
bool ri_round_hear(struct ri_round *round, size_t node, size_t session,
	const struct ri_link_message *message, int64_t now);

/* When it ends, or INT64_MAX. */
int64_t ri_round_due(const struct ri_round *round);

/*
 * Call this behind each thing that was heard, and when it is due: the round is over if all that are
 * connected have answered, or its time has passed.
 */
void ri_round_pass(struct ri_round *round, int64_t now);

#endif
