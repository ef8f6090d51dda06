/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/look.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system/own_proc.h"

enum {
	DEEPEST = 512,			/* generations below root */
	PLACES = 2 * (DEEPEST + 1),	/* the latter half: below none of the own processes */
};

/* rankinit and its helpers wait for ranks, and are none. */
static bool is_rankinit(const struct ri_procstat *process, const char *own_program)
{
	char its[RI_HANG_PATH];

	if (strncmp(process->name, "rankinit", 8) == 0)
		return true;
	return own_program[0] != '\0' &&
		ri_autopsy_link(its, sizeof(its), "/proc/%d/exe", (int)process->pid) &&
		strcmp(own_program, its) == 0;
}

static void add(struct ri_hang_look *look, const struct ri_procstat *process)
{
	struct ri_hang_process *out = &look->processes[look->count++];

	*out = (struct ri_hang_process){
		.pid = process->pid, .parent = process->parent, .started = process->started,
		.state = process->state, .dying = process->dying, .rank = -1, .file = -1,
		.waits_at = -1, .child = -1, .cpu_ticks = RI_HANG_NO_TOTAL,
		.main_ns = RI_HANG_NO_TOTAL, .io_total = RI_HANG_NO_TOTAL,
		.switches = RI_HANG_NO_TOTAL,
		.unlooked = true, .unread = true,
	};
	memcpy(out->name, process->name, sizeof(out->name));
}

static int compare_pids(const void *a, const void *b)
{
	const struct ri_hang_process *one = a, *other = b;

	return (one->pid > other->pid) - (one->pid < other->pid);
}

bool ri_autopsy_list_own(struct ri_autopsy_region *region, pid_t root, const pid_t *own,
	size_t count)
{
	struct ri_hang *hang = &region->hang;
	char program[RI_HANG_PATH];
	struct ri_hang_look *look;
	struct ri_procstat process;

	hang->last = hang->looks_taken == 0 ? 0 : !hang->last;
	look = ri_hang_newer(hang);
	look->count = look->left_out = look->own_count = 0;
	look->listed = false;
	look->suspect = -1;
	look->missing_count = look->ended_count = 0;
	region->progress = 0;
	if (!ri_proc_read(root, &process))
		return false;
	ri_autopsy_link(program, sizeof(program), "/proc/self/exe");
	for (size_t i = 0; i < count && look->count < RI_HANG_PROCESSES; i++)
		if (ri_proc_read(own[i], &process) && !is_rankinit(&process, program))
			add(look, &process);
	look->own_count = look->count;
	qsort(look->processes, look->count, sizeof(look->processes[0]), compare_pids);
	for (size_t i = 0; i < look->count; i++)
		region->order[i] = (uint32_t)i;
	return true;
}

struct listing {
	struct ri_procstat *listed;
	size_t count;
	const struct ri_autopsy_limit *limit;
	bool over;
};

/* /proc lists processes by their number (fs/proc/base.c, next_tgid), so the table is in order. */
static bool add_listed(pid_t pid, void *context)
{
	struct listing *listing = context;
	struct ri_procstat *next = &listing->listed[listing->count];

	listing->over = ri_autopsy_is_over(listing->limit);
	if (!listing->over && ri_proc_read(pid, next) &&
		(listing->count == 0 || next->pid > next[-1].pid))
		listing->count++;
	return !listing->over && listing->count < RI_AUTOPSY_LISTED;
}

static int compare_with_listed(const void *pid, const void *process)
{
	const struct ri_procstat *listed = process;
	pid_t wanted = *(const pid_t *)pid;

	return (wanted > listed->pid) - (wanted < listed->pid);
}

static bool is_own(const struct ri_hang_look *look, pid_t pid)
{
	int at = ri_hang_find_process(look, pid);

	return at >= 0 && (size_t)at < look->own_count;
}

/*
 * How many generations below root, and PLACES / 2 more where none of the own processes is above
 * it; -1: it is not of them. Where there are no own ones, all are alike.
 */
static int find_place(const struct ri_autopsy_region *region, size_t count, pid_t pid, pid_t root)
{
	const struct ri_hang_look *look = &region->hang.looks[region->hang.last];
	int below = look->own_count == 0 ? 0 : PLACES / 2;

	for (int depth = 0; depth < DEEPEST; depth++) {
		const struct ri_procstat *process;

		if (pid == root)
			return below + depth;
		if (is_own(look, pid))
			below = 0;
		process = bsearch(&pid, region->listed, count, sizeof(*process),
			compare_with_listed);
		if (process == NULL || process->parent <= 0)
			return -1;
		pid = process->parent;
	}
	return -1;
}

bool ri_autopsy_list_others(struct ri_autopsy_region *region, pid_t root,
	const struct ri_autopsy_limit *limit)
{
	static int places[RI_HANG_PROCESSES];
	static size_t at[PLACES + 1];	/* of each place where it begins in the order */
	struct ri_hang_look *look = ri_hang_newer(&region->hang);
	const struct ri_procstat *listed = region->listed;
	char program[RI_HANG_PATH];
	struct listing listing = { .listed = region->listed, .limit = limit };
	size_t count;

	if (!ri_proc_each("/proc", add_listed, &listing) || listing.over)
		return false;
	count = listing.count;
	ri_autopsy_link(program, sizeof(program), "/proc/self/exe");
	for (size_t i = 0; i < count; i++) {
		int place = find_place(region, count, listed[i].pid, root);

		if (ri_autopsy_is_over(limit)) {
			look->count = look->own_count;
			look->left_out = 0;
			return false;
		}
		if (place < 0 || is_own(look, listed[i].pid) || listed[i].pid == getpid() ||
			is_rankinit(&listed[i], program))
			continue;
		if (look->count == RI_HANG_PROCESSES) {
			look->left_out++;
			continue;
		}
		places[look->count] = place;
		add(look, &listed[i]);
	}
	/* where the time ends first, those in front were looked at */
	memset(at, 0, sizeof(at));
	at[0] = look->own_count;
	for (size_t i = look->own_count; i < look->count; i++)
		at[places[i] + 1]++;
	for (size_t place = 1; place <= PLACES; place++)
		at[place] += at[place - 1];
	for (size_t i = look->own_count; i < look->count; i++)
		region->order[at[places[i]]++] = (uint32_t)i;
	look->listed = true;
	return true;
}
