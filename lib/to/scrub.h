/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What several ranks must not inherit from the one process that starts them,
 * a launcher or ourselves: scrub.def.
 */
#ifndef RI_TO_SCRUB_H
#define RI_TO_SCRUB_H

#include <stdbool.h>
#include <stddef.h>

#include "to/writing.h"

/*
 * Does the table remove the variable of that name, which need not end in '\0'?
 * here: we start the ranks ourselves.
 */
bool ri_scrub_removes(const char *name, size_t length, bool here);

/* Remove everything that is there and in the table. */
void ri_scrub(struct ri_writing *writing);

#endif
