/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the checks, for the reader of options, which does not know the checks. */
#ifndef RI_SHIM_CHECK_IDS_H
#define RI_SHIM_CHECK_IDS_H

#include <stddef.h>

#include "demand/demand.h"

size_t ri_check_count(void);

/* All ids, in the order of the table, NULL at their end. */
const char *const *ri_check_ids(void);

/* Add what stands beside those of the set, for whoever asks for these by their ids. */
void ri_check_add_parts(struct ri_check_set *set);

/*
 * Add the checks that a word names: an id, or "shm.*" for all of a family.
 * Returns how many there are.
 */
size_t ri_check_match(const char *word, size_t length, struct ri_check_set *set);

/* The same of the checks of earlier versions, each of which gets this asker. */
size_t ri_check_match_gone(const char *word, const char *askers[RI_MAX_CHECKS], const char *asker);

/* The id of one of those, and what to use in its place; NULL past the end of the table. */
const char *ri_check_gone_at(size_t index, const char **use);

#endif
