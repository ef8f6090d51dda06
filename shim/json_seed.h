/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_SHIM_JSON_SEED_H
#define RI_SHIM_JSON_SEED_H

/*
 * To be called before anything reads or writes JSON: jansson would open a
 * file for the seed of its hash. These are the kernel's random bytes, which
 * cost no system call.
 */
void ri_json_seed(void);

#endif
