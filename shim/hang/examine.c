/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/look.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "hang/hang.h"
#include "system/clock.h"
#include "system/helper.h"
#include "system/own_proc.h"

enum {
	PATIENCE_MS = 200,	/* for one process, or half of the time that is left for all; the
				 * largest take a hundredth of that */
	POLL_MS = 10,
	AGAIN_MS = 2000,	/* until the third look: of healthy jobs most take a step */
};

struct ri_autopsy_region *ri_autopsy_open(void)
{
	return ri_pages_shared(sizeof(struct ri_autopsy_region));
}

struct work {
	struct ri_autopsy_region *region;
	const struct ri_autopsy_limit *limit;
};

/* As many as there is time for, and one. */
static void work(void *context)
{
	const struct work *work = context;
	struct ri_autopsy_region *region = work->region;
	size_t count = ri_hang_newer(&region->hang)->count;

	do {
		ri_autopsy_look(region, region->order[region->progress]);
		region->progress++;
	} while (region->progress < count && !ri_autopsy_is_over(work->limit));
}

/* Until it has ended, or does not get on, or the time is over. Returns whether it has ended. */
static bool attend(const struct ri_autopsy_region *region, pid_t worker,
	const struct ri_autopsy_limit *limit)
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
static bool look_at_all(struct ri_autopsy_region *region, const struct ri_autopsy_limit *limit)
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

		if (ri_autopsy_is_over(limit))
			return false;
		worker = ri_helper_start(&task);
		if (worker < 0) {
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

static bool look(struct ri_autopsy_region *region, const struct ri_autopsy_wish *wish,
	const struct ri_autopsy_limit *limit)
{
	bool whole;

	if (!ri_autopsy_list_own(region, wish->root, wish->own, wish->own_count))
		return false;
	region->hang.cut_errno = 0;
	ri_clock_read(CLOCK_REALTIME, &region->hang.at);
	whole = look_at_all(region, limit) && ri_autopsy_list_others(region, wish->root, limit) &&
		look_at_all(region, limit);
	ri_autopsy_conclude(region);
	ri_hang_judge(&region->hang);
	return whole;
}

static void wait_until(const struct ri_autopsy_wish *wish, int64_t at)
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

bool ri_autopsy_dump(struct ri_hang *hang, size_t flags, struct ri_text *out)
{
	struct ri_json json = { .escapes = 0 };
	json_t *document = ri_hang_json(&json, hang);
	bool whole = !json.incomplete && ri_json_dump(document, flags, out) == 0 && !out->cut;

	json_decref(document);
	return whole;
}

bool ri_autopsy_examine(struct ri_autopsy_region *region, const struct ri_autopsy_wish *wish)
{
	struct ri_hang *hang = &region->hang;
	int64_t begun = wish->now_ms();
	const struct ri_autopsy_limit limit = { wish->now_ms, begun + wish->most_ms };
	bool whole;

	hang->by_seccomp = ri_autopsy_is_filtered();
	hang->yama = ri_autopsy_yama();
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
