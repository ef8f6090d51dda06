/* SPDX-License-Identifier: Apache-2.0 */
/* What a line says, without what others put around it. */
#ifndef RI_WORDS_LINE_H
#define RI_WORDS_LINE_H

#include "base/span.h"

/* A line that was written over with '\r', as it was at last. */
struct ri_span ri_line_last_state(struct ri_span line);

/*
 * What a line says at last, without torch's "[rank3]: ", the bar of progress in
 * front of it and blanks around it.
 */
struct ri_span ri_line_trim(struct ri_span line);

#endif
