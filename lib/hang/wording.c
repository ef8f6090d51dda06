/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/hang.h"

#include <errno.h>

#include "redact/redact.h"

enum {
	SHOWN = 100,		/* columns of a path, a name */
	WIDE = 120,		/* of one in what a process does */
	DEEPEST = 4,		/* children in a row that wait for each other */
	RUNS = 12,		/* "0-3, 5" of a list of ranks */
	FRAMES = 7,		/* of a group of ranks */
	FRAMES_FEW = 3,		/* of one of many */
	FRAMES_THREAD = 3,	/* of a thread beside the main one */
	MANY = 5,
	GROUPS = 12,
	PIDS = 4,
};

/* --- what one process does --------------------------------------------------- */

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
	for (size_t i = 0; i < RI_ARRAY_SIZE(classes); i++)
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
	ri_text_add_shown(out, value, WIDE);
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

	ri_redact(&out, ri_span_of(file));
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
		ri_text_add_shown(out, child->name, WIDE);
		ri_text_add(out, ") ");
		add_activity(out, look, (size_t)process->child, depth + 1, true);
		return;
	}
	if (process->class != RI_HANG_LOADER)
		return;
	for (size_t i = 0; i < look->count; i++) {
		bool is_worker = ri_hang_is_worker(look, i, process->pid);

		child = &look->processes[i];
		all += is_worker;
		idle += is_worker && child->class == RI_HANG_WORK;
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

/* --- the whole look ----------------------------------------------------------- */

static size_t count_group(const struct ri_hang_look *look, int group)
{
	size_t count = 0;

	for (size_t i = 0; i < look->count; i++)
		count += look->processes[i].group == group;
	return count;
}

/* The numbers of the ranks of a group, in their order. */
static void add_ranks(struct ri_text *out, const struct ri_hang_look *look, int group)
{
	struct ri_ranges list = { .out = out, .between = ", ", .most = RUNS };
	int64_t next = -1;

	for (;;) {
		int64_t least = INT64_MAX;

		for (size_t i = 0; i < look->count; i++)
			if (look->processes[i].group == group &&
				look->processes[i].rank > next && look->processes[i].rank < least)
				least = look->processes[i].rank;
		if (least == INT64_MAX)
			break;
		ri_ranges_add(&list, least);
		next = least;
	}
	ri_ranges_end(&list);
}

static void add_name(struct ri_text *out, const struct ri_hang_look *look, int group)
{
	const struct ri_hang_process *process = &look->processes[group];
	size_t count = count_group(look, group), said = 0;

	if (process->is_rank) {
		ri_text_add(out, count == 1 ? "rank " : "ranks ");
		if (process->rank >= 0)
			add_ranks(out, look, group);
		if (count > 1)
			ri_text_addf(out, " (%zu)", count);
		else
			ri_text_addf(out, " (pid %d)", (int)process->pid);
		return;
	}
	if (count > 1)
		ri_text_addf(out, "%zu processes ", count);
	ri_text_add_shown(out, process->name, SHOWN);
	ri_text_add(out, count == 1 ? " (pid " : " (pids ");
	for (size_t i = 0; i < look->count && said < PIDS; i++)
		if (look->processes[i].group == group)
			ri_text_addf(out, "%s%d", said++ == 0 ? "" : ", ",
				(int)look->processes[i].pid);
	ri_text_add(out, count > PIDS ? ", ...)" : ")");
	if (process->rank >= 0) {
		ri_text_add(out, " below rank ");
		add_ranks(out, look, group);
	}
}

const char *ri_hang_short_file(const char *path)
{
	static const char packages[] = "-packages/", library[] = "/lib/python3.";
	const char *file = ri_hang_redact_file(path), *inner = strstr(file, packages);

	if (inner != NULL)
		return inner + strlen(packages);
	inner = strstr(file, library);
	inner = inner == NULL ? NULL : strchr(inner + strlen(library), '/');
	return inner == NULL ? file : inner + 1;
}

static void add_frame(struct ri_text *out, const struct ri_hang_frame *frame)
{
	ri_text_add_shown(out, ri_hang_short_file(frame->file), SHOWN);
	if (frame->line > 0)
		ri_text_addf(out, ":%u", frame->line);
	ri_text_add(out, " in ");
	ri_text_add_shown(out, frame->function, SHOWN);
}

/* The main thread's frames, then a line for each other thread that runs Python. */
static void add_stacks(struct ri_text *out, const struct ri_hang_process *process, size_t most)
{
	const struct ri_hang_stack *stack = process->stacks;

	for (uint32_t i = 0; process->stack_count > 0 && i < stack->count && i <= most; i++) {
		ri_text_add(out, "    ");
		if (i == most)
			ri_text_addf(out, "and %u frames more", stack->depth - i);
		else
			add_frame(out, &stack->frames[i]);
		ri_text_add(out, "\n");
	}
	for (stack++; stack < process->stacks + process->stack_count; stack++) {
		if (stack->count == 0)
			continue;
		ri_text_addf(out, "    thread %d: ", (int)stack->tid);
		for (uint32_t k = 0; k < stack->count && k < FRAMES_THREAD; k++) {
			ri_text_add(out, k == 0 ? "" : " < ");
			add_frame(out, &stack->frames[k]);
		}
		ri_text_add(out, "\n");
	}
}

static void add_group(struct ri_text *out, const struct ri_hang *hang,
	const struct ri_hang_look *look, int group, size_t frames)
{
	const struct ri_hang_process *process = &look->processes[group];
	RI_TEXT(no_stack, RI_HANG_COLUMNS);

	add_name(out, look, group);
	ri_text_add(out, count_group(look, group) > 1 ? ": each " : ": ");
	ri_hang_add_activity(out, look, (size_t)group, true);
	ri_text_add(out, "\n");
	ri_hang_add_no_stack(&no_stack, hang, process);
	if (no_stack.length > 0)
		ri_text_addf(out, "    %s\n", no_stack.bytes);
	/* a launcher's own stack does not help to understand the ranks */
	if (process->rank >= 0 || !ri_hang_has_ranks(look))
		add_stacks(out, process, frames);
}

/* Leaves so many lines of the text. Returns whether it had more. */
static bool cut_lines(struct ri_text *text, size_t lines)
{
	char *end = text->bytes;

	for (; lines > 0 && (end = strchr(end, '\n')) != NULL; lines--)
		end++;
	if (end == NULL || *end == '\0')
		return false;
	*end = '\0';
	text->length = (size_t)(end - text->bytes);
	return true;
}

/* Shall a reader see it? Not an idle worker or launcher. */
static bool is_news(const struct ri_hang *hang, const struct ri_hang_process *process)
{
	if (ri_hang_is_lost(hang, process))
		return false;
	return process->is_rank || (process->class != RI_HANG_WORK &&
		process->class != RI_HANG_UNLOOKED);
}

static void add_suspect(struct ri_text *out, const struct ri_hang_look *look)
{
	const struct ri_hang_process *suspect = &look->processes[look->suspect];
	const struct ri_hang_process *crowd = &look->processes[look->crowd];
	bool differ = suspect->class == RI_HANG_COLLECTIVE;

	/* where the ranks are in two collectives, either may be the wrong one: both are told */
	ri_text_add(out, differ ? "the ranks differ: " : "suspect: ");
	if (suspect->rank >= 0)
		ri_text_addf(out, "rank %lld ", (long long)suspect->rank);
	ri_text_addf(out, "(pid %d) ", (int)suspect->pid);
	ri_hang_add_activity(out, look, (size_t)look->suspect, true);
	ri_text_add(out, differ ? "; the others in " : "; the others wait for it");
	if (differ)
		ri_text_add_shown(out,
			ri_wait_name(crowd->stacks[0].frames[crowd->waits_at].function), SHOWN);
	ri_text_add(out, "\n");
}

static void add_ended(struct ri_text *out, const struct ri_hang_look *look)
{
	struct ri_ranges list = { .out = out, .between = ", ", .most = RUNS };

	if (look->ended_count == 0)
		return;
	ri_text_add(out, look->ended_count == 1 ? "rank " : "ranks ");
	for (size_t i = 0; i < look->ended_count; i++)
		ri_ranges_add(&list, look->ended[i]);
	ri_ranges_end(&list);
	ri_text_addf(out, " %s ended", look->ended_count == 1 ? "has" : "have");
	if (look->all_wait)
		ri_text_add(out, "; the others wait for the other ranks");
	ri_text_add(out, "\n");
}

size_t ri_hang_count_unlooked(struct ri_hang *hang)
{
	const struct ri_hang_look *look = ri_hang_newer(hang);
	size_t count = 0;

	for (size_t i = 0; i < look->count; i++)
		count += look->processes[i].unlooked || (look->processes[i].unread &&
			look->processes[i].python == RI_HANG_NOT_ASKED);
	return count;
}

static void add_cut(struct ri_text *out, struct ri_hang *hang)
{
	const struct ri_hang_look *look = ri_hang_newer(hang);
	size_t count = ri_hang_count_unlooked(hang);

	if (hang->cut_ms == 0 || (count == 0 && look->listed))
		return;
	if (hang->cut_errno != 0)
		ri_text_addf(out, "no process to look with (%s): ", strerror(hang->cut_errno));
	else
		ri_text_addf(out, "cut short after %u ms: ", hang->cut_ms);
	if (look->listed)
		ri_text_addf(out, "%zu of %zu processes were not looked at", count, look->count);
	else if (look->count == 0)
		ri_text_add(out, "no process was looked at");
	else
		ri_text_addf(out, "%zu of the %zu processes that rankinit started were looked at, "
			"and no other one", look->count - count, look->count);
	ri_text_add(out, "\n");
}

static void render(struct ri_hang *hang, struct ri_text *out)
{
	const struct ri_hang_look *look = ri_hang_newer(hang);
	size_t groups = 0, shown = 0;

	for (size_t i = 0; i < look->count; i++)
		groups += look->processes[i].group == (int)i && is_news(hang, &look->processes[i]);
	add_cut(out, hang);
	if (look->suspect >= 0)
		add_suspect(out, look);
	add_ended(out, look);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < look->count; i++) {
			const struct ri_hang_process *process = &look->processes[i];

			if (process->group != (int)i || !is_news(hang, process) ||
				process->is_rank != (pass == 0))
				continue;
			if (shown < GROUPS)
				add_group(out, hang, look, (int)i,
					groups > MANY ? FRAMES_FEW : FRAMES);
			if (cut_lines(out, RI_HANG_LINES - 2) || shown == GROUPS) {
				ri_text_addf(out, "and %zu groups more\n", groups - shown);
				return;
			}
			shown++;
		}
	if (look->left_out > 0)
		ri_text_addf(out, "and %zu processes more\n", look->left_out);
	if (look->count == 0 && hang->cut_ms == 0)
		ri_text_add(out, "no process is there\n");
}

void ri_hang_say(struct ri_hang *hang, struct ri_text *out)
{
	static char lines[RI_HANG_SHOWN];
	struct ri_text text = ri_text_of(lines, sizeof(lines));

	render(hang, &text);
	ri_redact(out, (struct ri_span){ text.bytes, text.length });
}

void ri_hang_say_unreadable(const struct ri_hang *hang, const struct ri_hang_process *process,
	struct ri_text *out)
{
	RI_TEXT(text, RI_HANG_COLUMNS);
	size_t before;

	if (process->rank >= 0)
		ri_text_addf(&text, "rank %lld", (long long)process->rank);
	else
		ri_text_addf(&text, "process %d", (int)process->pid);
	ri_text_add(&text, " (");
	ri_text_add_shown(&text, process->name, SHOWN);
	ri_text_add(&text, "): ");
	before = text.length;
	ri_hang_add_no_stack(&text, hang, process);
	if (text.length == before)
		ri_text_add(&text, "it runs no Python");
	ri_redact(out, (struct ri_span){ text.bytes, text.length });
}
