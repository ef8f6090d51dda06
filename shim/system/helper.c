/* SPDX-License-Identifier: Apache-2.0 */
#include "system/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/clock.h"
#include "system/kept_fds.h"
#include "system/own_proc.h"

enum {
	REAP_MS = 200,		/* a killed helper that stays longer is left behind */
	STEP_MS = 1,
	LATE_MS = 1000,		/* behind its time, until it is plain that SIGALRM did not end it */
	LEFT = 4,		/* that may stay though they were killed */
	MOST = LEFT + 6,	/* link, roll call, autopsy, course, others, judge have one each */
	NOBODY = 65534,		/* the kernel's own number for no user (fs/overflowuid) */
};

static bool woken;		/* SIGIO may come of one of them from now on */

/* The hidden ones that have not been reaped; pid 0: a free place. */
static struct hidden {
	pid_t pid;
	int64_t due;		/* when it is given up; INT64_MAX: it has no time */
	bool left;		/* its owner has given it up */
} all[MOST];

static struct hidden *find(pid_t pid)
{
	for (size_t i = 0; i < MOST; i++)
		if (all[i].pid == pid)
			return &all[i];
	return NULL;
}

static bool take_user(uid_t user, gid_t group)
{
	return setgroups(0, NULL) == 0 && setresgid(group, group, group) == 0 &&
		setresuid(user, user, user) == 0;
}

static bool become_nobody(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { { .effective = 0 } };
	struct __user_cap_data_struct held[2] = { { .effective = 0 } };	/* valgrind knows of one */

	/* EPERM: the container lets its root change no user; EINVAL: its user namespace lacks it */
	if (geteuid() == 0 && !take_user(NOBODY, NOBODY) && errno != EPERM && errno != EINVAL)
		return false;
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/* a seccomp profile may deny capset(2) even if it would change nothing */
	return (syscall(SYS_capget, &header, held) == 0 && memcmp(held, none, sizeof(none)) == 0) ||
		syscall(SYS_capset, &header, none) == 0;
}

/* proc(5): the folder of a process belongs to its user. */
static bool become_owner(pid_t pid)
{
	char path[32];
	struct stat info;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return ri_proc_is_ours(getpid()) && stat(path, &info) == 0 && (geteuid() != 0 ||
		info.st_uid == 0 || take_user(info.st_uid, info.st_gid));
}

__attribute__((noreturn)) static void run(const struct ri_helper_task *task, pid_t parent)
{
	if (task->name != NULL)
		prctl(PR_SET_NAME, task->name, 0, 0, 0);
	if (task->user != RI_HELPER_SAME)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if ((task->user == RI_HELPER_OWNER && task->seconds > 0) ||
		(task->user == RI_HELPER_SAME && task->name != NULL)) {
		/* proc(5): 1000 goes first; where that fails the kernel goes by size alone */
		int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

		if (fd >= 0 && write(fd, "1000", 4) < 0)
			errno = 0;
		close(fd);
	}
	if ((task->user == RI_HELPER_NOBODY && !become_nobody()) ||
		(task->user == RI_HELPER_OWNER && !become_owner(task->owned)))
		_exit(1);
	/* a change of user takes it away: afterwards */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(1);
	if (task->seconds > 0) {
		if (task->user != RI_HELPER_SAME)
			ri_close_between(0, ~0u);
		sigaction(SIGALRM, &(const struct sigaction){ .sa_handler = SIG_DFL }, NULL);
		ri_mask_set(~RI_MASK_OF(SIGALRM));
		alarm(task->seconds);
	}
	task->body(task->context);
	_exit(0);
}

pid_t ri_helper_start(const struct ri_helper_task *task)
{
	pid_t parent = getpid();
	pid_t pid = task->signal == SIGCHLD ? fork()
		: (pid_t)syscall(SYS_clone, task->signal, NULL, NULL, NULL, 0);
	struct hidden *place;

	if (pid == 0)
		run(task, parent);
	if (pid < 0)
		return 0;
	place = task->signal == SIGCHLD ? NULL : find(0);
	woken = woken || task->signal == SIGIO;
	if (place != NULL)
		*place = (struct hidden){ .pid = pid, .due = task->seconds == 0 ? INT64_MAX
			: ri_now_ms() + 1000 * (int64_t)task->seconds + LATE_MS };
	return pid;
}

static bool has_ended(pid_t pid, int *status)
{
	struct hidden *helper = find(pid);

	if (waitpid(pid, status, WNOHANG | __WALL) == 0)
		return false;
	if (helper != NULL)
		helper->pid = 0;
	return true;
}

bool ri_helper_reap(pid_t *helper, int *status)
{
	pid_t pid = *helper;
	int64_t now;

	if (pid == 0)
		return false;
	if (has_ended(pid, status)) {
		*helper = 0;
		return true;
	}
	now = ri_now_ms();
	if (now < ri_helper_due(pid))
		return false;
	if (!ri_helper_leave(helper)) {
		find(pid)->due = now + LATE_MS;
		return false;
	}
	if (status != NULL)
		*status = SIGALRM;
	return true;
}

int64_t ri_helper_due(pid_t pid)
{
	const struct hidden *helper = pid == 0 ? NULL : find(pid);

	return helper == NULL || helper->left ? INT64_MAX : helper->due;
}

bool ri_helper_end(pid_t *helper, ri_sigset told, int *status)
{
	int64_t until = ri_now_ms() + REAP_MS;
	struct hidden *hidden = find(*helper);
	pid_t pid = *helper;
	siginfo_t info;

	*helper = 0;
	if (pid == 0)
		return false;
	kill(pid, SIGKILL);
	while (!has_ended(pid, status)) {
		if (ri_now_ms() >= until) {
			if (hidden != NULL)
				hidden->left = true;
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
		if (all[i].pid != 0 && all[i].left && !has_ended(all[i].pid, NULL))
			count++;
	return count;
}

bool ri_helper_leave(pid_t *helper)
{
	struct hidden *hidden = find(*helper);

	if (*helper == 0)
		return false;
	kill(*helper, SIGKILL);
	if (reap_left() >= LEFT || hidden == NULL)
		return false;
	hidden->left = true;
	*helper = 0;
	return true;
}

bool ri_helper_end_all(void)
{
	errno = EBUSY;
	for (size_t i = 0; i < MOST; i++) {
		pid_t pid = all[i].pid;

		if (pid != 0 && !ri_helper_end(&pid, 0, NULL))
			return false;
	}
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
