/* SPDX-License-Identifier: Apache-2.0 */
/* What each process of a look does, which of them do the same, and who holds up the others. */
#ifndef RI_HANG_JUDGE_H
#define RI_HANG_JUDGE_H

#include "hang/hang.h"

/*
 * Classes, groups and the suspect of the newer look; the one before says what stands still. A
 * suspect is named only where there are three ranks or more, the one rank that differs is at
 * most a quarter of them or one, and the others wait for other ranks without moving. Whether
 * two looks agree is for ri_hang_agrees.
 */
void ri_hang_judge(struct ri_hang *stuck);

/*
 * The row of the outermost frame of the main thread that is known to wait: what the program
 * called, not what that consists of. NULL: there is none. Sets waits_at.
 */
const struct ri_wait_row *ri_hang_find_wait(struct ri_hang_process *process);

/* Is process i a data loader's worker of that process, or of a server of that? */
bool ri_hang_is_worker(const struct ri_hang_look *look, size_t i, pid_t of);

/* Do both looks suspect the same rank of the same thing? Else the newer one suspects nobody. */
bool ri_hang_agrees(struct ri_hang *stuck);

/* After a loss: is it on its way out, or may it be? */
bool ri_hang_is_lost(const struct ri_hang *stuck, const struct ri_hang_process *process);

/* Where a rank's main thread was in Python, at some time, and what works for it. */
struct ri_hang_moment {
	pid_t pid;		/* 0: nothing is known */
	uint64_t hash, main_ns, faults;
	uint64_t ticks, stacks;	/* of all its threads, and of all processes below it */
	int64_t at_us;
};

/*
 * Has any rank moved since these moments, which become those of the newer look? A rank that
 * stands still has the same stack, and its main thread used no CPU, or nothing but CPU and took
 * no memory. If it does not wait for other ranks, what works for it stands still, too. True also
 * where it cannot be known. Without ranks the topmost Python processes count.
 */
bool ri_hang_moved(struct ri_hang *stuck, struct ri_hang_moment *moments, size_t room);

/* The first rank whose stack cannot be read, whatever it does; NULL: there is none. */
const struct ri_hang_process *ri_hang_unseen(struct ri_hang *stuck);

#endif
