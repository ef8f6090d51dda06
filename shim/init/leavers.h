/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a failure is the first one. The kernel closes the connections of a
 * process that dies before that process can be reaped, and a program may close
 * them itself on its way out: what its peers say of it comes first.
 */
#ifndef RI_SHIM_INIT_LEAVERS_H
#define RI_SHIM_INIT_LEAVERS_H

#include <stdbool.h>
#include <stdint.h>

#include "launch/children.h"
#include "init/output.h"

/*
 * Look once at each child that lives and was not told to stop: which of them
 * are dying? Does not look if there is one child or, unless always is set (what
 * a rank lost dies by now), if the last look is too recent for the time it took.
 */
void ri_leavers_look(struct ri_children *children, bool always);

/* Begin to look at the children that the judge doubts, by local rank: ri_course_take has more. */
void ri_leavers_ask(struct ri_children *children, const uint8_t *doubtful);

/*
 * Before they are told by this signal; 0: by none. What ends with a status though it had no
 * handler for the signal, and does not wait for it, ended by itself.
 */
void ri_leavers_prepare_stop(struct ri_children *children, const struct ri_output *output,
	int number);

/*
 * Mark the children whose program an exception has left, by what ri_course_take saw: they are on
 * their way out, which may take long. Begins to look at those that have printed an exception since
 * the last look. Returns whether there are any.
 */
bool ri_leavers_find(struct ri_children *children, const struct ri_output *output);

#endif
