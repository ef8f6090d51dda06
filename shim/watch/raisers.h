/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --linger for ranks that a launcher of ours started: which of them raised an exception that left
 * the program, and do not get to their end? The exceptions of all stand in the launcher's stderr.
 * One whose lines bear a rank's label is that rank's. One without a label is the rank's whose
 * program is over, where that is one alone, each rank of the node lives and was looked at, and the
 * others wait where they waited before. Else none is said to have raised it.
 *
 * linger.h has the time and the looks of a rank of our own; these go with them.
 */
#ifndef RI_SHIM_WATCH_RAISERS_H
#define RI_SHIM_WATCH_RAISERS_H

#include <stdbool.h>
#include <stdint.h>

#include "hang/course.h"
#include "pump/output.h"
#include "report/launched.h"

/*
 * A traceback begins on the launcher's stderr. After half of this time, and after all of it, the
 * ranks are worth a look; then seldom, while none is at its end. 0 ms: they are not.
 */
void ri_raisers_begin(int64_t after_ms);

/* When ri_raisers_wish is to be called, CLOCK_MONOTONIC ms; INT64_MAX: not at all. */
int64_t ri_raisers_due(void);

/*
 * The ranks, where an exception left the program of one: for ri_course_ask, after which
 * ri_raisers_take has to be called. Else none.
 */
struct ri_course_others ri_raisers_wish(struct ri_output *output);

/* There is no process that looks: it is tried again after a while. */
void ri_raisers_wait(void);

/*
 * A look has been. Before a stop from outside (stop) whoever is at its end counts, else those that
 * were in two looks, and each of them is said, a few at most. Returns how many; they are kept, and
 * the ranks are not looked at again.
 */
size_t ri_raisers_take(struct ri_output *output, bool stop);

/*
 * By a look that was not for these the rank of that index has an exception in hand and stands still
 * for so long: it is kept, and said, as others. After the last of a look ri_raisers_keep is to be
 * called. Returns false where it has ended, or there is no memory.
 */
bool ri_raisers_hold(struct ri_output *output, size_t index, unsigned seconds);
void ri_raisers_keep(struct ri_output *output);

/* Where there are any: adds them, the text of that time and when we stopped the launcher. */
bool ri_raisers_tell(struct ri_launched_source *source);

#endif
