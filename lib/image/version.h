/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of numbers with dots between them: "580.95.05". */
#ifndef RI_IMAGE_VERSION_H
#define RI_IMAGE_VERSION_H

#include <stdint.h>

/*
 * Below 0, 0, or above 0, as a is older than b, the same, or newer. A number
 * that one of them lacks is 0; what follows the last number does not count.
 */
int ri_version_compare(const char *a, const char *b);

/* The number before the first dot; 0 where there is none. */
uint64_t ri_version_major(const char *version);

#endif
