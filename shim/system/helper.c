/* SPDX-License-Identifier: Apache-2.0 */
#include "system/helper.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/clock.h"

enum {
	REAP_MS = 200,		/* a killed helper that stays longer is left behind */
	STEP_MS = 1,
	LEFT = 4,		/* that may stay though they were killed */
	MOST = LEFT + 4,	/* link, roll call, autopsy and course have one each */
};

static bool woken;		/* SIGIO may come of one of them from now on */

/* The hidden ones that have not been reaped; pid 0: a free place. */
static struct hidden {
	pid_t pid;
	bool left;		/* its owner has given it up */
} all[MOST];

static struct hidden *find(pid_t pid)
{
	for (size_t i = 0; i < MOST; i++)
		if (all[i].pid == pid)
			return &all[i];
	return NULL;
}

pid_t ri_helper_fork(int signal)
{
	pid_t pid = (pid_t)syscall(SYS_clone, signal, NULL, NULL, NULL, 0);
	struct hidden *place = pid > 0 && signal != SIGCHLD ? find(0) : NULL;

	woken = woken || (signal == SIGIO && pid > 0);
	if (place != NULL)
		*place = (struct hidden){ .pid = pid };
	return pid;
}

bool ri_helper_reap(pid_t pid, int *status)
{
	struct hidden *helper = find(pid);

	if (waitpid(pid, status, WNOHANG | __WALL) == 0)
		return false;
	if (helper != NULL)
		helper->pid = 0;
	return true;
}

bool ri_helper_end(pid_t pid, ri_sigset told, int *status)
{
	int64_t until = ri_now_ms() + REAP_MS;
	struct hidden *helper = find(pid);
	siginfo_t info;

	kill(pid, SIGKILL);
	while (!ri_helper_reap(pid, status)) {
		if (ri_now_ms() >= until) {
			if (helper != NULL)
				helper->left = true;
			return false;
		}
		ri_mask_wait_for(told, &info, STEP_MS);
	}
	return true;
}

/* Returns how many of those that were left stay. */
static size_t reap_left(void)
{
	size_t count = 0;

	for (size_t i = 0; i < MOST; i++)
		if (all[i].pid != 0 && all[i].left && !ri_helper_reap(all[i].pid, NULL))
			count++;
	return count;
}

bool ri_helper_leave(pid_t pid)
{
	struct hidden *helper = find(pid);

	kill(pid, SIGKILL);
	if (reap_left() >= LEFT || helper == NULL)
		return false;
	helper->left = true;
	return true;
}

bool ri_helper_is_one(pid_t pid)
{
	return pid != 0 && find(pid) != NULL;
}

bool ri_helper_took(const siginfo_t *info)
{
	if (!woken || info->si_signo != SIGIO || info->si_code <= 0)
		return false;
	reap_left();
	return true;
}
