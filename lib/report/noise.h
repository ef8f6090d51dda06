/* SPDX-License-Identifier: Apache-2.0 */
/* What libraries write beside the reason of an end. */
#ifndef RI_REPORT_NOISE_H
#define RI_REPORT_NOISE_H

#include "report/span.h"

/*
 * Does a line say nothing of its own: a blank one, a frame of C++, what
 * announces it, a line of a library's log, a bar of progress?
 */
bool ri_noise_is(struct ri_span line);

/* Is it a note or a warning in such a log: what is told there ended nothing? */
bool ri_noise_is_warning(struct ri_span line);

/* Has one of the last lines a word for an error, warnings left out? */
bool ri_noise_has_error(struct ri_span text);

#endif
