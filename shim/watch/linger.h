/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --linger: a rank that ends of an exception and does not get to its end, because a thread, a
 * handler of atexit or a peer that it waits for keeps it. Others would wait for it for ever.
 */
#ifndef RI_SHIM_WATCH_LINGER_H
#define RI_SHIM_WATCH_LINGER_H

#include <stdint.h>

#include "launch/children.h"
#include "pump/output.h"

/* A traceback begins on some stderr: its time begins anew. after_ms 0: none is looked at. */
void ri_linger_begin(int64_t after_ms);

/* When ri_linger_look is to be called, CLOCK_MONOTONIC ms; INT64_MAX: not at all. */
int64_t ri_linger_due(void);

/*
 * The time is over: begin to look from outside at those that live, and whose last words are an
 * exception. One that runs on is looked at once more after twice the time.
 */
void ri_linger_look(struct ri_children *children, struct ri_output *output);

/*
 * The look has been: one whose program is over, or NULL. It is said, with its exception and for how
 * long it has been so.
 */
struct ri_child *ri_linger_find(const struct ri_children *children, struct ri_output *output);

#endif
