/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --linger: a rank that ends of an exception and does not get to its end, because a thread, a
 * handler of atexit or a peer that it waits for keeps it. Others would wait for it for ever.
 *
 * Each rank has a time of its own, from its last traceback on. Then what it said is read: only an
 * exception that left the program counts, and only where the rank has said no more since the time
 * before. The rest is seen from outside, by hang/course.h.
 */
#ifndef RI_SHIM_WATCH_LINGER_H
#define RI_SHIM_WATCH_LINGER_H

#include <stdint.h>

#include "launch/children.h"
#include "pump/output.h"
#include "watch/obituary.h"

/* A traceback begins on this rank's stderr: its time begins anew. after_ms 0: none is looked at. */
void ri_linger_begin(size_t index, int64_t after_ms);

/* When ri_linger_act is to be called, CLOCK_MONOTONIC ms; INT64_MAX: not at all. */
int64_t ri_linger_due(const struct ri_output *output);

/*
 * The time of some is over: begin to look from outside at those that may linger. Who runs on is
 * looked at again after twice the time, and then has to be seen at its end twice.
 */
void ri_linger_act(struct ri_children *children, struct ri_output *output);

/*
 * A stop came: look at those that may linger, whether their time is over or not. ri_course_take has
 * the answer. Returns whether a look is on its way.
 */
bool ri_linger_ask(struct ri_children *children, struct ri_output *output);

/*
 * A look has been. Marks those that linger (lingered_s) and says of each what it raised and what
 * keeps it; end has the command's name, or its rank. Returns whether there are any.
 */
bool ri_linger_take(struct ri_children *children, struct ri_output *output,
	const struct ri_end *end);

#endif
