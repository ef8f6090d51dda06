/* SPDX-License-Identifier: Apache-2.0 */
#include "init/signalling.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init/descendants.h"
#include "system/own_proc.h"

enum {
	SLOTS = 32768,		/* a power of two */
	MOST = SLOTS / 4 * 3,	/* so that a search ends soon */
};

struct told {
	pid_t pid;		/* 0: the slot is free */
	pid_t group;
	uint64_t started;
	unsigned pass;		/* 0: forgotten */
};

static struct told table[SLOTS];
static size_t count;
static unsigned pass_now = 1;
static bool told_groups;

void ri_signalled_begin_pass(void)
{
	pass_now++;
}

static struct told *find(pid_t pid)
{
	size_t at = (size_t)pid % SLOTS;

	while (table[at].pid != 0 && table[at].pid != pid)
		at = (at + 1) % SLOTS;
	return &table[at];
}

bool ri_signalled_has(const struct ri_procstat *process)
{
	const struct told *found = find(process->pid);

	return found->pass != 0 && found->started == process->started;
}

bool ri_signalled_had(pid_t pid)
{
	const struct told *found = find(pid);

	return found->pass != 0 && found->pass < pass_now;
}

bool ri_signalled_add(const struct ri_procstat *process)
{
	struct told *found = find(process->pid);

	if (found->pid == 0 && count++ >= MOST) {
		count = MOST;
		return false;
	}
	*found = (struct told){ process->pid, process->group, process->started, pass_now };
	return true;
}

bool ri_signalled_groups(void)
{
	return told_groups;
}

/*
 * By pidfd, so that a pid reused since we read about it is not hit: the start
 * time is checked again once the pidfd holds the process. Kernels before 5.3
 * and some seccomp profiles have none.
 */
void ri_signal_process(const struct ri_procstat *process, int number)
{
	int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	struct ri_procstat now;

	if (fd < 0 && errno == ESRCH)
		return;
	if (!ri_proc_read(process->pid, &now) || now.started != process->started) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (fd < 0 || (syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) < 0 && errno != ESRCH))
		kill(process->pid, number);
	if (fd >= 0)
		close(fd);
}

void ri_signal_wake(pid_t pid)
{
	struct ri_procstat process;

	/* if /proc cannot tell, a process that runs gets it, too */
	if (!ri_descendants_are_shown() ||
		(ri_proc_read(pid, &process) && process.state == 'T'))
		kill(pid, SIGCONT);
}

void ri_signal_recheck(void)
{
	for (struct told *told = table; told < table + SLOTS; told++) {
		struct ri_procstat now;

		if (told->pass == 0 || !ri_proc_read(told->pid, &now) ||
			now.started != told->started)
			continue;
		if (now.group != told->group)
			told->pass = 0;
		else if (now.state == 'T')
			ri_signal_process(&now, SIGCONT);
	}
}

/*
 * The child whose group it is in, or NULL. A group keeps its number as long as it has members, even
 * if its leader, the child, was reaped; and our children are in our session. So if a process has
 * that number again, or the session is another one, the group is a stranger's.
 */
static const struct ri_child *find_leader(const struct ri_children *children,
	const struct ri_procstat *process)
{
	const struct ri_child *leader = children->items, *end = leader + children->started;
	struct ri_procstat stranger;

	while (leader < end && leader->pid != process->group)
		leader++;
	if (leader == end || process->state == 'Z')
		return NULL;
	return leader->lives || (process->session == getsid(0) &&
		!ri_proc_read(leader->pid, &stranger)) ? leader : NULL;
}

static bool spare_member(const struct ri_procstat *process, void *children)
{
	if (find_leader(children, process) != NULL) {
		ri_signalled_add(process);
		told_groups = true;
	}
	return true;
}

void ri_spare_children(struct ri_children *children, bool groups)
{
	struct ri_procstat process;

	if (!ri_descendants_are_shown())
		return;
	if (groups) {
		ri_descendants_each(spare_member, children);
		return;
	}
	for (size_t i = 0; i < children->started; i++)
		if (children->items[i].lives && ri_proc_read(children->items[i].pid, &process))
			ri_signalled_add(&process);
}

struct signalling {
	const struct ri_children *children;
	int number;
};

static bool signal_member(const struct ri_procstat *process, void *context)
{
	const struct signalling *signalling = context;
	const struct ri_child *leader = find_leader(signalling->children, process);

	if (leader != NULL && !leader->lives)
		ri_signal_process(process, signalling->number);
	return true;
}

/* Until its leader is reaped, the kernel gives a group's number to no other process. */
void ri_signal_children(const struct ri_children *children, int number, bool groups)
{
	bool left = false;

	for (size_t i = 0; i < children->started; i++) {
		const struct ri_child *child = &children->items[i];

		left = left || !child->lives;
		if (child->lives && (!groups || kill(-child->pid, number) < 0))
			ri_children_signal(child->pid, number);
	}
	if (groups && left && ri_descendants_are_shown())
		ri_descendants_each(signal_member, &(struct signalling){ children, number });
}

/* --- by a Slurm step ------------------------------------------------------- */

/*
 * Do the signals reach more than the task? ".../job_7/step_0/..." is how
 * proctrack/cgroup names its groups, in version 1 and 2 alike (Slurm
 * src/plugins/cgroup). Where it cannot be read a signal that comes twice is
 * better than none.
 */
bool ri_step_tells_all(const struct ri_env *env)
{
	static char text[16384];
	const char *job, *step;

	/* set for every task of a step (Slurm src/common/env.c) */
	if (ri_env_get(env, "SLURM_STEP_ID") == NULL)
		return false;
	ri_proc_text(0, "cgroup", text, sizeof(text));
	for (job = strstr(text, "/job_"); job != NULL; job = strstr(job + 1, "/job_")) {
		step = strstr(job, "/step_");
		if (step != NULL && memchr(job, '\n', (size_t)(step - job)) == NULL)
			return false;
	}
	return text[0] != '\0';
}

bool ri_step_sent(const siginfo_t *info)
{
	char name[32];

	/* 0: a process of another PID namespace sent it, and which cannot be known */
	return info->si_code == SI_USER && info->si_pid != 0 &&
		ri_proc_text(info->si_pid, "comm", name, sizeof(name)) &&
		strcmp(name, "slurmstepd\n") == 0;
}
