/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/look.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hang/hang.h"
#include "system/clock.h"
#include "system/helper.h"
#include "system/own_proc.h"

enum {
	PATIENCE_MS = 200,	/* for one process, or half of the time that is left for all; the
				 * largest take a hundredth of that */
	POLL_MS = 10,
	AGAIN_MS = 2000,	/* until the third look: of healthy jobs most take a step */
	DEEPEST = 512,			/* generations below root */
	PLACES = 2 * (DEEPEST + 1),	/* the latter half: below none of the own processes */
};

struct ri_look_region *ri_look_open(void)
{
	return ri_pages_shared(sizeof(struct ri_look_region));
}

/* --- which processes, and in which order ---------------------------------------- */

/* rankinit and its helpers wait for ranks, and are none. */
static bool is_rankinit(const struct ri_procstat *process, const char *own_program)
{
	char its[RI_HANG_PATH];

	if (strncmp(process->name, "rankinit", 8) == 0)
		return true;
	return own_program[0] != '\0' &&
		ri_proc_link(its, sizeof(its), "/proc/%d/exe", (int)process->pid) &&
		strcmp(own_program, its) == 0;
}

static void add(struct ri_hang_look *look, const struct ri_procstat *process)
{
	struct ri_hang_process *out = &look->processes[look->count++];

	*out = (struct ri_hang_process){
		.pid = process->pid, .parent = process->parent, .started = process->started,
		.state = process->state, .dying = process->dying, .rank = -1,
		.waits_at = -1, .child = -1, .unlooked = true, .unread = true,
		.cpu_ticks = RI_HANG_NO_TOTAL, .main_ns = RI_HANG_NO_TOTAL,
		.io_total = RI_HANG_NO_TOTAL, .switches = RI_HANG_NO_TOTAL,
	};
	memcpy(out->name, process->name, sizeof(out->name));
}

static int compare_pids(const void *a, const void *b)
{
	const struct ri_hang_process *one = a, *other = b;

	return (one->pid > other->pid) - (one->pid < other->pid);
}

bool ri_look_list_own(struct ri_look_region *region, pid_t root, const pid_t *own, size_t count)
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
	ri_proc_link(program, sizeof(program), "/proc/self/exe");
	for (size_t i = 0; i < count && look->count < RI_HANG_PROCESSES; i++)
		if (ri_proc_read(own[i], &process) && !is_rankinit(&process, program))
			add(look, &process);
	look->own_count = look->count;
	qsort(look->processes, look->count, sizeof(look->processes[0]), compare_pids);
	for (size_t i = 0; i < look->count; i++)
		region->order[i] = (uint32_t)i;
	return true;
}

/*
 * All that /proc shows, by their number: so it lists them (fs/proc/base.c, next_tgid). Returns how
 * many; 0: it lists none, or not in time.
 */
static size_t list_all(struct ri_procstat *out, const struct ri_look_limit *limit)
{
	struct ri_proc_list list = ri_proc_list_open("/proc");
	size_t count = 0;
	bool over = false;
	pid_t pid;

	while ((pid = ri_proc_list_next(&list)) != 0) {
		over = over || ri_look_is_over(limit);
		if (!over && count < RI_LOOK_LISTED && ri_proc_read(pid, &out[count]) &&
			(count == 0 || out[count].pid > out[count - 1].pid))
			count++;
	}
	return over || list.refused ? 0 : count;
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
static int find_place(const struct ri_look_region *region, size_t count, pid_t pid, pid_t root)
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

bool ri_look_list_others(struct ri_look_region *region, pid_t root,
	const struct ri_look_limit *limit)
{
	static int places[RI_HANG_PROCESSES];
	static size_t at[PLACES + 1];	/* of each place where it begins in the order */
	struct ri_hang_look *look = ri_hang_newer(&region->hang);
	const struct ri_procstat *listed = region->listed;
	char program[RI_HANG_PATH];
	size_t count = list_all(region->listed, limit);

	if (count == 0)
		return false;
	ri_proc_link(program, sizeof(program), "/proc/self/exe");
	for (size_t i = 0; i < count; i++) {
		int place = find_place(region, count, listed[i].pid, root);

		if (ri_look_is_over(limit)) {
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

/* --- the looks ------------------------------------------------------------------ */

struct work {
	struct ri_look_region *region;
	const struct ri_look_limit *limit;
};

/* As many as there is time for, and one. */
static void work(void *context)
{
	const struct work *work = context;
	struct ri_look_region *region = work->region;
	size_t count = ri_hang_newer(&region->hang)->count;

	do {
		ri_look_at(region, region->order[region->progress]);
		region->progress++;
	} while (region->progress < count && !ri_look_is_over(work->limit));
}

/* Until it has ended, or does not get on, or the time is over. Returns whether it has ended. */
static bool attend(const struct ri_look_region *region, pid_t worker,
	const struct ri_look_limit *limit)
{
	uint32_t before = region->progress;
	int64_t moved = limit->now_ms(), now;
	siginfo_t info;

	for (;;) {
		if (waitpid(worker, NULL, WNOHANG | __WALL) != 0)
			return true;
		now = limit->now_ms();
		/* the clock first: what took that long is what has not been done since */
		if (region->progress != before) {
			before = region->progress;
			moved = limit->now_ms();
		} else if (now - moved >= PATIENCE_MS || 2 * (now - moved) > limit->until - moved) {
			return false;
		}
		if (ri_mask_wait_for(RI_MASK_OF(SIGCHLD), &info, POLL_MS) == 0 &&
			limit->now_ms() == now)
			ri_mask_pause(1);
	}
}

/*
 * One in state D dies when it can: it is left behind, and writes no more than it was writing.
 * Returns whether it waited for the memory that it read.
 */
static bool give_up(pid_t worker)
{
	struct ri_procstat process;
	bool waited = ri_proc_read(worker, &process) &&
		(process.state == 'D' || process.state == 'S');

	kill(worker, SIGKILL);
	for (int i = 0; i < POLL_MS && waitpid(worker, NULL, WNOHANG | __WALL) == 0; i++)
		ri_mask_pause(1);
	return waited;
}

/* Look at those that were added. Returns whether all were looked at before the time was over. */
static bool look_at_all(struct ri_look_region *region, const struct ri_look_limit *limit)
{
	struct ri_hang_look *look = ri_hang_newer(&region->hang);
	const struct ri_helper_task task = {
		.body = work, .context = &(struct work){ region, limit }, .signal = SIGCHLD,
	};
	struct ri_hang_process *process;
	bool whole = true;
	pid_t worker;

	while (region->progress < look->count) {
		uint32_t begun = region->progress;
		bool ended, waited, hurried;

		if (ri_look_is_over(limit))
			return false;
		worker = ri_helper_start(&task);
		if (worker == 0) {
			region->hang.cut_errno = errno;
			return false;
		}
		ended = attend(region, worker, limit);
		if (ended && region->progress > begun)
			continue;
		waited = !ended && give_up(worker);
		if (region->progress == look->count)
			break;
		hurried = !ended && limit->until - limit->now_ms() < PATIENCE_MS;
		/*
		 * The worker did not get past this process: its memory does not answer, or takes
		 * too long, or the time was shorter than a process may take, and more would help.
		 */
		process = &look->processes[region->order[region->progress++]];
		whole = whole && !process->unread && (waited || !hurried);
		if (process->unread)
			continue;
		process->unread = hurried && !waited;
		if (!process->unread)
			process->python = waited ? RI_HANG_SILENT : RI_HANG_SLOW;
	}
	return whole;
}

static bool look(struct ri_look_region *region, const struct ri_look_wish *wish,
	const struct ri_look_limit *limit)
{
	bool whole;

	if (!ri_look_list_own(region, wish->root, wish->own, wish->own_count))
		return false;
	region->hang.cut_errno = 0;
	ri_clock_read(CLOCK_REALTIME, &region->hang.at);
	whole = look_at_all(region, limit) && ri_look_list_others(region, wish->root, limit) &&
		look_at_all(region, limit);
	ri_look_conclude(region);
	ri_hang_judge(&region->hang);
	return whole;
}

static void wait_until(const struct ri_look_wish *wish, int64_t at)
{
	for (int64_t left; (left = at - wish->now_ms()) > 0;)
		ri_mask_pause(left < 500 ? (long)left : 500);
}

/* A look that was not finished is dropped: the one before it is told, without a suspect. */
static void take_back(struct ri_hang *hang)
{
	hang->last = !hang->last;
	hang->looks_taken--;
	ri_hang_newer(hang)->suspect = -1;
}

bool ri_look_examine(struct ri_look_region *region, const struct ri_look_wish *wish)
{
	struct ri_hang *hang = &region->hang;
	int64_t begun = wish->now_ms();
	const struct ri_look_limit limit = { wish->now_ms, begun + wish->most_ms };
	bool whole;

	hang->by_seccomp = ri_look_is_filtered();
	hang->yama = ri_look_yama();
	hang->why = wish->why;
	hang->after_loss = wish->after_loss;
	hang->interval_ms = (uint32_t)wish->interval_ms;
	whole = look(region, wish, &limit);
	if (hang->looks_taken == 0)
		return false;
	if (!whole)
		hang->cut_ms = (uint32_t)(wish->now_ms() - begun) + 1;
	if (!whole || wish->once || begun + wish->interval_ms >= limit.until) {
		ri_hang_newer(hang)->suspect = -1;
		return true;
	}
	wait_until(wish, begun + wish->interval_ms);
	if (!look(region, wish, &limit)) {
		take_back(hang);
		return true;
	}
	if (!ri_hang_looks_agree(hang) || !wish->takes_time || ri_hang_newer(hang)->suspect < 0)
		return true;
	wait_until(wish, wish->now_ms() + AGAIN_MS);
	if (look(region, wish, &limit))
		ri_hang_looks_agree(hang);
	else
		take_back(hang);
	return true;
}
