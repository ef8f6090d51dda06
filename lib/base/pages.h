/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room for what is large and seldom needed. Static arrays of that size belong to
 * every start, and a limit of the address space (RLIMIT_AS) counts them.
 */
#ifndef RI_BASE_PAGES_H
#define RI_BASE_PAGES_H

#include <stddef.h>

/*
 * Zeroed memory that is never given back; a page of it is taken when it is written to.
 * NULL where there is none. Not while ranks run: what they need is reserved before.
 */
void *ri_pages(size_t size);

/* The same, and processes that are forked from now on write to the same memory. */
void *ri_pages_shared(size_t size);

#endif
