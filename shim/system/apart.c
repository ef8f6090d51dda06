/* SPDX-License-Identifier: Apache-2.0 */
#include "system/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "system/clock.h"
#include "system/helper.h"
#include "system/log.h"
#include "system/raw_call.h"

enum {
	STACK_SIZE = 256 * 1024,
	TOP_SIZE = 256,		/* of it, for struct helper */
	LOOK_MS = 50,		/* how long a stop may wait */
};

/* What both see, above the helper's stack: it stays where the helper is left behind. */
struct helper {
	struct ri_apart call;
	volatile int runs;	/* the kernel sets it to 0 at the end, and wakes who waits */
	int result;
	int error;		/* errno of it */
};

_Static_assert(sizeof(struct helper) <= TOP_SIZE, "room above the stack");

static int given_up_for;

int ri_apart_stop(void)
{
	return given_up_for;
}

__attribute__((noreturn)) static int help(void *argument)
{
	struct helper *helper = argument;
	int result;

	ri_raw_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	result = helper->call.work(helper->call.argument);
	helper->error = errno;
	helper->result = result;
	for (;;)
		ri_raw_call(SYS_exit_group, 0, 0, 0, 0, 0);
}

/* False: it still runs, LOOK_MS later. errno is the helper's until it has ended. */
static bool wait_a_little(struct helper *helper, pid_t pid)
{
	const struct timespec most = { .tv_nsec = LOOK_MS * 1000000L };
	int runs = helper->runs;
	long error = 0;

	if (runs != 0)
		error = ri_raw_call(SYS_futex, ri_raw(&helper->runs), FUTEX_WAIT, runs,
			ri_raw(&most), 0);
	/* a seccomp profile may deny it: then without looking up */
	if (helper->runs != 0 && (error == 0 || error == -EAGAIN || error == -EINTR ||
					 error == -ETIMEDOUT))
		return false;
	while (ri_raw_call(SYS_wait4, pid, 0, __WALL, 0, 0) == -EINTR)
		;
	return true;
}

void ri_apart_say(const char *subject, const char *path)
{
	ri_log(RI_LEVEL_WARNING, "%s: %s has not answered for %d s; look for its mount in "
		"/proc/mounts and for the kernel's messages in dmesg [%s]", subject,
		strcmp(subject, path) == 0 ? "it" : RI_QUOTED(path), RI_APART_SAY_MS / 1000,
		ri_code_name(RI_CODE_FILE_SLOW));
}

/* Why to wait no longer: EINTR, ETIMEDOUT, or 0. */
static int find_end(const struct ri_apart *call, int64_t waited, bool *said)
{
	ri_sigset stops = waited < call->deaf_ms ? 0 : ri_mask_pending() & ri_mask_stops();

	if (stops != 0) {
		given_up_for = __builtin_ctzll(stops) + 1;
		return EINTR;
	}
	if (waited >= RI_APART_SAY_MS && !*said && call->path != NULL) {
		*said = true;
		ri_apart_say(call->subject, call->path);
	}
	return call->most_ms > 0 && waited >= call->most_ms ? ETIMEDOUT : 0;
}

/* The helper, which runs; NULL: none can be made. */
static struct helper *start(const struct ri_apart *call, pid_t *pid)
{
	char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
	struct helper *helper;
	void *top;

	if (stack == MAP_FAILED)
		return NULL;
	top = stack + STACK_SIZE - TOP_SIZE;
	helper = top;
	/* it stays so where another process ends the helper before it is done */
	*helper = (struct helper){ .call = *call, .runs = 1, .result = -1, .error = ECANCELED };
	*pid = clone(help, top, CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_CHILD_CLEARTID,
		helper, NULL, NULL, &helper->runs);
	if (*pid >= 0)
		return helper;
	munmap(stack, STACK_SIZE);
	return NULL;
}

/* What a forked helper leaves of its work, in a pipe that also ends with it. */
struct left {
	int result, error;
};

struct forked {
	const struct ri_apart *call;
	int ends[2];
};

static void help_forked(void *context)
{
	const struct forked *forked = context;
	struct left left;

	close(forked->ends[0]);
	left.result = forked->call->work(forked->call->argument);
	left.error = errno;
	/* where that fails it counts as ended */
	if (write(forked->ends[1], &left, sizeof(left)) < 0)
		_exit(1);
}

/* Returns whether the helper has left something, or has ended: then *left is what it left. */
static bool has_left(int fd, struct left *left)
{
	struct pollfd end = { .fd = fd, .events = POLLIN };
	ssize_t length;

	if (poll(&end, 1, LOOK_MS) <= 0)
		return false;
	length = read(fd, left, sizeof(*left));
	if (length != (ssize_t)sizeof(*left))
		*left = (struct left){ .result = -1, .error = ECANCELED };
	return true;
}

static int fork_and_wait(const struct ri_apart *call)
{
	struct forked forked = { .call = call };
	struct left left = { .result = -1 };
	int64_t begun = ri_now_ms();
	bool said = false, ends = false;
	pid_t pid;

	if (pipe2(forked.ends, O_CLOEXEC) < 0)
		return -1;
	pid = ri_helper_start(&(struct ri_helper_task){
		.body = help_forked, .context = &forked, .name = "rankinit-judge",
	});
	left.error = errno;
	close(forked.ends[1]);
	if (pid != 0) {
		left.error = 0;
		while (!(ends = has_left(forked.ends[0], &left)) && left.error == 0) {
			if (call->meanwhile != NULL)
				call->meanwhile(call->argument);
			left.error = find_end(call, ri_now_ms() - begun, &said);
		}
		/* what has left its answer ends in a moment: that is not to cost a whole step */
		if (ends)
			poll(&(struct pollfd){ .fd = forked.ends[0] }, 1, LOOK_MS);
		ri_helper_end(&pid, 0, NULL);
	}
	close(forked.ends[0]);
	errno = left.error;
	return left.result;
}

int ri_apart(const struct ri_apart *call)
{
	pid_t pid;
	struct helper *helper;
	int64_t begun = ri_now_ms();
	bool said = false;
	int end = 0, result;

	if (call->forked)
		return fork_and_wait(call);
	helper = start(call, &pid);
	if (helper == NULL)
		return call->work(call->argument);
	while (end == 0) {
		if (wait_a_little(helper, pid)) {
			result = helper->result;
			end = helper->error;
			munmap((char *)helper + TOP_SIZE - STACK_SIZE, STACK_SIZE);
			errno = end;
			return result;
		}
		end = find_end(call, ri_now_ms() - begun, &said);
	}
	/* its errno is of no use any more, so these calls may change it */
	ri_helper_end(&pid, 0, NULL);
	errno = end;
	return -1;
}

int ri_apart_or_fail(const struct ri_apart *call, enum ri_code code, struct ri_error *err)
{
	int status = ri_apart(call), error = errno;

	if (status >= 0 || ri_apart_stop() != 0 || err->code != RI_CODE_NONE)
		return status;
	ri_fail(err, code, call->subject, "%s cannot be checked: %s", RI_QUOTED(call->path),
		error == ETIMEDOUT ? "its file system does not answer" : strerror(error));
	return ri_fail_errno(err, error);
}

int ri_apart_file(int (*work)(void *argument), void *argument, const char *path)
{
	const struct ri_apart call = {
		.work = work, .argument = argument, .subject = path, .path = path,
	};

	return ri_apart(&call);
}
