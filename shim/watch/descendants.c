/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/descendants.h"

#include "system/helper.h"
#include "system/own_proc.h"

static pid_t self;

void ri_descendants_init(pid_t own_pid)
{
	self = own_pid;
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

/* rankinit's own helpers and their children, which end with it. */
static bool is_helper(const struct ri_procstat *process)
{
	return ri_helper_is_one(process->pid) || ri_helper_is_one(process->parent);
}

/* PID 1 owns each process of its namespace; else descendants alone are ours. */
static bool is_ours(const struct ri_procstat *process)
{
	struct ri_procstat at = *process;

	if (process->pid == self || is_helper(process))
		return false;
	if (self == 1)
		return true;
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
