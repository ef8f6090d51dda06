/* SPDX-License-Identifier: Apache-2.0 */
#include "autopsy/examine.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autopsy/files.h"
#include "base/procstat.h"
#include "stuck/judge.h"
#include "system/clock.h"
#include "system/mask.h"
#include "system/unseen.h"

enum {
	PATIENCE_MS = 200,	/* for one process; the largest take a hundredth of that */
	POLL_MS = 10,
	AGAIN_MS = 2000,	/* until the third look: of healthy jobs most take a step */
};

struct ri_autopsy_region *ri_autopsy_open(void)
{
	void *region = mmap(NULL, sizeof(struct ri_autopsy_region), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return region == MAP_FAILED ? NULL : region;
}

/* From outside all of them first: that is quick, and certain. */
__attribute__((noreturn)) static void work(struct ri_autopsy_region *region, pid_t parent)
{
	size_t count = ri_stuck_newer(&region->stuck)->count;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(1);
	for (size_t step = region->progress; step < 2 * count; step++) {
		if (step < count)
			ri_autopsy_look_outside(region, region->order[step]);
		else
			ri_autopsy_look_inside(region, region->order[step - count]);
		region->progress = (uint32_t)step + 1;
	}
	_exit(0);
}

/* Until it has ended, or does not get on, or the time is over. Returns whether it has ended. */
static bool attend(const struct ri_autopsy_region *region, pid_t worker, int64_t until)
{
	int64_t moved = ri_now_ms(), now;
	uint32_t before = region->progress;
	siginfo_t info;

	for (;;) {
		if (waitpid(worker, NULL, WNOHANG | __WALL) != 0)
			return true;
		now = ri_now_ms();
		if (region->progress != before) {
			before = region->progress;
			moved = now;
		}
		if (now >= until || now - moved >= PATIENCE_MS)
			return false;
		if (ri_mask_wait_for(RI_MASK_OF(SIGCHLD), &info, POLL_MS) == 0 &&
			ri_now_ms() == now)
			ri_mask_pause(1);
	}
}

static bool waits(pid_t pid)
{
	static char text[RI_AUTOPSY_FILE + 1];
	struct ri_procstat process;

	return ri_autopsy_read(text, "/proc/%d/stat", (int)pid) > 0 &&
		ri_procstat_read(text, &process) && (process.state == 'D' || process.state == 'S');
}

/*
 * One in state D dies when it can: it is left behind, and writes no more than it was writing.
 * Returns whether it waited for the memory that it read.
 */
static bool give_up(pid_t worker)
{
	bool waited = waits(worker);

	kill(worker, SIGKILL);
	for (int i = 0; i < POLL_MS && waitpid(worker, NULL, WNOHANG | __WALL) == 0; i++)
		ri_mask_pause(1);
	return waited;
}

/* This one holds up who looks at it, or ended it, or there is no time left for it. */
static void note_failure(struct ri_stuck_process *process, bool waited, int64_t until)
{
	if (waited)
		process->python = RI_STUCK_SILENT;
	else if (ri_now_ms() < until)
		process->python = RI_STUCK_SLOW;
	else
		process->unread = true;
}

/* Returns whether all were looked at before the time was over. */
static bool look_at_all(struct ri_autopsy_region *region, int64_t until)
{
	struct ri_stuck_look *look = ri_stuck_newer(&region->stuck);
	pid_t self = getpid(), worker;

	region->progress = 0;
	region->stuck.cut_errno = 0;
	while (region->progress < 2 * look->count) {
		uint32_t step = region->progress;
		bool waited;

		if (ri_now_ms() >= until)
			return false;
		worker = ri_fork_unseen(SIGCHLD);
		if (worker == 0)
			work(region, self);
		if (worker < 0) {
			region->stuck.cut_errno = errno;
			return false;
		}
		if (attend(region, worker, until) && region->progress > step)
			continue;
		waited = give_up(worker);
		step = region->progress;
		if (step >= 2 * look->count)
			break;
		if (step >= look->count)
			note_failure(&look->processes[region->order[step - look->count]], waited,
				until);
		region->progress = step + 1;
	}
	return true;
}

static bool look(struct ri_autopsy_region *region, pid_t root, int64_t until)
{
	bool whole;

	if (!ri_autopsy_list(region, root))
		return false;
	ri_clock_read(CLOCK_REALTIME, &region->stuck.at);
	whole = look_at_all(region, until);
	ri_autopsy_conclude(region);
	ri_stuck_judge(&region->stuck);
	return whole;
}

static void wait_until(int64_t at)
{
	for (int64_t left; (left = at - ri_now_ms()) > 0;)
		ri_mask_pause(left < 500 ? (long)left : 500);
}

/* A look that was not finished suspects nobody, and the one before it is what is told. */
static void take_back(struct ri_stuck *stuck)
{
	stuck->last = !stuck->last;
	stuck->looks_taken--;
	ri_stuck_newer(stuck)->suspect = -1;
}

bool ri_autopsy_examine(struct ri_autopsy_region *region, const struct ri_autopsy_wish *wish)
{
	struct ri_stuck *stuck = &region->stuck;
	int64_t begun = ri_now_ms(), until = begun + wish->most_ms;
	bool whole;

	ri_autopsy_try(region);
	stuck->why = wish->why;
	stuck->after_loss = wish->after_loss;
	stuck->interval_ms = (uint32_t)wish->interval_ms;
	whole = look(region, wish->root, until);
	if (stuck->looks_taken == 0)
		return false;
	if (!whole)
		stuck->cut_ms = (uint32_t)(ri_now_ms() - begun) + 1;
	if (!whole || wish->once || begun + wish->interval_ms >= until) {
		ri_stuck_newer(stuck)->suspect = -1;
		return true;
	}
	wait_until(begun + wish->interval_ms);
	if (!look(region, wish->root, until)) {
		take_back(stuck);
		return true;
	}
	if (!ri_stuck_agrees(stuck) || !wish->takes_time || ri_stuck_newer(stuck)->suspect < 0)
		return true;
	wait_until(ri_now_ms() + AGAIN_MS);
	if (look(region, wish->root, until))
		ri_stuck_agrees(stuck);
	else
		take_back(stuck);
	return true;
}
