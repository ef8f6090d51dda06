/* SPDX-License-Identifier: Apache-2.0 */
/* What each process of a look does, which of them do the same, and which holds up the others. */
#ifndef RI_HANG_JUDGE_H
#define RI_HANG_JUDGE_H

#include <string.h>

#include "hang/hang.h"

/* waits.def: functions of Python libraries in which a process waits. */
enum ri_wait_kind {
	RI_WAIT_COLLECTIVE,
	RI_WAIT_BACKWARD,
	RI_WAIT_PEERS,
	RI_WAIT_LOADER,
	RI_WAIT_WORK,
	RI_WAIT_LOADS,
	RI_WAIT_DATA,
	RI_WAIT_LOCK,
	RI_WAIT_THREAD,
	RI_WAIT_CHILD,
	RI_WAIT_DEBUGGER,
};

struct ri_wait_row {
	enum ri_wait_kind kind;
	const char *file, *function;
	size_t reach;
};

/*
 * The row for a function of that file, with so many frames further in, or NULL. A qualified
 * name's last part counts ("Queue.get").
 */
const struct ri_wait_row *ri_wait_find(const char *file, const char *function, size_t inner);

/* The last part of a qualified name. */
static inline const char *ri_wait_name(const char *function)
{
	const char *dot = strrchr(function, '.');

	return dot == NULL ? function : dot + 1;
}

/*
 * find_ranks.c: which processes are the ranks, by their environments and their parents.
 *
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

/*
 * Give each process of the newer look its class, its group and the child that it waits for, and
 * find the suspect. The look before says which processes stand still.
 */
void ri_hang_judge(struct ri_hang *hang);

/*
 * The row of the outermost frame of the main thread that waits.def has: the function that the
 * program called, not those that it consists of. NULL: there is none. Sets waits_at.
 */
const struct ri_wait_row *ri_hang_find_wait(struct ri_hang_process *process);

/* Is process i a data loader's worker of that process, or of a server of that? */
bool ri_hang_is_worker(const struct ri_hang_look *look, size_t i, pid_t of);

/*
 * It waits for other ranks and does not move: it used hardly any CPU, or all of it, as libraries do
 * that wait by asking again and again.
 */
bool ri_hang_waits_still(const struct ri_hang *hang, const struct ri_hang_process *process);

/* Did it begin to wait anew since the look before? Then it went on, though it is where it was. */
bool ri_hang_woke(const struct ri_hang_process *process);

/* Do both looks suspect the same rank of the same thing? Else no rank is suspected any more. */
bool ri_hang_looks_agree(struct ri_hang *hang);

/* After a loss: is this process ending, or may it be? */
bool ri_hang_is_lost(const struct ri_hang *hang, const struct ri_hang_process *process);

/*
 * move.c: where a rank's main thread was in Python at some time, and how much the processes had
 * worked that run for it.
 */
struct ri_hang_moment {
	pid_t pid;		/* 0: there is no such moment yet */
	uint64_t hash, main_ns, faults;
	uint64_t ticks, stacks;	/* of all its threads, and of all processes below it */
	int64_t at_us;
};

/*
 * Has any rank moved since these moments? They become those of the newer look. A rank stands still
 * if it has the same stack, and its main thread used no CPU, or used all of the time and got no
 * memory. If it does not wait for other ranks, its threads and children must stand still, too.
 * True also where this cannot be known. Without ranks the topmost Python processes count.
 */
bool ri_hang_has_moved(struct ri_hang *hang, struct ri_hang_moment *moments, size_t room);

/* The first rank whose Python stack could not be read; NULL: there is none. */
const struct ri_hang_process *ri_hang_find_unreadable(struct ri_hang *hang);

#endif
