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
 * are dying? Does not look if there is one child or, unless always is set (what
 * a rank lost dies by now), if the last look is too recent for the time it took.
 */
void ri_settle_look(struct ri_children *children, bool always);

/*
 * Some have failed: begin to look which of the others, that have printed an exception, end of it;
 * of all others, where the failures are losses alone. ri_course_take has the answer.
 */
void ri_settle_ask(struct ri_children *children, struct ri_output *output);

/*
 * Before they are told by this signal; 0: by none. What ends with a status though it had no
 * handler for the signal, and does not wait for it, ended by itself.
 */
void ri_settle_prepare_stop(struct ri_children *children, const struct ri_output *output,
	int number);

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
 * Mark the children whose program an exception has left, by what ri_course_take saw: they are on
 * their way out, which may take long. Asks as ri_settle_ask does. Returns whether there are any.
 */
bool ri_settle_find_leavers(struct ri_children *children, struct ri_output *output);

#endif
