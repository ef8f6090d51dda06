/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/text.h"
#include "hang/hang.h"
#include "system/clock.h"
#include "system/own_proc.h"

enum {
	TICK_MS = 10,		/* sysconf(_SC_CLK_TCK) is 100 on all architectures of ours */
	TRIES = 3,		/* to read what changes meanwhile */
};

static char text[RI_PROC_FILE + 1];	/* of whatever file is read just now */

/* Linux Documentation/admin-guide/LSM/Yama.rst */
int ri_look_yama(void)
{
	uint64_t mode;

	return ri_proc_text(text, sizeof(text), "/proc/sys/kernel/yama/ptrace_scope") > 0 &&
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
	if (ri_proc_text(text, sizeof(text), "/proc/%d/task/%d/schedstat", pid, pid) <= 0 ||
		ri_digits_read(text, &process->main_ns) == 0)
		process->main_ns =
			ri_proc_text(text, sizeof(text), "/proc/%d/task/%d/stat", pid, pid) > 0 &&
			ri_procstat_read(text, &thread) ? thread.ticks * TICK_MS * 1000000u
			: RI_HANG_NO_TOTAL;
	if (ri_proc_text(text, sizeof(text), "/proc/%d/task/%d/status", pid, pid) > 0)
		ri_hang_read_field(text, "voluntary_ctxt_switches", &process->switches);
	if (ri_proc_text(text, sizeof(text), "/proc/%d/io", pid) > 0 &&
		ri_hang_read_field(text, "rchar", &in) && ri_hang_read_field(text, "wchar", &out))
		process->io_total = in + out;
}

static void note_mount(struct ri_hang_process *process, const struct ri_mount *mount)
{
	ri_text_copy(process->mount, sizeof(process->mount), mount->point);
	ri_text_copy(process->mount_type, sizeof(process->mount_type), mount->type);
}

/* In which call it waits, and for which file. */
static void look_at_call(struct ri_hang_process *process)
{
	int pid = (int)process->pid, fd;
	struct ri_mount mount;
	uint64_t id;

	if (ri_proc_text(text, sizeof(text), "/proc/%d/wchan", pid) > 0)
		ri_hang_read_wchan(text, process->wchan, sizeof(process->wchan));
	if (ri_proc_text(text, sizeof(text), "/proc/%d/syscall", pid) > 0)
		ri_call_read(text, &process->call);
	else
		process->call_refused = true;
	fd = ri_call_file(&process->call);
	/* a pipe and a socket lie on a mount of the kernel's own, which mountinfo does not list */
	if (fd < 0 || !ri_proc_link(process->path, sizeof(process->path), "/proc/%d/fd/%d", pid,
		fd))
		return;
	if (ri_proc_text(text, sizeof(text), "/proc/%d/fdinfo/%d", pid, fd) > 0 &&
		ri_hang_read_field(text, "mnt_id", &id) &&
		ri_proc_text(text, sizeof(text), "/proc/%d/mountinfo", pid) > 0 &&
		ri_hang_find_mount(text, id, &mount))
		note_mount(process, &mount);
}

static void look_at_tracer(struct ri_hang_process *process)
{
	struct ri_procstat tracer;
	uint64_t pid, threads;

	if (ri_proc_text(text, sizeof(text), "/proc/%d/status", (int)process->pid) > 0 &&
		ri_hang_read_field(text, "TracerPid", &pid) && pid <= INT32_MAX &&
		ri_hang_read_field(text, "Threads", &threads) && threads <= INT32_MAX) {
		process->tracer = (pid_t)pid;
		process->threads = (unsigned)threads;
	}
	if (process->tracer > 0 && ri_proc_read(process->tracer, &tracer))
		memcpy(process->tracer_name, tracer.name, sizeof(tracer.name));
}

static size_t list_tasks(pid_t pid, int32_t out[RI_LOOK_TASKS])
{
	struct ri_proc_list list;
	size_t count = 0;
	char path[32];
	pid_t tid;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	list = ri_proc_list_open(path);
	while ((tid = ri_proc_list_next(&list)) != 0)
		if (count < RI_LOOK_TASKS)
			out[count++] = tid;
	return count;
}

/* A thread in state D may hold the lock that the others wait for. */
static void look_for_blocked(struct ri_hang_process *process)
{
	static int32_t tasks[RI_LOOK_TASKS];
	struct ri_procstat thread;
	size_t count;

	if (process->threads < 2)
		return;
	count = list_tasks(process->pid, tasks);
	for (size_t i = 0; i < count; i++) {
		int pid = (int)process->pid, tid = (int)tasks[i];

		if (tid == pid || ri_proc_text(text, sizeof(text), "/proc/%d/task/%d/stat", pid,
			tid) <= 0 || !ri_procstat_read(text, &thread) || thread.state != 'D')
			continue;
		process->blocked_tid = tid;
		if (ri_proc_text(text, sizeof(text), "/proc/%d/task/%d/wchan", pid, tid) > 0)
			ri_hang_read_wchan(text, process->blocked_wchan,
				sizeof(process->blocked_wchan));
		return;
	}
}

static bool read_memory(void *context, uint64_t address, void *out, size_t size)
{
	const pid_t *pid = context;
	struct iovec ours = { .iov_base = out, .iov_len = size };
	struct iovec theirs = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };

	return process_vm_readv(*pid, &ours, 1, &theirs, 1, 0) == (ssize_t)size;
}

/* A path may end before a page that is not there. */
static void look_at_path(struct ri_hang_process *process)
{
	uint64_t address = ri_call_path(&process->call);
	char path[RI_HANG_PATH] = "";
	struct ri_mount mount;
	size_t length = 0;

	while (address != 0 && length < sizeof(path) - 1 &&
		read_memory(&process->pid, address + length, path + length, 1) &&
		path[length] != '\0')
		length++;
	path[length] = '\0';
	if (length == 0)
		return;
	ri_text_copy(process->path, sizeof(process->path), path);
	if (path[0] == '/' && ri_proc_text(text, sizeof(text), "/proc/%d/mountinfo",
		(int)process->pid) > 0 && ri_mount_of(text, path, &mount))
		note_mount(process, &mount);
}

void ri_look_at_rank(struct ri_hang_process *process)
{
	struct ri_hang_identity said = ri_hang_unsaid;
	struct ri_hang_place place = { process->rank, -1, -1 };
	struct ri_proc_parts parts;
	const char *variable;

	ri_proc_parts_open(&parts, '\0', "/proc/%d/environ", (int)process->pid);
	while ((variable = ri_proc_parts_next(&parts)) != NULL)
		ri_hang_note_variable(&said, variable);
	process->claim = ri_hang_claim_of(&said, &place);
	process->rank = place.rank;
	process->local_rank = place.local_rank;
	if (place.local_ranks >= 0)
		process->local_ranks = place.local_ranks;
	process->restarts = said.restarts < 0 ? 0 : said.restarts;
	process->most_restarts = said.most_restarts < 0 ? 0 : said.most_restarts;
}

struct ri_python_memory ri_look_memory(pid_t *pid)
{
	return (struct ri_python_memory){ read_memory, pid };
}

bool ri_look_read_maps(pid_t pid, struct ri_python_maps *maps)
{
	struct ri_proc_parts parts;
	const char *line;

	memset(maps, 0, sizeof(*maps));
	ri_proc_parts_open(&parts, '\n', "/proc/%d/maps", (int)pid);
	if (parts.fd < 0)
		return false;
	while ((line = ri_proc_parts_next(&parts)) != NULL)
		ri_python_maps_add(maps, line);
	return maps->count > 0;
}

/*
 * Where there are no maps to read, the error of reading any memory says why. A Python that has just
 * started, or loads a library, changes meanwhile.
 */
static enum ri_hang_python find_python(struct ri_hang_process *process,
	struct ri_look_region *region, size_t i)
{
	const struct ri_python_memory memory = ri_look_memory(&process->pid);
	struct ri_python *python = &region->pythons[i];
	enum ri_python_answer answer = RI_PYTHON_CHANGED;
	static struct ri_python_maps maps;

	for (int tries = 0; tries < TRIES && answer == RI_PYTHON_CHANGED; tries++) {
		errno = 0;
		if (!ri_look_read_maps(process->pid, &maps)) {
			process->python_errno = errno;
			return errno == 0 ? RI_HANG_NO_PYTHON : RI_HANG_REFUSED;
		}
		answer = ri_python_find(python, &memory, &maps);
	}
	switch (answer) {
	case RI_PYTHON_OK:
		region->python_known[i] = true;
		break;
	case RI_PYTHON_NONE:
	case RI_PYTHON_CHANGED:
		return RI_HANG_NO_PYTHON;
	case RI_PYTHON_UNKNOWN:
		ri_text_copy(process->release, sizeof(process->release), python->release);
		return RI_HANG_OTHER_PYTHON;
	case RI_PYTHON_UNREADABLE:
		process->python_errno = errno;
		return RI_HANG_REFUSED;
	}
	return RI_HANG_HAS_PYTHON;
}

/* Two readings in a row that are the same are whole; of a thread that runs there may be none. */
static enum ri_python_answer read_stack(struct ri_python *python,
	const struct ri_python_thread *thread, struct ri_python_stack *stack)
{
	enum ri_python_answer answer = ri_python_stack(python, thread, stack);

	for (int i = 0; i < TRIES; i++) {
		uint64_t hash = stack->hash;
		enum ri_python_answer before = answer;

		answer = ri_python_stack(python, thread, stack);
		if (answer == RI_PYTHON_OK && before == RI_PYTHON_OK && stack->hash == hash)
			return answer;
	}
	return RI_PYTHON_CHANGED;
}

static void keep_stack(struct ri_hang *hang, struct ri_hang_process *process,
	const struct ri_python_stack *stack, int32_t tid, bool torn)
{
	struct ri_hang_stack *out = &process->stacks[process->stack_count];
	struct ri_hang_frame *frames = hang->frames + hang->frame_count;

	if (RI_HANG_STACKS - hang->frame_count < stack->count)
		return;
	for (size_t i = 0; i < stack->count; i++)
		frames[i] = (struct ri_hang_frame){
			.file = ri_hang_keep_string(hang, stack->frames[i].file),
			.function = ri_hang_keep_string(hang, stack->frames[i].function),
			.line = stack->frames[i].line,
		};
	hang->frame_count += (uint32_t)stack->count;
	*out = (struct ri_hang_stack){
		.frames = frames, .count = (uint32_t)stack->count,
		.depth = (uint32_t)stack->depth, .tid = tid, .hash = stack->hash, .torn = torn,
	};
	process->stack_count++;
}

static void read_stacks(struct ri_hang *hang, struct ri_hang_process *process,
	struct ri_python *python)
{
	static struct ri_python_frame frames[RI_HANG_FRAMES];
	static struct ri_python_threads threads;
	static int32_t tasks[RI_LOOK_TASKS];
	const struct ri_python_tasks ids = { tasks, list_tasks(process->pid, tasks) };
	bool whole = false;
	size_t main;

	/* threads begin and end meanwhile: the walk may break off before the main one */
	for (int i = 0; i < TRIES && !whole; i++)
		whole = ri_python_threads(python, &ids, &threads) == RI_PYTHON_OK;
	if (threads.count == 0)
		return;
	main = threads.count - 1;	/* the oldest one */
	for (size_t i = 0; i <= threads.count && process->stack_count < RI_HANG_THREADS; i++) {
		size_t at = i == 0 ? main : i - 1;
		struct ri_python_stack stack = { .frames = frames, .room = RI_HANG_FRAMES };
		bool torn;

		if (i > 0 && at == main)
			continue;
		torn = read_stack(python, &threads.list[at], &stack) != RI_PYTHON_OK ||
			(i == 0 && !whole);
		if (i == 0 || stack.count > 0)
			keep_stack(hang, process, &stack, threads.list[at].tid, torn);
	}
}

/* The same process as in the look before, whose interpreter is found already. */
static void look_at_python(struct ri_look_region *region, struct ri_hang_process *process, size_t i)
{
	const struct ri_hang *hang = &region->hang;
	const struct ri_hang_process *before = &hang->looks[!hang->last].processes[i];
	struct ri_python *python = &region->pythons[i];

	if (hang->looks_taken == 0 || i >= hang->looks[!hang->last].count ||
		before->pid != process->pid || before->started != process->started)
		region->python_known[i] = false;
	if (region->python_known[i]) {
		python->memory = ri_look_memory(&process->pid);
		process->python = RI_HANG_HAS_PYTHON;
	} else {
		process->python = find_python(process, region, i);
	}
	if (process->python != RI_HANG_HAS_PYTHON)
		return;
	ri_text_copy(process->release, sizeof(process->release), python->release);
	read_stacks(&region->hang, process, python);
}

void ri_look_at(struct ri_look_region *region, size_t i)
{
	struct ri_hang_process *process = &ri_hang_newer(&region->hang)->processes[i];
	const struct ri_call_row *row;
	struct ri_procstat now;

	process->unlooked = false;
	if (!look_at_state(process) || process->dying) {
		process->unread = false;
		return;
	}
	look_at_tracer(process);
	look_at_times(process);
	look_at_call(process);
	look_for_blocked(process);
	process->unread = false;
	look_at_path(process);
	ri_look_at_rank(process);
	row = ri_call_row(&process->call);
	/* after vfork(2) the memory is its parent's, and what that runs */
	if (row == NULL || row->kind != RI_CALL_EXEC)
		look_at_python(region, process, i);
	/* if its number is another process's by now, that one was read; or its memory is gone */
	if (!ri_proc_read(process->pid, &now) || now.started != process->started)
		process->state = 0;
	else if (!now.dying)
		return;
	process->dying = true;
	process->python = RI_HANG_NOT_ASKED;
	process->stack_count = 0;
}

/* What a total grew by; false where one of the two is not known. */
static bool subtract(uint64_t now, uint64_t before, uint64_t *grown)
{
	if (now == RI_HANG_NO_TOTAL || before == RI_HANG_NO_TOTAL || now < before)
		return false;
	*grown = now - before;
	return true;
}

void ri_look_conclude(struct ri_look_region *region)
{
	struct ri_hang *hang = &region->hang;
	struct ri_hang_look *look = ri_hang_newer(hang);

	hang->looks_taken++;
	ri_hang_find_ranks(look);
	for (size_t i = 0; i < look->count; i++) {
		struct ri_hang_process *now = &look->processes[i];
		const struct ri_hang_process *before = ri_hang_find_before(hang, now);

		if (before == NULL || before->at_us >= now->at_us)
			continue;
		now->since_us = (uint64_t)(now->at_us - before->at_us);
		now->has_cpu = subtract(now->cpu_ticks, before->cpu_ticks, &now->cpu_ms) &&
			subtract(now->main_ns, before->main_ns, &now->main_us);
		now->cpu_ms *= TICK_MS;
		now->main_us /= 1000;
		now->has_io = subtract(now->io_total, before->io_total, &now->io_bytes);
		subtract(now->switches, before->switches, &now->naps);
	}
}

bool ri_look_is_filtered(void)
{
	pid_t self = getpid(), its;

	return !read_memory(&self, (uint64_t)(uintptr_t)&self, &its, sizeof(its)) &&
		(errno == EPERM || errno == EACCES);
}
