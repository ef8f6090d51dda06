/* SPDX-License-Identifier: Apache-2.0 */
#include "system/mask.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"

enum {
	DENIED_MS = 10,
	MANY = 64,	/* signals in a row, before SIGTERM is looked for first */
};

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

	for (size_t i = 0; i < RI_ARRAY_SIZE(numbers); i++)
		if (sigaction(numbers[i], NULL, &action) < 0 || action.sa_handler != SIG_IGN)
			stops |= RI_MASK_OF(numbers[i]);
	return stops;
}

int ri_mask_pending_stop(void)
{
	ri_sigset stops = ri_mask_pending() & ri_mask_stops();

	if ((stops & RI_MASK_OF(SIGTERM)) != 0)
		return SIGTERM;
	return stops == 0 ? 0 : __builtin_ctzll(stops) + 1;
}

/*
 * The kernel gives the lowest number first (signal(7), "Real-time signals"), so
 * that an endless sender of some would keep a SIGTERM waiting.
 */
int ri_mask_wait(siginfo_t *info, int64_t timeout_ms)
{
	static unsigned in_a_row;
	int number;

	if (in_a_row >= MANY) {
		in_a_row = 0;
		number = ri_mask_wait_for(RI_MASK_OF(SIGTERM), info, 0);
		if (number != 0)
			return number;
	}
	number = ri_mask_wait_for(RI_MASK_ALL, info, timeout_ms);
	in_a_row = number > 0 && number < SIGTERM ? in_a_row + 1 : 0;
	return number;
}

void ri_mask_pause(long ms)
{
	const struct timespec limit = { .tv_nsec = ms * 1000000 };

	/* poll(2) may be denied as well, and then nothing would keep us from spinning */
	if (poll(NULL, 0, (int)ms) < 0 && errno != EINTR)
		syscall(SYS_nanosleep, &limit, NULL);
}

/* struct sigaction of the kernel: the handler, flags, restorer, mask; here SIG_DFL, and none. */
struct kernel_action {
	unsigned long words[8];
};

/*
 * To ignore a signal for a moment takes it off the queue (sigaction(2)), but
 * no sender is known: a SIGIO is said to be of a descriptor, since it may
 * be of ours. SIGCHLD stays: while it is ignored an end would be lost, and
 * reaping does not need it.
 */
static int discard_signal(ri_sigset set, siginfo_t *info)
{
	const struct kernel_action ignore = { { (unsigned long)SIG_IGN } };
	struct kernel_action before;
	int number;

	set &= ri_mask_pending() & ~RI_MASK_OF(SIGCHLD);
	if (set == 0)
		return 0;
	number = __builtin_ctzll(set) + 1;
	if (syscall(SYS_rt_sigaction, number, &ignore, &before, sizeof(set)) < 0)
		return 0;
	syscall(SYS_rt_sigaction, number, &before, NULL, sizeof(set));
	memset(info, 0, sizeof(*info));
	info->si_signo = number;
	info->si_code = number == SIGIO ? POLL_IN : SI_USER;
	return number;
}

/*
 * Without rt_sigtimedwait(2), which a seccomp profile denies: by signalfd(2),
 * and if that is denied too, without its sender. May return before the time is
 * over, since the caller has to look for ended children then.
 */
static int wait_otherwise(ri_sigset set, siginfo_t *info, int64_t timeout_ms)
{
	struct pollfd fd = { .events = POLLIN };
	struct signalfd_siginfo found;
	bool taken;

	fd.fd = (int)syscall(SYS_signalfd4, -1, &set, sizeof(set), SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd.fd < 0) {
		ri_mask_pause(timeout_ms == 0 ? 0 : DENIED_MS);
		return discard_signal(set, info);
	}
	if (poll(&fd, 1, timeout_ms < 0 || timeout_ms > INT32_MAX ? -1 : (int)timeout_ms) < 0)
		ri_mask_pause(DENIED_MS);
	taken = read(fd.fd, &found, sizeof(found)) == (ssize_t)sizeof(found);
	close(fd.fd);
	if (!taken)
		return 0;
	memset(info, 0, sizeof(*info));
	info->si_signo = (int)found.ssi_signo;
	info->si_code = found.ssi_code;
	info->si_pid = (pid_t)found.ssi_pid;
	info->si_uid = (uid_t)found.ssi_uid;
	return info->si_signo;
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
	if (number < 0 && errno != EAGAIN)
		return wait_otherwise(set, info, timeout_ms);
	return number < 0 ? 0 : (int)number;
}

void ri_mask_default_chld(void)
{
	const struct kernel_action action = { { 0 } };

	syscall(SYS_rt_sigaction, SIGCHLD, &action, NULL, sizeof(ri_sigset));
}
