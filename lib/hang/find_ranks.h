/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes are the ranks, by what their environments claim and who started whom. */
#ifndef RI_HANG_FIND_RANKS_H
#define RI_HANG_FIND_RANKS_H

#include "hang/hang.h"

/*
 * Sets is_rank, and rank also of what runs below one, from rank and claim as they were read. The
 * outermost process that claims to be a rank is one: what it starts inherits the claim, or gets
 * one of its own. A launcher claims less than what it starts, and another number than most of
 * that. Each number belongs to one process, the eldest. The processes come in the order of pid.
 *
 * Sets missing, too: the numbers of this node that no process has. They are known where torchrun's
 * variables say how many there are, at least three quarters of them are there, or all but one of
 * three, and each process that the same parent started is one of them.
 */
void ri_hang_find_ranks(struct ri_hang_look *look);

#endif
