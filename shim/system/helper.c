/* SPDX-License-Identifier: Apache-2.0 */
#include "system/helper.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEFT = 4 };

static bool woken;		/* SIGIO may come of one of them from now on */
static pid_t left[LEFT];	/* 0: none */

pid_t ri_helper_fork(int signal)
{
	pid_t pid = (pid_t)syscall(SYS_clone, signal, NULL, NULL, NULL, 0);

	woken = woken || (signal == SIGIO && pid > 0);
	return pid;
}

static void reap(void)
{
	for (size_t i = 0; i < LEFT; i++)
		if (left[i] != 0 && waitpid(left[i], NULL, __WCLONE | WNOHANG) != 0)
			left[i] = 0;
}

bool ri_helper_leave(pid_t pid)
{
	kill(pid, SIGKILL);
	reap();
	for (size_t i = 0; i < LEFT; i++)
		if (left[i] == 0) {
			left[i] = pid;
			return true;
		}
	return false;
}

bool ri_helper_is_left(pid_t pid)
{
	for (size_t i = 0; i < LEFT; i++)
		if (pid != 0 && left[i] == pid)
			return true;
	return false;
}

bool ri_helper_took(const siginfo_t *info)
{
	if (!woken || info->si_signo != SIGIO || info->si_code <= 0)
		return false;
	reap();
	return true;
}
