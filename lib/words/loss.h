/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages by which a rank says that it did not fail itself: a peer, the store
 * or the clock ended it. words.def has the words.
 */
#ifndef RI_WORDS_LOSS_H
#define RI_WORDS_LOSS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

enum { RI_LOSS_ADDRESS = 64 };	/* bytes of an address, and its end */

enum ri_loss_kind {
	RI_LOSS_OWN,		/* in the table only: what looks like a loss, and is none */
	RI_LOSS_PEER,
	RI_LOSS_STORE,
	RI_LOSS_CLOCK,
	RI_LOSS_MISMATCH,
};

/* Which log of a rank tells more than the message. */
enum ri_loss_log {
	RI_LOSS_LOG_NONE,
	RI_LOSS_LOG_NCCL,
	RI_LOSS_LOG_SOCKET,
	RI_LOSS_LOG_ACTOR,
	RI_LOSS_LOG_RANK,	/* none: the message does, where it names this very rank */
};

struct ri_loss {
	enum ri_loss_kind kind;
	enum ri_loss_log log;
	const char *shape;
};

/* "peer", "store", "clock", "mismatch"; NULL for RI_LOSS_OWN. */
const char *ri_loss_kind_name(enum ri_loss_kind kind);

/*
 * The row of the table that an exception, "package.Type: message", fits, or NULL where it tells of
 * no loss. One of a type that frameworks do not raise for a loss tells of none, whatever it quotes.
 */
const struct ri_loss *ri_loss_of_exception(struct ri_span exception);

/* The loss that the last of the lines with something to say tells of, or NULL. */
const struct ri_loss *ri_loss_of_lines(struct ri_span text);

/* The row that a message fits, one of RI_LOSS_OWN as well, or NULL. */
const struct ri_loss *ri_loss_row(struct ri_span message);

/* The peer's address in the last message of this loss, without its port. False: it has none. */
bool ri_loss_peer(struct ri_span text, const struct ri_loss *loss, struct ri_span *out);

#endif
