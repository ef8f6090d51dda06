/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries have one message for trouble of this process's own and for a lost peer. Which of the
 * two it was stands in their log, near the message.
 */
#ifndef RI_WORDS_LOGGED_H
#define RI_WORDS_LOGGED_H

#include "words/loss.h"
#include "words/traceback.h"

/*
 * The loss that the exception tells of, or where traceback is NULL the last lines of the text; NULL
 * where they tell of none, or of what was none by the log. Then *own is the line of the log that
 * says so, else empty. In a chain the first exception counts, unless it only ended a loop: what is
 * raised in a "finally" does not hide it.
 */
const struct ri_loss *ri_logged_loss(struct ri_span text, const struct ri_traceback *traceback,
	struct ri_span *own);

#endif
