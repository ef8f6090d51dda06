/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the checks, for the reader of options, which does not know the checks. */
#ifndef RI_SHIM_CHECK_IDS_H
#define RI_SHIM_CHECK_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "demand/demand.h"

size_t ri_check_count(void);

/* All ids, in the order of the table, NULL at their end. */
const char *const *ri_check_ids(void);

/* Add what stands beside those of the set, for whoever asks for these by their ids. */
void ri_check_add_parts(struct ri_check_set *set);

/* The fact of node_facts.h that a check of this id has become, or NULL. */
const char *ri_check_fact(const char *id);

/*
 * Add the checks that a word names: an id, or "shm.*" for all of a family.
 * Returns how many there are.
 */
size_t ri_check_match(const char *word, size_t length, struct ri_check_set *set);

#endif
