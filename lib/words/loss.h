/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages by which a rank says that it did not fail itself: a peer, the store
 * or the clock ended it. losses.def has the words.
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

struct ri_loss {
	enum ri_loss_kind kind;
	const char *words, *also;
};

/* "peer", "store", "clock", "mismatch"; NULL for RI_LOSS_OWN. */
const char *ri_loss_kind_name(enum ri_loss_kind kind);

/* The row of the table that the message fits, or NULL where it tells of no loss. */
const struct ri_loss *ri_loss_of_message(struct ri_span message);

/* Does it only look like a loss, by a row of kind RI_LOSS_OWN? */
bool ri_loss_is_own(struct ri_span message);

/*
 * The same for an exception, "package.Type: message". One of a type that
 * frameworks do not raise for a loss tells of none, whatever it quotes.
 */
const struct ri_loss *ri_loss_of_exception(struct ri_span exception);

/* The same for the last of the lines that have something to say. */
const struct ri_loss *ri_loss_of_lines(struct ri_span text);

/* How many lines say something before the first that tells of a loss; is there one? */
size_t ri_loss_count_before(struct ri_span text, bool *lost);

/* The peer's address in the last message of this loss, without its port. False: it has none. */
bool ri_loss_peer(struct ri_span text, const struct ri_loss *loss, struct ri_span *out);

/* A row by its number, for those who go through all; NULL behind the last one. */
const struct ri_loss *ri_loss_at(size_t index);

#endif
