/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a launcher of several ranks must not inherit from the one process that
 * it is: scrub.def.
 */
#ifndef RI_TO_SCRUB_H
#define RI_TO_SCRUB_H

#include <stdbool.h>
#include <stddef.h>

#include "to/writing.h"

/* Does the table remove the variable of that name, which need not end in '\0'? */
bool ri_scrub_removes(const char *name, size_t length);

/* Remove everything that is there and in the table. */
void ri_scrub(struct ri_writing *writing);

#endif
