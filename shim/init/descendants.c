/* SPDX-License-Identifier: Apache-2.0 */
#include "init/descendants.h"

#include <unistd.h>

#include "system/helper.h"
#include "system/own_proc.h"

static pid_t self;
static bool spares;		/* what is not the job's */
static uint64_t begun;		/* when the first rank was started; 0: that is not known */

void ri_descendants_init(pid_t own_pid)
{
	self = own_pid;
}

void ri_descendants_spare_others(pid_t first_rank)
{
	struct ri_procstat rank;

	spares = true;
	begun = ri_descendants_are_shown() && ri_proc_read(first_rank, &rank) ? rank.started : 0;
}

bool ri_descendants_have_others(void)
{
	return self == 1 && spares && ri_descendants_are_shown();
}

bool ri_descendants_are_shown(void)
{
	return ri_proc_is_ours(self);
}

bool ri_descendants_read_parent(const struct ri_procstat *process, struct ri_procstat *out)
{
	struct ri_procstat parent;

	/* one that began after its child got the number of a parent that has ended */
	if (!ri_proc_read(process->parent, &parent) || parent.started > process->started)
		return false;
	*out = parent;
	return true;
}

/* Of PID 1's namespace; descendants.h has the rule. */
static bool is_of_job(const struct ri_procstat *process)
{
	struct ri_procstat at = *process;

	for (int depth = 0; depth < RI_GENERATIONS; depth++) {
		if (at.parent == 0 || at.started < begun)
			return false;
		if (at.parent != self) {
			/* it may have become an orphan meanwhile */
			if (!ri_descendants_read_parent(&at, &at) && !ri_proc_read(at.pid, &at))
				return true;
			continue;
		}
		if (at.session == at.pid || at.session == getsid(0))
			return true;
		if (at.session == 0)
			return false;
		/* the kernel gives no process the number of a session that has members */
		if (!ri_proc_read(at.session, &at))
			return true;
	}
	return true;
}

/* PID 1 owns each process of its namespace, or of its job; else descendants alone are ours. */
static bool is_ours(const struct ri_procstat *process)
{
	struct ri_procstat at = *process;

	/* rankinit's own helpers and their children end with it */
	if (process->pid == self || ri_helper_is_one(process->pid) ||
		ri_helper_is_one(process->parent))
		return false;
	if (self == 1)
		return !spares || is_of_job(process);
	for (int depth = 0; depth < RI_GENERATIONS && at.parent > 1; depth++) {
		if (at.parent == self)
			return true;
		if (!ri_descendants_read_parent(&at, &at))
			return false;
	}
	return at.parent == self;
}

struct visit {
	bool (*visit)(const struct ri_procstat *process, void *context);
	void *context;
};

static bool visit_ours(pid_t pid, void *context)
{
	const struct visit *visit = context;
	struct ri_procstat process;

	return !ri_proc_read(pid, &process) || !is_ours(&process) ||
		visit->visit(&process, visit->context);
}

bool ri_descendants_each(bool (*visit)(const struct ri_procstat *process, void *context),
	void *context)
{
	return ri_proc_each("/proc", visit_ours, &(struct visit){ visit, context });
}
