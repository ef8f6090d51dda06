/* SPDX-License-Identifier: Apache-2.0 */
/* How much shared memory so many ranks of a node want at least. */
#ifndef RI_SHIM_CHECK_FS_SHM_H
#define RI_SHIM_CHECK_FS_SHM_H

#include <stdint.h>

uint64_t ri_check_shm_least(uint64_t ranks);

#endif
