/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what looks like a failure was a Ctrl-C. */
#ifndef RI_REPORT_INTERRUPT_H
#define RI_REPORT_INTERRUPT_H

#include "report/outcome.h"

/*
 * Did outcome->first end of the interrupt? It did where that signal killed it
 * or Python says so, and where it exited soon after it without an exception of
 * its own: handlers do that. For one that we had told to stop, what it said
 * after the interrupt or not to its end does not count, and an end of another
 * by the interrupt does. False without an interrupt or without a first.
 */
bool ri_outcome_is_interrupted(const struct ri_outcome *outcome);

#endif
