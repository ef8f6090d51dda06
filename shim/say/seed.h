/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_SHIM_SAY_SEED_H
#define RI_SHIM_SAY_SEED_H

/*
 * Give jansson's hash the kernel's random bytes, without a system call; it
 * would open a file for them. Before the first JSON is read or made.
 */
void ri_seed_json(void);

#endif
