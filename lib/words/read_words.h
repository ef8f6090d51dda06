/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank's stderr says of its end, read once: what is judged of the rank reads this. */
#ifndef RI_WORDS_READ_WORDS_H
#define RI_WORDS_READ_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "words/collective.h"
#include "words/loss.h"
#include "words/traceback.h"

/* The spans point into the text that was read. */
struct ri_words {
	bool has_traceback;	/* false: all down to the empty line is zero */
	struct ri_traceback traceback;
	size_t message_lines;	/* below its first that say something, up to a loss */
	bool goes_on;		/* lines that say something stand behind it */
	const struct ri_loss *loss;	/* that the exception tells of, or NULL */
	/* where torchrun says that workers failed, and all of them tell of a loss; or NULL */
	const struct ri_loss *workers_loss;
	bool tells_of_stop;	/* the exception is what a stop makes of a program */
	bool tells_of_kill;	/* the program says that it killed the other ranks */
	bool interrupted;	/* the chain has a KeyboardInterrupt */
	bool lacks_rank;	/* the program asked the environment for a rank, and got none */
	bool asked_for_line;	/* the program asked stdin for a line, which had ended */

	const struct ri_loss *last_loss;	/* of the last lines, or NULL */
	bool aborted;		/* one of the last lines is RI_LINE_LAST */
	bool has_calls;		/* torch says which collectives were not the same: */
	struct ri_fingerprint calls[2];
	bool has_work;		/* NCCL's watchdog says in which collective it was: */
	struct ri_work work;
	bool complains;		/* the last lines have a word for an error */
	bool has_bus_error;
};

/*
 * The loss that the exception tells of, or where traceback is NULL the last lines that have
 * something to say; NULL where they tell of none. Libraries have one message for a lost peer and
 * for trouble of this process's own: where their log, near the message, says that it was that, *own
 * is this line, and the result NULL; else *own is empty. In a chain the first exception counts,
 * unless it only ended a loop: what is raised in a "finally" does not hide it.
 */
const struct ri_loss *ri_words_loss(struct ri_span text, const struct ri_traceback *traceback,
	struct ri_span *own);

/* Read the last bytes of a process's stderr. Fills in all of *out. */
void ri_words_read(struct ri_span text, struct ri_words *out);

#endif
