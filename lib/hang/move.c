/* SPDX-License-Identifier: Apache-2.0 */
/* Whether any rank gets on, from one look of --stall to the next. */
#include "hang/hang.h"

enum {
	HARDLY_EVER = 200,	/* its main thread was on a CPU for less than one in so many */
	HARDLY = 100,
	SELDOM = 20,		/* what works for it was, for less than that */
	FAULTS = 20,		/* pages in a second; a rank that only polls takes fewer */
	TICK_US = 10000,	/* sysconf(_SC_CLK_TCK) is 100 on all architectures of ours */
	DEEPEST = 512,
};

static const struct ri_hang_process *find_parent(const struct ri_hang_look *look,
	const struct ri_hang_process *process)
{
	int at = ri_hang_find_process(look, process->parent);

	return at < 0 ? NULL : &look->processes[at];
}

/* Whether this is a rank; where there are none, whether no process above it runs Python. */
static bool counts(const struct ri_hang_look *look, bool ranks,
	const struct ri_hang_process *process)
{
	const struct ri_hang_process *parent;

	if (ranks)
		return process->is_rank;
	parent = find_parent(look, process);
	return process->python == RI_HANG_HAS_PYTHON &&
		(parent == NULL || parent->python != RI_HANG_HAS_PYTHON);
}

/* The moment of the rank that this process works for, or is; NULL: none. */
static struct ri_hang_moment *find_moment(const struct ri_hang_look *look,
	const struct ri_hang_process *process, struct ri_hang_moment *moments, size_t count)
{
	for (int depth = 0; process != NULL && depth < DEEPEST; depth++) {
		for (size_t i = 0; i < count; i++)
			if (moments[i].pid == process->pid)
				return &moments[i];
		process = find_parent(look, process);
	}
	return NULL;
}

/* The sum of hashes changes if a process below the rank ends, begins, or has another stack. */
static void add_work(struct ri_hang_moment *moment, const struct ri_hang_process *process)
{
	uint64_t hash = (uint64_t)process->pid;

	moment->ticks += process->cpu_ticks;
	if (moment->pid == process->pid)
		return;
	for (uint32_t i = 0; i < process->stack_count; i++)
		hash = hash * 1099511628211u ^ process->stacks[i].hash ^
			(process->stacks[i].torn ? (uint64_t)process->at_us : 0);
	moment->stacks += hash * 1099511628211u;
}

static bool has_moved(const struct ri_hang_process *process, const struct ri_hang_moment *then,
	const struct ri_hang_moment *now)
{
	uint64_t since = (uint64_t)(now->at_us - then->at_us);
	uint64_t busy = (now->main_ns - then->main_ns) / 1000;

	if (process->stack_count == 0 || process->stacks[0].torn || then->pid != now->pid ||
		then->hash != now->hash)
		return true;
	/* it was on a CPU for a part of the time, or for all of it and took memory */
	if (busy > since / HARDLY_EVER)
		return busy < since - since / HARDLY ||
			(now->faults - then->faults) * 1000000 > since * FAULTS;
	/*
	 * Did threads or children work for a rank whose main thread waits? If that spins, its
	 * threads may spin for it, and their time proves no work.
	 */
	return (process->wait == NULL || process->wait->kind != RI_WAIT_COLLECTIVE) &&
		(now->stacks != then->stacks ||
		(now->ticks - then->ticks) * TICK_US > since / SELDOM);
}

const struct ri_hang_process *ri_hang_find_unreadable(struct ri_hang *hang)
{
	const struct ri_hang_look *look = ri_hang_newer(hang);
	bool ranks = ri_hang_has_ranks(look);
	size_t count = 0;

	for (size_t i = 0; i < look->count; i++) {
		if (!counts(look, ranks, &look->processes[i]))
			continue;
		count++;
		if (look->processes[i].stack_count == 0)
			return &look->processes[i];
	}
	return count == 0 && look->count > 0 ? &look->processes[0] : NULL;
}

bool ri_hang_has_moved(struct ri_hang *hang, struct ri_hang_moment *moments, size_t room)
{
	static struct ri_hang_moment now[RI_HANG_PROCESSES];
	static const struct ri_hang_process *counted[RI_HANG_PROCESSES];
	const struct ri_hang_look *look = ri_hang_newer(hang);
	bool moved = false, ranks = ri_hang_has_ranks(look);
	size_t count = 0;

	for (size_t i = 0; i < look->count && count < room; i++) {
		const struct ri_hang_process *process = &look->processes[i];

		if (!counts(look, ranks, process))
			continue;
		counted[count] = process;
		now[count++] = (struct ri_hang_moment){
			.pid = process->pid, .main_ns = process->main_ns, .at_us = process->at_us,
			.faults = process->faults,
			.hash = process->stack_count > 0 ? process->stacks[0].hash : 0,
		};
	}
	for (size_t i = 0; i < look->count; i++) {
		struct ri_hang_moment *moment = find_moment(look, &look->processes[i], now, count);

		if (moment != NULL)
			add_work(moment, &look->processes[i]);
	}
	for (size_t i = 0; i < count; i++) {
		moved = has_moved(counted[i], &moments[i], &now[i]) || moved;
		moments[i] = now[i];
	}
	return moved || count == 0;
}
