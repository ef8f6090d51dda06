/* SPDX-License-Identifier: Apache-2.0 */
/* How a line that somebody else wrote looks. */
#ifndef RI_WORDS_PATTERN_LINE_H
#define RI_WORDS_PATTERN_LINE_H

#include "base/span.h"

/* Of longer lines no more than this many bytes are looked at. */
enum { RI_SHAPE_BYTES = 4096 };

/* Does all of the line fit? '*' stands for any bytes, none included, and '~' for a digit. */
bool ri_shape_fits(struct ri_span line, const char *shape);

#endif
