/* SPDX-License-Identifier: Apache-2.0 */
/* A glob that a line of a rank's stderr may fit: the language of the tables here. */
#ifndef RI_WORDS_GLOB_H
#define RI_WORDS_GLOB_H

#include "base/span.h"

/* Only this many bytes of a longer line are compared. */
enum { RI_GLOB_BYTES = 4096 };

/* Does the whole line fit? '*' stands for any bytes, or none, and '~' for one digit. */
bool ri_glob_fits(struct ri_span line, const char *glob);

#endif
