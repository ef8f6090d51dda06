/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jansson's memory while and after ranks run: a region that is reserved before
 * the first of them starts, so that nothing has to be asked for when memory
 * may be short. Pages that are not used cost nothing. Where it is used up,
 * jansson is told so, and what it was asked for fails.
 */
#ifndef RI_SHIM_SAY_JSON_MEMORY_H
#define RI_SHIM_SAY_JSON_MEMORY_H

#include <stddef.h>

/*
 * Give jansson's hash the kernel's random bytes, without a system call; it
 * would open a file for them. Before the first JSON is read or made.
 */
void ri_json_seed(void);

/*
 * Reserve so many bytes, for all that jansson does from now on; what it
 * allocated before must not be freed any more. Returns -1 and errno, and
 * changes nothing, where they cannot be had.
 */
int ri_json_memory_reserve(size_t size);

#endif
