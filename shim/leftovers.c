/* SPDX-License-Identifier: Apache-2.0 */
#include "leftovers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/number.h"
#include "log.h"

enum {
	TOLD_MAX = 4096,	/* processes remembered as told */
	DEPTH_MAX = 512,	/* generations between a descendant and us */
	PASSES = 16,		/* over /proc, until a pass finds nothing new */
	NAMED_MAX = 8,
};

/* What we need of /proc/PID/stat (proc(5), fields 1 to 5 and 22). */
struct process {
	pid_t pid;
	pid_t parent;
	pid_t group;
	char state;
	char name[16];
	uint64_t started;	/* clock ticks since boot: tells a reused pid */
};

/* A process that had its SIGTERM. Memory of ours, since nothing is allocated now. */
struct told {
	pid_t pid;
	uint64_t started;
};

static struct told told[TOLD_MAX];
static size_t told_count;
static bool told_some;	/* beside the command */
static pid_t self;

void ri_leftovers_init(pid_t own_pid)
{
	self = own_pid;
}

/* After unshare --pid without a new mount, /proc belongs to strangers. */
static bool proc_is_ours(void)
{
	char own[16], link[16];
	ssize_t length = readlink("/proc/self", link, sizeof(link) - 1);

	snprintf(own, sizeof(own), "%d", (int)self);
	return length > 0 && (size_t)length == strlen(own) &&
		memcmp(link, own, (size_t)length) == 0;
}

static bool read_field(const char *text, uint64_t *out)
{
	const struct ri_range range = { 0, UINT64_MAX };
	char field[24];
	size_t length = strcspn(text, " \n");

	if (length == 0 || length >= sizeof(field))
		return false;
	memcpy(field, text, length);
	field[length] = '\0';
	return ri_number_read(field, range, out, NULL) == RI_NUMBER_OK;
}

/* "PID (NAME) STATE PPID ..."; a name may hold blanks and parentheses. */
static bool parse_stat(char *text, struct process *out)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')'), *field;
	uint64_t parent = 0, group = 0;

	if (open == NULL || close == NULL || close < open || close[1] != ' ' || close[2] == '\0')
		return false;
	*close = '\0';
	ri_text_copy(out->name, sizeof(out->name), open + 1);
	out->state = close[2];
	field = close + 2;
	for (int number = 3; number < 22; number++) {
		field = strchr(field, ' ');
		if (field == NULL)
			return false;
		field++;
		if ((number == 3 && !read_field(field, &parent)) ||
			(number == 4 && !read_field(field, &group)))
			return false;
	}
	out->parent = (pid_t)parent;
	out->group = (pid_t)group;
	return read_field(field, &out->started);
}

static bool read_process(pid_t pid, struct process *out)
{
	char path[32], text[1024];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return false;
	text[length] = '\0';
	out->pid = pid;
	return parse_stat(text, out);
}

static bool was_told(const struct process *process)
{
	for (size_t i = 0; i < told_count; i++)
		if (told[i].pid == process->pid && told[i].started == process->started)
			return true;
	return false;
}

static void remember(const struct process *process)
{
	if (told_count < TOLD_MAX)
		told[told_count++] = (struct told){ process->pid, process->started };
}

/* In our own PID namespace everything is ours, else what descends from us. */
static bool is_ours(const struct process *process)
{
	struct process at = *process;

	if (process->pid == self)
		return false;
	if (self == 1)
		return true;
	for (int depth = 0; depth < DEPTH_MAX && at.parent > 1; depth++) {
		if (at.parent == self)
			return true;
		if (!read_process(at.parent, &at))
			return false;
	}
	return at.parent == self;
}

/* Calls visit for every process of ours, zombies included, until it says stop. */
static void each_process(bool (*visit)(const struct process *process, void *context),
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
	long length;

	while (more && (length = syscall(SYS_getdents64, dir, buffer, sizeof(buffer))) > 0) {
		for (char *p = buffer; more && p < buffer + length; p += ((struct entry *)p)->length) {
			struct process process;
			uint64_t pid;

			if (ri_number_read(((struct entry *)p)->name, pids, &pid, NULL) ==
					RI_NUMBER_OK &&
				read_process((pid_t)pid, &process) && is_ours(&process))
				more = visit(&process, context);
		}
	}
	if (dir >= 0)
		close(dir);
}

static bool spare_group(const struct process *process, void *context)
{
	if (process->group == *(const pid_t *)context && process->state != 'Z') {
		remember(process);
		told_some = true;
	}
	return true;
}

void ri_leftovers_spare(pid_t pid, pid_t group)
{
	struct process process;

	if (!proc_is_ours())
		return;
	if (group > 0)
		each_process(spare_group, &group);
	else if (read_process(pid, &process))
		remember(&process);
}

/*
 * By pidfd, so that a pid reused since we read about it is not hit: the start
 * time is checked again once the pidfd holds the process. Kernels before 5.3
 * and some seccomp profiles have none.
 */
static void signal_process(const struct process *process, int number)
{
	int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	struct process now;

	if (fd < 0 && errno == ESRCH)
		return;
	if (!read_process(process->pid, &now) || now.started != process->started) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (fd < 0 || (syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) < 0 && errno != ESRCH))
		kill(process->pid, number);
	if (fd >= 0)
		close(fd);
}

/* One pass of telling: who was told before it began, and whom it found. */
struct telling {
	size_t told_before;
	bool found;
};

static bool parent_was_told(const struct process *process, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (told[i].pid == process->parent)
			return true;
	return false;
}

static bool tell(const struct process *process, void *context)
{
	struct telling *telling = context;

	if (process->state == 'Z' || was_told(process) ||
		parent_was_told(process, telling->told_before))
		return true;
	remember(process);
	telling->found = true;
	ri_log(RI_LEVEL_NOTE, "SIGTERM to %s (pid %d)", process->name, (int)process->pid);
	signal_process(process, SIGTERM);
	if (process->state == 'T')
		signal_process(process, SIGCONT);
	return true;
}

static bool wake(const struct process *process, void *context)
{
	(void)context;
	remember(process);
	if (process->state == 'T')
		signal_process(process, SIGCONT);
	return true;
}

void ri_leftovers_stop(bool command_lives)
{
	struct telling telling = { .found = true };
	size_t first = told_count;

	if (self == 1 && ((!command_lives && !told_some) || !proc_is_ours())) {
		told_some = true;
		kill(-1, SIGTERM);
		if (proc_is_ours())
			each_process(wake, NULL);
		else
			kill(-1, SIGCONT);
		return;
	}
	if (!proc_is_ours()) {
		ri_log(RI_LEVEL_WARNING, "cannot look for the processes that were left: /proc is "
					 "not that of this PID namespace; mount it there");
		return;
	}
	told_some = true;
	for (int pass = 0; pass < PASSES && telling.found; pass++) {
		/* the first pass tells everybody, later ones whom it missed */
		telling.told_before = pass == 0 ? 0 : first;
		telling.found = false;
		each_process(tell, &telling);
		first = told_count;
	}
}

static bool end(const struct process *process, void *context)
{
	(void)context;
	if (process->state != 'Z')
		signal_process(process, SIGKILL);
	return true;
}

void ri_leftovers_kill(void)
{
	if (self == 1)
		kill(-1, SIGKILL);
	else if (proc_is_ours())
		each_process(end, NULL);
}

struct naming {
	struct ri_text *out;
	int count;
};

static bool name(const struct process *process, void *context)
{
	struct naming *naming = context;

	/* our own zombies are about to be reaped */
	if (process->state == 'Z' && process->parent == self)
		return true;
	if (naming->count++ >= NAMED_MAX)
		return true;
	ri_text_addf(naming->out, "%s%s (%d", naming->count > 1 ? ", " : "", process->name,
		(int)process->pid);
	if (process->state == 'Z')
		ri_text_addf(naming->out, ", zombie of %d", (int)process->parent);
	else if (process->state == 'D')
		ri_text_add(naming->out, ", uninterruptible");
	ri_text_add(naming->out, ")");
	return true;
}

int ri_leftovers_name(struct ri_text *out)
{
	struct naming naming = { .out = out };

	if (!proc_is_ours())
		return -1;
	each_process(name, &naming);
	if (naming.count > NAMED_MAX)
		ri_text_addf(out, " and %d more", naming.count - NAMED_MAX);
	return naming.count;
}
