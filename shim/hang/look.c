/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/procstat.h"
#include "base/text.h"
#include "hang/facts.h"
#include "hang/judge.h"
#include "system/clock.h"
#include "system/own_proc.h"

enum {
	TICK_MS = 10,		/* sysconf(_SC_CLK_TCK) is 100 on all architectures of ours */
	PATH_SIZE = 64,
};

static char text[RI_AUTOPSY_FILE + 1];	/* of whatever file is read just now */

ssize_t ri_autopsy_read(char *out, const char *path, ...)
{
	char name[PATH_SIZE];
	ssize_t length = 0, got;
	va_list arguments;
	int fd, saved;

	va_start(arguments, path);
	vsnprintf(name, sizeof(name), path, arguments);
	va_end(arguments);
	out[0] = '\0';
	/* a mount over /proc may have a FIFO at this path */
	fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while ((got = read(fd, out + length, (size_t)(RI_AUTOPSY_FILE - length))) > 0)
		length += got;
	saved = errno;
	close(fd);
	errno = saved;
	out[length] = '\0';
	return got < 0 && length == 0 ? -1 : length;
}

bool ri_autopsy_each(const char *path, char end, void (*take)(void *context, const char *part),
	void *context)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	bool is_long = false;	/* the part that begins here has lost its beginning */
	size_t used = 0;
	ssize_t got;

	if (fd < 0)
		return false;
	while ((got = read(fd, text + used, RI_AUTOPSY_FILE - used)) > 0) {
		char *part = text, *stop;

		used += (size_t)got;
		while ((stop = memchr(part, end, (size_t)(text + used - part))) != NULL) {
			*stop = '\0';
			if (!is_long)
				take(context, part);
			is_long = false;
			part = stop + 1;
		}
		used = (size_t)(text + used - part);
		is_long = is_long || used == RI_AUTOPSY_FILE;
		used = is_long ? 0 : used;
		memmove(text, part, used);
	}
	close(fd);
	return true;
}

bool ri_autopsy_link(char *out, size_t size, const char *path, ...)
{
	char name[PATH_SIZE];
	va_list arguments;
	ssize_t length;

	va_start(arguments, path);
	vsnprintf(name, sizeof(name), path, arguments);
	va_end(arguments);
	length = readlink(name, out, size - 1);
	out[length < 0 ? 0 : length] = '\0';
	return length >= 0;
}

/* Linux Documentation/admin-guide/LSM/Yama.rst */
int ri_autopsy_yama(void)
{
	uint64_t mode;

	return ri_autopsy_read(text, "/proc/sys/kernel/yama/ptrace_scope") > 0 &&
		ri_digits_read(text, &mode) > 0 && mode < 4 ? (int)mode : -1;
}

/* The state of the main thread, as that of the process is. */
static bool look_at_state(struct ri_hang_process *process)
{
	struct ri_procstat now;

	if (!ri_proc_read(process->pid, &now) || now.started != process->started) {
		process->state = 0;
		return false;
	}
	process->state = now.state;
	process->dying = now.dying;
	process->cpu_ticks = now.ticks;
	process->faults = now.faults;
	return true;
}

static void look_at_times(struct ri_hang_process *process)
{
	int pid = (int)process->pid;
	struct ri_procstat thread;
	uint64_t in, out;

	process->at_us = ri_now_us();
	if (ri_autopsy_read(text, "/proc/%d/task/%d/schedstat", pid, pid) <= 0 ||
		ri_digits_read(text, &process->main_ns) == 0)
		process->main_ns =
			ri_autopsy_read(text, "/proc/%d/task/%d/stat", pid, pid) > 0 &&
			ri_procstat_read(text, &thread) ? thread.ticks * TICK_MS * 1000000u
			: RI_HANG_NO_TOTAL;
	if (ri_autopsy_read(text, "/proc/%d/task/%d/status", pid, pid) > 0)
		ri_hang_read_field(text, "voluntary_ctxt_switches", &process->switches);
	if (ri_autopsy_read(text, "/proc/%d/io", pid) > 0 &&
		ri_hang_read_field(text, "rchar", &in) && ri_hang_read_field(text, "wchar", &out))
		process->io_total = in + out;
}

static void look_at_call(struct ri_hang_process *process)
{
	int pid = (int)process->pid;

	if (ri_autopsy_read(text, "/proc/%d/wchan", pid) > 0)
		ri_hang_read_wchan(text, process->wchan, sizeof(process->wchan));
	if (ri_autopsy_read(text, "/proc/%d/syscall", pid) > 0)
		ri_call_read(text, &process->call);
	else
		process->call_refused = true;
	process->file = ri_call_file(&process->call);
}

void ri_autopsy_note_mount(struct ri_hang_process *process, const struct ri_mount *mount)
{
	ri_text_copy(process->mount, sizeof(process->mount), mount->point);
	ri_text_copy(process->mount_type, sizeof(process->mount_type), mount->type);
}

/* A pipe and a socket lie on a mount of the kernel's own, which mountinfo does not list. */
static void look_at_file(struct ri_hang_process *process)
{
	int pid = (int)process->pid;
	struct ri_mount mount;
	uint64_t id;

	if (process->file < 0 || !ri_autopsy_link(process->path, sizeof(process->path),
		"/proc/%d/fd/%d", pid, process->file))
		return;
	if (ri_autopsy_read(text, "/proc/%d/fdinfo/%d", pid, process->file) > 0 &&
		ri_hang_read_field(text, "mnt_id", &id) &&
		ri_autopsy_read(text, "/proc/%d/mountinfo", pid) > 0 &&
		ri_hang_find_mount(text, id, &mount))
		ri_autopsy_note_mount(process, &mount);
}

static void look_at_tracer(struct ri_hang_process *process)
{
	struct ri_procstat tracer;
	uint64_t pid, threads;

	if (ri_autopsy_read(text, "/proc/%d/status", (int)process->pid) > 0 &&
		ri_hang_read_field(text, "TracerPid", &pid) && pid <= INT32_MAX &&
		ri_hang_read_field(text, "Threads", &threads) && threads <= INT32_MAX) {
		process->tracer = (pid_t)pid;
		process->threads = (unsigned)threads;
	}
	if (process->tracer > 0 && ri_proc_read(process->tracer, &tracer))
		memcpy(process->tracer_name, tracer.name, sizeof(tracer.name));
}

struct tasks {
	int32_t *list;
	size_t count;
};

static bool add_task(pid_t tid, void *context)
{
	struct tasks *tasks = context;

	tasks->list[tasks->count++] = (int32_t)tid;
	return tasks->count < RI_AUTOPSY_TASKS;
}

size_t ri_autopsy_list_tasks(pid_t pid, int32_t list[RI_AUTOPSY_TASKS])
{
	struct tasks tasks = { .list = list };
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	ri_proc_each(path, add_task, &tasks);
	return tasks.count;
}

/* A thread in state D may hold the lock that the others wait for. */
static void look_for_blocked(struct ri_hang_process *process)
{
	static int32_t tasks[RI_AUTOPSY_TASKS];
	struct ri_procstat thread;
	size_t count;

	if (process->threads < 2)
		return;
	count = ri_autopsy_list_tasks(process->pid, tasks);
	for (size_t i = 0; i < count; i++) {
		int pid = (int)process->pid, tid = (int)tasks[i];

		if (tid == pid || ri_autopsy_read(text, "/proc/%d/task/%d/stat", pid, tid) <= 0 ||
			!ri_procstat_read(text, &thread) || thread.state != 'D')
			continue;
		process->blocked_tid = tid;
		if (ri_autopsy_read(text, "/proc/%d/task/%d/wchan", pid, tid) > 0)
			ri_hang_read_wchan(text, process->blocked_wchan,
				sizeof(process->blocked_wchan));
		return;
	}
}

void ri_autopsy_look_outside(struct ri_hang_process *process)
{
	process->unlooked = false;
	if (!look_at_state(process) || process->dying)
		return;
	look_at_tracer(process);
	look_at_call(process);
	look_at_times(process);
	look_at_file(process);
	look_for_blocked(process);
}

/* What a total grew by; false where one of the two is not known. */
static bool subtract(uint64_t now, uint64_t before, uint64_t *grown)
{
	if (now == RI_HANG_NO_TOTAL || before == RI_HANG_NO_TOTAL || now < before)
		return false;
	*grown = now - before;
	return true;
}

static void compare(struct ri_hang *hang, struct ri_hang_process *now)
{
	const struct ri_hang_process *before = ri_hang_find_before(hang, now);

	if (before == NULL || before->at_us >= now->at_us)
		return;
	now->since_us = (uint64_t)(now->at_us - before->at_us);
	now->has_cpu = subtract(now->cpu_ticks, before->cpu_ticks, &now->cpu_ms) &&
		subtract(now->main_ns, before->main_ns, &now->main_us);
	now->cpu_ms *= TICK_MS;
	now->main_us /= 1000;
	now->has_io = subtract(now->io_total, before->io_total, &now->io_bytes);
	now->has_switches = subtract(now->switches, before->switches, &now->naps);
}

void ri_autopsy_conclude(struct ri_autopsy_region *region)
{
	struct ri_hang *hang = &region->hang;
	struct ri_hang_look *look = ri_hang_newer(hang);

	hang->looks_taken++;
	ri_hang_find_ranks(look);
	for (size_t i = 0; i < look->count; i++)
		compare(hang, &look->processes[i]);
}
