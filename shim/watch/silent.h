/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --linger for ranks that have said nothing of their exception: they have it in hand
 * (hang/in_hand.h), and stand still in what comes before it is printed. A job that speaks is not
 * looked at; one that is silent is after half of the time, and then after twice as long each. What
 * ranks write past rankinit to its own stdout wakes it up by no byte: whether it is silent is asked
 * again after four times the time. linger.h has the looks themselves; these go with them.
 */
#ifndef RI_SHIM_WATCH_SILENT_H
#define RI_SHIM_WATCH_SILENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hang/course.h"
#include "launch/children.h"
#include "options/options.h"
#include "pump/output.h"

/* The ranks run, or their launcher does. The options last as long as the job. */
void ri_silent_begin(const struct ri_options *options);

/* They are told to stop: none is looked at any more. */
void ri_silent_end(void);

/* When ri_silent_wish is to be called, CLOCK_MONOTONIC ms; INT64_MAX: not at all. */
int64_t ri_silent_due(const struct ri_output *output);

/*
 * For ri_course_ask, after which ri_silent_take has to be called: the ranks of a launcher, or none
 * and the children are marked as doubtful. Neither where the job has just spoken.
 */
struct ri_course_others ri_silent_wish(struct ri_children *children);

/* They are due or wanted, and no process looks at them: it is tried again after the time. */
void ri_silent_wait(void);

/* A look at these children, or at others, has been. Was it for them? */
bool ri_silent_take(const struct ri_children *children);

/*
 * Was the rank seen with the same exception in hand, at the same instruction and with next to no
 * CPU and no bytes since, for the whole time? Then this is how many seconds, at least 1; else 0. Of
 * one of the others the index begins at RI_MAX_LOCAL.
 *
 * Ranks may all handle an error together: one of them stores a checkpoint, and the others wait for
 * it. So it is 0 for all where one with an exception in hand gets on, and for one that waits for
 * other ranks where no rank is seen that has none: the one that works may be on another node.
 */
unsigned ri_silent_stands(size_t index);

#endif
