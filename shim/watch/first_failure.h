/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a failure is the first one. The kernel closes the connections of a
 * process that dies before that process can be reaped, and a program may close
 * them itself on its way out: what its peers say of it comes first.
 */
#ifndef RI_SHIM_WATCH_FIRST_FAILURE_H
#define RI_SHIM_WATCH_FIRST_FAILURE_H

#include <stdbool.h>
#include <stdint.h>

#include "launch/children.h"
#include "pump/output.h"
#include "report/outcome.h"

/*
 * Look once at each child that lives and was not told to stop: which of them
 * are dying? Does not look if there is one child, or if the last look is too
 * recent for the time that it took.
 */
void ri_settle_look(struct ri_children *children);

/*
 * Some have failed: begin to look which of the others, that have printed an exception, end of it.
 * ri_course_take has the answer.
 */
void ri_settle_ask(struct ri_children *children, struct ri_output *output);

/*
 * It was not told to stop, and lives: are its last words an exception that may have ended its
 * program? Then *out has these words.
 */
bool ri_settle_may_linger(const struct ri_child *child, struct ri_output *output, size_t index,
	struct ri_words *out);

/*
 * Before they are told by this signal; 0: by none. What ends with a status though it had no
 * handler for the signal, ended by itself. A Python that has given up its handler for SIGINT is
 * behind its last line (Python/pylifecycle.c, Py_FinalizeEx), unless its program did that, or
 * another one runs in its place.
 */
void ri_settle_prepare_stop(struct ri_children *children, int number);

/* What became of a child, and what it said, as far as it is known by now. */
void ri_settle_describe(const struct ri_child *child, struct ri_output *output, size_t index,
	struct ri_rank_outcome *out);

/*
 * Some have failed and the others run: may the first failure be among those?
 * True where losses alone were seen, and as long as one that has printed an exception in the last
 * settle_ms, or is being looked at, may still end of it.
 */
bool ri_settle_is_open(struct ri_children *children, struct ri_output *output, int64_t settle_ms);

/* Did one that failed wait for others until its time was over, as its last words have it? */
bool ri_settle_timed_out(const struct ri_children *children, struct ri_output *output);

/*
 * Mark the children that have raised an exception of their own and are on their way out of it,
 * which may take long: by what ri_course_take saw, else by what they say. Asks as ri_settle_ask
 * does. Returns whether there are any.
 */
bool ri_settle_find_leavers(struct ri_children *children, struct ri_output *output);

#endif
