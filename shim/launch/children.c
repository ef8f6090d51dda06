/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/children.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/signals.h"
#include "report/culprit.h"
#include "system/clock.h"

int ri_children_init(struct ri_children *children, size_t count, struct ri_arena *arena,
	struct ri_error *err)
{
	*children = (struct ri_children){ .count = count };
	children->items = ri_arena_array(arena, count, sizeof(*children->items));
	if (children->items == NULL)
		return ri_fail(err, RI_CODE_MEMORY, "COMMAND", "no memory left to watch over it");
	return 0;
}

void ri_children_add(struct ri_children *children, pid_t pid)
{
	struct ri_child *child = &children->items[children->started++];

	*child = (struct ri_child){ .pid = pid, .lives = true };
	/* nothing stands between the starts of several */
	if (children->count > 1)
		clock_gettime(CLOCK_REALTIME, &child->started);
	else
		ri_clock_read(CLOCK_REALTIME, &child->started);
	children->living++;
}

void ri_children_refuse(struct ri_children *children, int exit_status)
{
	children->refused = exit_status;
	ri_clock_read(CLOCK_REALTIME, &children->refused_at);
}

struct ri_child *ri_children_find(const struct ri_children *children, pid_t pid)
{
	/* the pid of one that has gone may be an orphan's by now */
	for (size_t i = 0; i < children->started; i++)
		if (children->items[i].pid == pid && children->items[i].lives)
			return &children->items[i];
	return NULL;
}

void ri_children_end(struct ri_children *children, struct ri_child *child, int wait_status,
	const struct rusage *usage)
{
	child->lives = false;
	child->wait_status = wait_status;
	child->peak_kib = usage->ru_maxrss;
	child->ended_ms = ri_now_ms();
	ri_clock_read(CLOCK_REALTIME, &child->ended);
	children->living--;
	child->order = (unsigned)(children->started - children->living);
}

int ri_child_status(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return 128 + WTERMSIG(wait_status);
	return WEXITSTATUS(wait_status);
}

bool ri_child_failed(const struct ri_child *child)
{
	return !child->lives && child->wait_status != 0;
}

const struct ri_child *ri_children_first_of(const struct ri_children *children)
{
	const struct ri_child *first = NULL;

	for (size_t i = 0; i < children->started; i++)
		if (ri_child_failed(&children->items[i]) &&
			(first == NULL || children->items[i].order < first->order))
			first = &children->items[i];
	return first;
}

void ri_child_add_end(struct ri_text *out, const struct ri_children *children,
	const struct ri_child *child)
{
	int status = child->wait_status, number = WTERMSIG(status);

	if (children->count > 1)
		ri_text_addf(out, "rank %llu %s: ", (unsigned long long)
			(children->first_rank + (uint64_t)(child - children->items)),
			child->told_to_stop ? "was told to stop" : "ended first");
	else
		ri_text_addf(out, "pid %d ended: ", (int)child->pid);
	if (WIFSIGNALED(status))
		ri_text_addf(out, "killed by %s (%d)%s", RI_SIGNAL_SHOWN(number), number,
			WCOREDUMP(status) ? ", core dumped" : "");
	else
		ri_text_addf(out, "exit status %d", WEXITSTATUS(status));
}

bool ri_child_was_looked_at(const struct ri_child *child, struct timespec then)
{
	return child->course_at.tv_sec != 0 && !ri_time_is_before(child->course_at, then);
}

struct timespec ri_children_first_failure(const struct ri_children *children)
{
	const struct ri_child *first = ri_children_first_of(children);

	return first == NULL ? (struct timespec){ .tv_sec = 0 } : first->ended;
}

bool ri_children_lost_one(const struct ri_children *children)
{
	for (size_t i = 0; i < children->started; i++) {
		const struct ri_child *child = &children->items[i];

		if (!child->killed && WIFSIGNALED(child->wait_status) &&
			WTERMSIG(child->wait_status) == SIGKILL)
			return true;
	}
	return false;
}

pid_t ri_children_reap(pid_t pid, int *status, int flags, struct rusage *usage)
{
	siginfo_t info = { .si_pid = 0 };
	pid_t found;
	int type = pid < 0 ? P_ALL : P_PID;

	do
		found = wait4(pid, status, flags, usage);
	while (found < 0 && errno == EINTR);
	if (found >= 0 || errno == ECHILD)
		return found;
	/* by system call: that of the C library gives no usage */
	if (syscall(SYS_waitid, type, pid, &info, flags | WEXITED, usage) < 0)
		return -1;
	/* as wait4(2) puts it (wait(2), "Notes") */
	if (info.si_pid != 0)
		*status = info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8
			: info.si_code == CLD_KILLED ? info.si_status
			: info.si_code == CLD_DUMPED ? info.si_status | 0x80
			: info.si_status << 8 | 0x7f;
	return info.si_pid;
}

void ri_children_signal(pid_t pid, int number)
{
	int fd;

	if (kill(pid, number) == 0 || errno == ESRCH)
		return;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return;
	syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
	close(fd);
}
