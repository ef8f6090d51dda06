/* SPDX-License-Identifier: Apache-2.0 */
#include "mask.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { DENIED_MS = 10 };

ri_sigset ri_mask_inherited;
static int failed;

/*
 * Before main(), and before the constructors of the libraries (libcap's has
 * priority 300). 101 is the first that a program may use.
 */
__attribute__((constructor(101))) static void block_everything(void)
{
	const ri_sigset all = RI_MASK_ALL;

	if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &ri_mask_inherited, sizeof(all)) < 0)
		failed = errno;
}

bool ri_mask_is_set(void)
{
	errno = failed;
	return failed == 0;
}

void ri_mask_set(ri_sigset set)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, NULL, sizeof(set));
}

ri_sigset ri_mask_pending(void)
{
	ri_sigset set = 0;

	syscall(SYS_rt_sigpending, &set, sizeof(set));
	return set;
}

ri_sigset ri_mask_stops(void)
{
	static const int numbers[] = { SIGHUP, SIGINT, SIGQUIT };
	ri_sigset stops = RI_MASK_OF(SIGTERM);
	struct sigaction action;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], NULL, &action) < 0 || action.sa_handler != SIG_IGN)
			stops |= RI_MASK_OF(numbers[i]);
	return stops;
}

int ri_mask_wait(siginfo_t *info, int64_t timeout_ms)
{
	return ri_mask_wait_for(RI_MASK_ALL, info, timeout_ms);
}

int ri_mask_wait_for(ri_sigset set, siginfo_t *info, int64_t timeout_ms)
{
	struct timespec limit = {
		.tv_sec = (time_t)(timeout_ms / 1000),
		.tv_nsec = (long)(timeout_ms % 1000) * 1000000,
	};
	long number;

	do {
		number = syscall(SYS_rt_sigtimedwait, &set, info, timeout_ms < 0 ? NULL : &limit,
			sizeof(set));
	} while (number < 0 && errno == EINTR);	/* stopped and continued, or traced */
	/* denied by a seccomp profile: go on reaping, but do not spin */
	if (number < 0 && errno != EAGAIN)
		poll(NULL, 0, DENIED_MS);
	return number < 0 ? 0 : (int)number;
}

void ri_mask_default_chld(void)
{
	/* struct sigaction of the kernel: SIG_DFL, no flags, no restorer, no mask */
	const unsigned long action[8] = { 0 };

	syscall(SYS_rt_sigaction, SIGCHLD, action, NULL, sizeof(ri_sigset));
}
