/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Below valgrind a test takes fifty times as long. valgrind looks for memory that is read
 * before it is written, and the first pass of a path shows as much of that as the millionth. So
 * tests that repeat one path, for a bound or for chance, ask here, and repeat it less below
 * valgrind; with sanitizers they do it as often as they say.
 */
#ifndef RI_TESTS_THINNED_H
#define RI_TESTS_THINNED_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* It preloads a library of its own into each process. */
static inline bool below_valgrind(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload != NULL && strstr(preload, "vgpreload") != NULL;
}

/* How often, or how many. */
static inline size_t thinned(size_t whole, size_t below)
{
	return below_valgrind() ? below : whole;
}

#endif
