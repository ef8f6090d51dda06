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

/* A line of the table, for the documents. */
struct ri_scrub_row {
	const char *pattern;	/* a name, or the beginning of one and '*' */
	enum { RI_SCRUB_KEEP, RI_SCRUB_REMOVE, RI_SCRUB_REMOVE_HERE } verdict;
	const char *cite;
};

/* The table; NULL past its end. */
const struct ri_scrub_row *ri_scrub_at(size_t index);

/* Remove everything that is there and in the table. */
void ri_scrub(struct ri_writing *writing);

#endif
