/* SPDX-License-Identifier: Apache-2.0 */
#include "init/signalled.h"

#include <stddef.h>

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

void ri_signalled_forget(bool (*forget)(const struct ri_procstat *then))
{
	for (struct told *told = table; told < table + SLOTS; told++) {
		struct ri_procstat then = { .pid = told->pid, .group = told->group,
			.started = told->started };

		if (told->pass != 0 && forget(&then))
			told->pass = 0;
	}
}
