/* SPDX-License-Identifier: Apache-2.0 */
/* Which process is a rank of a simulated job, below the rankinit of its node. */
#ifndef RI_SHIM_PLAY_PROCESS_H
#define RI_SHIM_PLAY_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

/*
 * The eldest process below member, or itself, that is no rankinit; rank and local_rank:
 * and that has these in its environment, -1: whatever it has there. 0: there is none.
 */
pid_t ri_simulate_find(pid_t member, int64_t rank, int64_t local_rank);

#endif
