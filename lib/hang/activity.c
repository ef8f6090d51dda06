/* SPDX-License-Identifier: Apache-2.0 */
/* What one process does, in words. */
#include <errno.h>

#include "base/host.h"
#include "hang/hang.h"
#include "redact/redact.h"

enum { SHOWN = 120, DEEPEST = 4 };

static const struct { const char *name, *words; } classes[] = {
	[RI_HANG_GONE] = { "gone", "has ended" },
	[RI_HANG_EXITING] = { "exiting", "is ending" },
	[RI_HANG_STOPPED] = { "stopped", "was stopped by a signal (SIGSTOP, SIGTSTP)" },
	[RI_HANG_DEBUGGED] = { "debugged", "is in a debugger" },
	[RI_HANG_VFORKING] = { "vforking", "waits in vfork for its child to start a program" },
	[RI_HANG_BLOCKED] = { "blocked", "is blocked in the kernel" },
	[RI_HANG_COLLECTIVE] = { "collective", "waits for the other ranks" },
	[RI_HANG_CHILD] = { "child", "waits for a child" },
	[RI_HANG_LOADER] = { "loader", "waits for its data loader" },
	[RI_HANG_WORK] = { "work", "is idle, waits for work" },
	[RI_HANG_DATA] = { "data", "waits for data" },
	[RI_HANG_LOCK] = { "lock", "waits for a lock" },
	[RI_HANG_THREAD] = { "thread", "waits for one of its threads" },
	[RI_HANG_SLEEPS] = { "sleeps", "sleeps" },
	[RI_HANG_WAITS] = { "waits", "waits" },
	[RI_HANG_SPINS] = { "spins", "runs in C code, at one Python instruction" },
	[RI_HANG_RUNS] = { "runs", "runs" },
	[RI_HANG_REFUSED_ALL] = { "refused", "may not be looked at" },
	[RI_HANG_UNLOOKED] = { "unlooked", "was not looked at" },
	[RI_HANG_UNKNOWN] = { "unknown", "does something that is not known" },
};

const char *ri_hang_class_name(enum ri_hang_class class)
{
	return classes[class].name;
}

bool ri_hang_class_read(struct ri_span name, enum ri_hang_class *out)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strlen(classes[i].name) == name.length &&
			ri_span_starts(name, classes[i].name)) {
			*out = (enum ri_hang_class)i;
			return true;
		}
	return false;
}

/* Words of ours, and a foreign value. */
static void add_shown(struct ri_text *out, const char *words, const char *value)
{
	ri_text_add(out, words);
	ri_text_add_shown(out, value, SHOWN);
}

/* " in read() of /data/x (fuse.sshfs on /data)" */
static void add_call(struct ri_text *out, const struct ri_hang_process *process)
{
	const struct ri_call_row *row = ri_call_row(&process->call);

	if (row != NULL)
		ri_text_addf(out, " in %s()", row->name);
	else if (process->call.state == RI_CALL_INSIDE)
		ri_text_addf(out, " in system call %ld", process->call.number);
	if (process->path[0] != '\0')
		add_shown(out, row == NULL ? " on " : " of ", process->path);
	if (process->mount_type[0] != '\0') {
		add_shown(out, " (", process->mount_type);
		add_shown(out, " on ", process->mount);
		ri_text_add(out, ")");
	}
	if (process->state == 'D' && process->wchan[0] != '\0' && row == NULL)
		add_shown(out, ", ", process->wchan);
}

const char *ri_hang_redact_file(const char *file)
{
	static char shown[2 * RI_HANG_PATH];
	struct ri_text out = ri_text_of(shown, sizeof(shown));

	ri_redact(&out, (struct ri_span){ file, strlen(file) });
	return shown;
}

const struct ri_hang_frame *ri_hang_find_place(const struct ri_hang_process *process)
{
	const struct ri_hang_stack *stack = &process->stacks[0];

	if (process->stack_count == 0 || stack->count == 0)
		return NULL;
	/* it waits in a library's frame; the reader looks for the line that called the library */
	for (uint32_t i = 0; i < stack->count; i++) {
		const char *file = stack->frames[i].file;

		if (file[0] != '<' && strstr(file, "/site-packages/") == NULL &&
			strstr(file, "/dist-packages/") == NULL &&
			strstr(file, "/lib/python3") == NULL)
			return &stack->frames[i];
	}
	return &stack->frames[0];
}

static void add_activity(struct ri_text *out, const struct ri_hang_look *look, size_t i,
	int depth, bool placed);

/* Which child the process waits for, and what that one does. */
static void add_child(struct ri_text *out, const struct ri_hang_look *look,
	const struct ri_hang_process *process, int depth)
{
	const struct ri_hang_process *child;
	size_t all = 0, idle = 0;
	bool unread = false;

	if (process->child >= 0) {
		child = &look->processes[process->child];
		ri_text_addf(out, process->class == RI_HANG_LOADER
			? ": worker %d (" : ", %d (", (int)child->pid);
		ri_text_add_shown(out, child->name, SHOWN);
		ri_text_add(out, ") ");
		add_activity(out, look, (size_t)process->child, depth + 1, true);
		return;
	}
	if (process->class != RI_HANG_LOADER)
		return;
	for (size_t i = 0; i < look->count; i++) {
		bool works = ri_hang_is_worker(look, i, process->pid);

		child = &look->processes[i];
		all += works;
		idle += works && child->class == RI_HANG_WORK;
		/* any child whose Python was not read may be a worker */
		unread |= child->parent == process->pid && child->state != 0 &&
			child->python != RI_HANG_HAS_PYTHON && child->python != RI_HANG_NO_PYTHON;
	}
	if (all == 0 && !unread)
		ri_text_add(out, ", of whose workers none is left");
	else if (all > 0 && idle == all)
		ri_text_add(out, all == 1 ? ", whose worker is idle" : ", whose workers are idle");
}

static void add_function(struct ri_text *out, const struct ri_hang_process *process)
{
	if (process->waits_at < 0)
		return;
	add_shown(out, " in ", ri_wait_name(process->stacks[0].frames[process->waits_at].function));
}

static void add_activity(struct ri_text *out, const struct ri_hang_look *look, size_t i, int depth,
	bool placed)
{
	const struct ri_hang_process *process = &look->processes[i];
	const struct ri_hang_frame *place = placed ? ri_hang_find_place(process) : NULL;

	ri_text_add(out, classes[process->class].words);
	switch (process->class) {
	case RI_HANG_BLOCKED:
	case RI_HANG_WAITS:
		add_call(out, process);
		break;
	case RI_HANG_COLLECTIVE:
		add_function(out, process);
		break;
	case RI_HANG_DATA:
	case RI_HANG_LOCK:
		add_function(out, process);
		if (process->path[0] != '\0')
			add_call(out, process);
		break;
	case RI_HANG_DEBUGGED:
		if (process->tracer != 0) {
			add_shown(out, ", ", process->tracer_name);
			ri_text_addf(out, " (pid %d)", (int)process->tracer);
		} else if (process->waits_at >= 0) {
			add_shown(out, ", ", ri_path_name(
				process->stacks[0].frames[process->waits_at].file));
		}
		break;
	default:
		break;
	}
	if (place != NULL) {
		add_shown(out, ", ", ri_path_name(ri_hang_redact_file(place->file)));
		if (place->line > 0)
			ri_text_addf(out, ":%u", place->line);
		add_shown(out, " in ", place->function);
	}
	if (depth < DEEPEST)
		add_child(out, look, process, depth);
	if (process->blocked_tid != 0) {
		ri_text_addf(out, "; its thread %d is blocked in the kernel",
			(int)process->blocked_tid);
		if (process->blocked_wchan[0] != '\0')
			add_shown(out, ", ", process->blocked_wchan);
	}
}

void ri_hang_add_activity(struct ri_text *out, const struct ri_hang_look *look, size_t i,
	bool placed)
{
	add_activity(out, look, i, 0, placed);
}

void ri_hang_add_no_stack(struct ri_text *out, const struct ri_hang *hang,
	const struct ri_hang_process *process)
{
	switch (process->python) {
	case RI_HANG_NOT_ASKED:
		if (process->unread && !process->unlooked && !process->dying &&
			process->state != 0)
			ri_text_add(out, "no Python stack: its memory was not looked at");
		break;
	case RI_HANG_HAS_PYTHON:
	case RI_HANG_NO_PYTHON:
		break;
	case RI_HANG_OTHER_PYTHON:
		add_shown(out, "no Python stack: rankinit does not know Python ", process->release);
		break;
	case RI_HANG_REFUSED:
		ri_text_add(out, "no Python stack: ");
		if (hang->by_seccomp)
			ri_text_add(out, "a seccomp profile refuses process_vm_readv, as that of "
				"Docker before 23 does, and of containerd before 1.7; start the "
				"container with --cap-add=SYS_PTRACE");
		else if (process->python_errno == ENOSYS)
			ri_text_add(out, "this kernel has no process_vm_readv");
		else if (hang->yama > 1)
			ri_text_addf(out, "Yama refuses it (kernel.yama.ptrace_scope is %d)",
				hang->yama);
		else if (hang->yama == 1)
			ri_text_add(out, "Yama refuses it (kernel.yama.ptrace_scope is 1), unless "
				"rankinit started the rank with --autopsy-after, --autopsy-signal "
				"or --stall");
		else
			ri_text_addf(out, "the kernel refuses its memory (%s): it has another user "
				"or more capabilities", strerror(process->python_errno));
		break;
	case RI_HANG_SILENT:
		ri_text_add(out, "no Python stack: its memory does not answer");
		break;
	case RI_HANG_SLOW:
		ri_text_add(out, "no Python stack: it took too long to read");
		break;
	}
}
