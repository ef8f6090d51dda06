/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/descendants.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/number.h"
#include "system/helper.h"
#include "system/own_proc.h"

static pid_t self;

void ri_descendants_init(pid_t own_pid)
{
	self = own_pid;
}

bool ri_descendants_read(pid_t pid, struct ri_procstat *out)
{
	char path[32], text[1024];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	/* a mount over /proc may have a FIFO at this path */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return false;
	text[length] = '\0';
	return ri_procstat_read(text, out);
}

bool ri_descendants_are_shown(void)
{
	return ri_proc_is_ours(self);
}

bool ri_descendants_read_parent(const struct ri_procstat *process, struct ri_procstat *out)
{
	struct ri_procstat parent;

	/* one that began after its child got the number of a parent that has ended */
	if (!ri_descendants_read(process->parent, &parent) || parent.started > process->started)
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

bool ri_descendants_each(bool (*visit)(const struct ri_procstat *process, void *context),
	void *context)
{
	struct entry {
		uint64_t inode;
		int64_t offset;
		uint16_t length;
		uint8_t type;
		char name[];
	};
	const struct ri_range pids = { 1, INT32_MAX };
	_Alignas(8) char buffer[4096];
	int dir = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool more = dir >= 0;
	long length = 0;

	while (more && (length = syscall(SYS_getdents64, dir, buffer, sizeof(buffer))) > 0) {
		const struct entry *entry;

		for (char *p = buffer; more && p < buffer + length; p += entry->length) {
			struct ri_procstat process;
			uint64_t pid;

			entry = (const struct entry *)p;
			if (ri_number_read(entry->name, pids, &pid, NULL) == RI_NUMBER_OK &&
				ri_descendants_read((pid_t)pid, &process) && is_ours(&process))
				more = visit(&process, context);
		}
	}
	if (dir >= 0)
		close(dir);
	return dir >= 0 && length >= 0;
}
