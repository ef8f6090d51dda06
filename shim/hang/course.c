/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/course.h"

#include <signal.h>
#include <string.h>

#include "hang/held.h"
#include "hang/in_hand.h"
#include "hang/look.h"
#include "base/limits.h"
#include "base/number.h"
#include "base/pages.h"
#include "system/clock.h"
#include "system/helper.h"
#include "system/own_proc.h"

enum {
	MOST_S = 5,		/* hundreds of ranks take 3; verdicts wait for --settle */
	DEEPEST = 4,		/* shells and wrappers in front of a rank */
};

static struct ri_python_maps maps;

static struct {
	struct ri_course_seen *seen;	/* of each child and each other; shared with the helper */
	pid_t helper;		/* 0: none */
	struct timespec begun;	/* CLOCK_REALTIME */
} own;

/* Is the process's program python itself? Its maps are read. */
static bool is_python(pid_t pid)
{
	return ri_autopsy_read_maps(pid, &maps) && strncmp(maps.objects[0].name, "python", 6) == 0;
}

/*
 * The only child of a process, or of several the only one that is python; 0: there is none.
 * (Linux Documentation/filesystems/proc.rst, 3.6)
 */
static pid_t find_child(pid_t pid)
{
	static char text[RI_AUTOPSY_FILE + 1];
	const char *at = text;
	size_t length, count = 0, pythons = 0;
	uint64_t child, only = 0, python = 0;

	if (ri_autopsy_read(text, "/proc/%d/task/%d/children", (int)pid, (int)pid) <= 0)
		return 0;
	for (; (length = ri_digits_read(at, &child)) > 0; at += length + (at[length] == ' ')) {
		only = child;
		count++;
		if (!is_python((pid_t)child))
			continue;
		python = child;
		pythons++;
	}
	return count == 1 ? (pid_t)only : pythons == 1 ? (pid_t)python : 0;
}

/* The python that a shell in front of it waits for; 0: there is none. */
static pid_t find_inner(pid_t pid)
{
	for (int depth = 0; depth < DEEPEST && (pid = find_child(pid)) != 0; depth++)
		if (is_python(pid))
			return pid;
	return 0;
}

/*
 * Where the process's program is python itself: see ri_python_runs. Behind a shell it is not known
 * whose the words on stderr are: only what it has in hand counts. Returns which process it is.
 */
static pid_t look_at(pid_t rank, struct ri_course_seen *seen)
{
	static struct ri_python_threads threads;
	static struct ri_python python;
	struct ri_python_stack stack = { .room = 0 };
	pid_t pid = is_python(rank) ? rank : find_inner(rank);
	const struct ri_python_memory memory = ri_autopsy_memory(&pid);
	struct ri_text held, words;
	bool runs;

	if (pid == 0 || ri_python_find(&python, &memory, &maps) != RI_PYTHON_OK ||
		ri_python_runs(&python, &runs) != RI_PYTHON_OK)
		return rank;
	ri_python_threads(&python, NULL, &threads);
	if (threads.count > 0)
		ri_python_stack(&python, &threads.list[threads.count - 1], &stack);
	seen->hash = stack.hash;
	if (pid == rank)
		seen->course = runs ? RI_COURSE_RUNNING : RI_COURSE_LEFT;
	ri_text_init(&held, seen->held, sizeof(seen->held));
	ri_text_init(&words, seen->words, sizeof(seen->words));
	if (!runs)
		ri_held_say(&python, &held);
	else if (threads.count > 0)
		seen->hand = ri_in_hand_read(pid, &python, &threads.list[threads.count - 1],
			stack.hash, &words, &held);
	seen->known = runs && threads.count > 0 && stack.hash != 0;
	return pid;
}

static void forget(struct ri_course_seen *seen)
{
	seen->course = RI_COURSE_UNKNOWN;
	seen->known = false;
	seen->hand = (struct ri_in_hand){ .exception = 0 };
	seen->held[0] = seen->words[0] = '\0';
}

static bool lives(const struct ri_launched *other)
{
	return other->is_rank && other->order == 0;
}

static void look_at_child(pid_t pid, struct ri_course_seen *seen)
{
	struct ri_procstat process = { .ticks = 0 };

	ri_proc_read(look_at(pid, seen), &process);
	seen->ticks = process.ticks;
}

/* Its number may be another process's, until it was looked at. */
static void look_at_other(const struct ri_launched *other, struct ri_course_seen *seen)
{
	struct ri_procstat process = { .ticks = 0 };

	pid_t looked_at = look_at(other->pid, seen);

	if (!ri_proc_read(other->pid, &process) || process.started != other->born)
		forget(seen);
	if (looked_at != other->pid)
		ri_proc_read(looked_at, &process);
	seen->ticks = process.ticks;
}

/* For a moment only: the helper has a copy. */
struct job {
	const struct ri_children *children;
	struct ri_course_others others;
};

static void look(void *context)
{
	const struct job *job = context;
	const struct ri_children *children = job->children;

	for (size_t i = 0; i < children->started; i++)
		if (children->items[i].doubtful)
			look_at_child(children->items[i].pid, &own.seen[i]);
	for (size_t i = 0; i < job->others.count; i++)
		if (lives(&job->others.items[i]))
			look_at_other(&job->others.items[i], &own.seen[RI_MAX_LOCAL + i]);
}

/* Whose user the helper becomes: that of others is their launcher's. */
static pid_t find_doubtful(const struct ri_children *children, struct ri_course_others others)
{
	for (size_t i = 0; i < children->started; i++)
		if (children->items[i].doubtful)
			return children->items[i].pid;
	return others.count > 0 && children->living > 0 ? children->items[0].pid : 0;
}

static void forget_others(size_t count)
{
	for (size_t i = 0; i < count; i++)
		forget(&own.seen[RI_MAX_LOCAL + i]);
}

void ri_course_ask(struct ri_children *children, struct ri_course_others others)
{
	struct job job = { children, others };
	pid_t child = find_doubtful(children, others);

	if (child == 0 || own.helper != 0)
		return;
	if (own.seen == NULL)
		own.seen = ri_pages_shared(
			(RI_MAX_LOCAL + RI_LAUNCHED) * sizeof(*own.seen));
	if (own.seen == NULL)
		return;
	ri_clock_read(CLOCK_REALTIME, &own.begun);
	for (size_t i = 0; i < children->started; i++)
		if (children->items[i].doubtful)
			forget(&own.seen[i]);
	forget_others(others.count);
	own.helper = ri_helper_start(&(struct ri_helper_task){
		.body = look, .context = &job, .signal = SIGIO, .user = RI_HELPER_OWNER,
		.name = "rankinit-look", .owned = child, .seconds = MOST_S,
	});
	if (own.helper < 0)
		own.helper = 0;
}

bool ri_course_is_asked(void)
{
	return own.helper != 0;
}

bool ri_course_take(struct ri_children *children)
{
	if (own.helper == 0 || !ri_helper_reap(own.helper, NULL))
		return false;
	own.helper = 0;
	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];
		unsigned char seen = own.seen[i].course;

		if (!child->doubtful)
			continue;
		child->doubtful = false;
		child->course = seen <= RI_COURSE_LEFT ? seen : RI_COURSE_UNKNOWN;
		child->course_at = own.begun;
	}
	return true;
}

const struct ri_course_seen *ri_course_child(size_t index)
{
	struct ri_course_seen *seen;

	if (own.seen == NULL)
		return NULL;
	seen = &own.seen[index];
	seen->held[sizeof(seen->held) - 1] = seen->words[sizeof(seen->words) - 1] = '\0';
	return seen;
}

const struct ri_course_seen *ri_course_other(size_t index)
{
	return ri_course_child(RI_MAX_LOCAL + index);
}

const char *ri_course_held(size_t index)
{
	const struct ri_course_seen *seen = ri_course_child(index);

	return seen == NULL || seen->held[0] == '\0' ? NULL : seen->held;
}

struct ri_span ri_course_exception(const struct ri_course_seen *seen)
{
	struct ri_span rest = { seen->words, strlen(seen->words) }, last = { seen->words, 0 };

	ri_span_last_line(&rest, &last);
	return last;
}

void ri_course_end(void)
{
	if (own.helper != 0 && ri_helper_leave(own.helper))
		own.helper = 0;
}
