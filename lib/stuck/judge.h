/* SPDX-License-Identifier: Apache-2.0 */
/* What each process of a look does, which of them do the same, and who holds up the others. */
#ifndef RI_STUCK_JUDGE_H
#define RI_STUCK_JUDGE_H

#include "stuck/stuck.h"

/*
 * Classes, groups and the suspect of the newer look; the one before says what stands still. A
 * suspect is named only where there are three ranks or more, the one rank that differs is at
 * most a quarter of them or one, and the others wait for other ranks without moving. Whether
 * two looks agree is for ri_stuck_agrees.
 */
void ri_stuck_judge(struct ri_stuck *stuck);

/* Do both looks suspect the same rank for the same thing? Else the suspect of the newer one goes. */
bool ri_stuck_agrees(struct ri_stuck *stuck);

/* The suspect runs: only time can tell whether it is slow or stuck. */
bool ri_stuck_needs_time(struct ri_stuck *stuck);

/*
 * A number that stays the same as long as no rank's main thread moves in Python: of its code and
 * its instruction. 0: of one rank or more this cannot be known.
 */
uint64_t ri_stuck_mark(struct ri_stuck *stuck);

#endif
