/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/course.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/host.h"
#include "hang/hang.h"
#include "hang/look.h"
#include "redact/redact.h"
#include "system/clock.h"
#include "system/helper.h"
#include "system/own_proc.h"

enum {
	MOST_S = 5,		/* hundreds of ranks take 3; verdicts wait for two */
	AGAIN_S = 1,		/* python -i is behind its program for some ms before it says so */
	DEEPEST = 4,		/* shells and wrappers in front of a rank */
	FRAMES = 128,		/* of a deeper stack it is not known whether one catches it */
	COLUMNS = 200,		/* of a file, a function, and a message */
	HELD_FRAMES = 64,	/* of a thread that is waited for */
	HELD_COLUMNS = 60,	/* of a file, and of a function */
	NAMED = 2,		/* threads */
	PROCESSES = RI_MAX_LOCAL + RI_LAUNCHED,	/* the children, then the others */
};

/* Shared with the process that looks, which may be killed while it writes. */
struct page {
	volatile uint8_t looks_again;
	struct {
		volatile unsigned round;	/* the look that has written all of this; 0: none */
		struct ri_course_seen seen;
	} of[PROCESSES];
};

static struct {
	struct page *page;	/* NULL: there was no look yet */
	pid_t helper;		/* 0: none */
	unsigned round, answered;	/* the last look, and the last one whose answer was taken */
	struct timespec begun;	/* CLOCK_REALTIME */
} own;

static struct ri_python_maps maps;

/*
 * Is the process's program python itself, "python3.13" or "python3-dbg"? One that embeds it goes on
 * after an exception of Python's. Its maps are read.
 */
static bool is_python(pid_t pid)
{
	const char *name = maps.objects[0].name;

	if (!ri_look_read_maps(pid, &maps) || strncmp(name, "python", 6) != 0)
		return false;
	name += 6 + strspn(name + 6, "0123456789.");
	return *name == '\0' || strcmp(name, "d") == 0 || strcmp(name, "-dbg") == 0;
}

/*
 * The only child of a process, or of several the only one that is python; 0: there is none.
 * (Linux Documentation/filesystems/proc.rst, 3.6)
 */
static pid_t find_child(pid_t pid)
{
	static char text[RI_PROC_FILE + 1];
	const char *at = text;
	size_t length, count = 0, pythons = 0;
	uint64_t child, only = 0, python = 0;

	if (ri_proc_text(text, sizeof(text), "/proc/%d/task/%d/children", (int)pid, (int)pid) <= 0)
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

/* What asks a program or a generator to end (Lib's "Built-in Exceptions", "Base classes"). */
static bool is_order(const char *type)
{
	static const char *const names[] = { "SystemExit", "KeyboardInterrupt", "GeneratorExit" };

	for (size_t i = 0; i < RI_ARRAY_SIZE(names); i++)
		if (strcmp(type, names[i]) == 0)
			return true;
	return false;
}

/* A debugger, or a stop by job control (proc(5), the states t and T), or a read of a terminal. */
static bool is_held_by_person(pid_t pid)
{
	static char text[RI_PROC_FILE + 1];
	uint64_t tracer = 0;
	struct ri_procstat process;
	struct ri_call call;
	char file[16];

	if (!ri_proc_read(pid, &process) || strchr("Tt", process.state) != NULL)
		return true;
	if (ri_proc_text(text, sizeof(text), "/proc/%d/status", (int)pid) <= 0 ||
		!ri_hang_read_field(text, "TracerPid", &tracer) || tracer != 0)
		return true;
	if (ri_proc_text(text, sizeof(text), "/proc/%d/syscall", (int)pid) <= 0 ||
		!ri_call_read(text, &call) || ri_call_row(&call) == NULL)
		return false;
	/* readline waits in select(2) or poll(2), for standard input */
	if (ri_call_row(&call)->kind != RI_CALL_EVENT && ri_call_row(&call)->kind != RI_CALL_FILE)
		return false;
	return ri_proc_link(file, sizeof(file), "/proc/%d/fd/%d", (int)pid,
			ri_call_file(&call) < 0 ? STDIN_FILENO : ri_call_file(&call)) &&
		(strncmp(file, "/dev/pts/", 9) == 0 || strncmp(file, "/dev/tty", 8) == 0 ||
			strcmp(file, "/dev/console") == 0);
}

/* Of a message the first line. */
static void write_words(const struct ri_python_raised *raised, struct ri_course_seen *seen)
{
	char message[RI_PYTHON_NAME];
	struct ri_span rest, last = { seen->words, 0 };
	struct ri_text words = ri_text_of(seen->words, sizeof(seen->words));
	struct ri_text shown = ri_text_of(seen->shown, sizeof(seen->shown));

	ri_text_copy(message, sizeof(message), raised->message);
	message[strcspn(message, "\n")] = '\0';
	ri_text_add(&words, "Traceback (most recent call last):\n");
	for (size_t i = 0; i < raised->path_count; i++) {
		ri_text_add(&words, "  File \"");
		ri_text_add_shown(&words, raised->path[i].file, COLUMNS);
		ri_text_addf(&words, "\", line %u, in ", raised->path[i].line);
		ri_text_add_shown(&words, raised->path[i].function, COLUMNS);
		ri_text_add(&words, "\n");
	}
	ri_text_add_shown(&words, raised->type, COLUMNS);
	ri_text_add(&words, message[0] == '\0' ? "" : ": ");
	ri_text_add_shown(&words, message, RI_PYTHON_NAME);
	ri_text_add(&words, "\n");
	rest = (struct ri_span){ seen->words, words.length };
	ri_span_last_line(&rest, &last);
	ri_redact(&shown, last);
	ri_text_replace_controls(seen->shown);
}

static bool is_of(const struct ri_python_frame *frame, const char *file)
{
	return strcmp(ri_path_name(frame->file), file) == 0;
}

/* "work (train.py:5)" */
static void add_frame(struct ri_text *out, const struct ri_python_frame *frame)
{
	ri_text_add_shown(out, frame->function, HELD_COLUMNS);
	ri_text_add(out, " (");
	ri_text_add_shown(out, ri_hang_short_file(frame->file), HELD_COLUMNS);
	if (frame->line > 0)
		ri_text_addf(out, ":%u", frame->line);
	ri_text_add(out, ")");
}

static void read_stack(struct ri_python *python, const struct ri_python_thread *thread,
	struct ri_python_stack *stack)
{
	static struct ri_python_frame frames[HELD_FRAMES];

	*stack = (struct ri_python_stack){ .frames = frames, .room = HELD_FRAMES };
	ri_python_stack(python, thread, stack);
}

/* "it is in main (train.py:16), and there in work (train.py:5)"; they may be one frame. */
static void add_held(struct ri_text *out, const struct ri_python_frame *outer,
	const struct ri_python_frame *inner)
{
	ri_text_add(out, "it is in ");
	add_frame(out, outer);
	if (outer->code == inner->code && outer->line == inner->line)
		return;
	ri_text_add(out, ", and there in ");
	add_frame(out, inner);
}

/* What keeps a Python whose program is over from its end: where its main thread is. */
static void say_held(struct ri_python *python, struct ri_text *out)
{
	static struct ri_python_threads threads;
	const struct ri_python_frame *outer, *inner;
	struct ri_python_stack stack;
	uint64_t code = 0;
	size_t named = 0, at;

	ri_python_threads(python, NULL, &threads);
	if (threads.count == 0)
		return;
	read_stack(python, &threads.list[threads.count - 1], &stack);
	if (stack.count == 0) {
		ri_text_add(out, "its interpreter is behind the last line of Python");
		return;
	}
	inner = &stack.frames[0];
	outer = &stack.frames[stack.count - 1];
	/* Lib/threading.py: it waits for all threads that are no daemons, then calls handlers */
	if (strcmp(outer->function, "_shutdown") == 0 && is_of(outer, "threading.py") &&
		is_of(inner, "threading.py") && threads.count > 1) {
		ri_text_add(out, "it waits in threading._shutdown");
		ri_text_add(out, threads.count == 2 ? " for a thread" : " for one of its threads");
		/* which of them are daemons, for which it does not wait, is not known */
		for (size_t i = threads.count - 1; i > 0 && named < NAMED; i--) {
			read_stack(python, &threads.list[i - 1], &stack);
			/* what it was started for: the outermost frame not of threading itself */
			for (at = stack.count;
				at > 0 && is_of(&stack.frames[at - 1], "threading.py");)
				at--;
			if (at == 0 || stack.frames[at - 1].code == code)
				continue;
			code = stack.frames[at - 1].code;
			ri_text_add(out, named++ == 0 ? " in " : " or ");
			add_frame(out, &stack.frames[at - 1]);
		}
		return;
	}
	add_held(out, outer, inner);
}

/* Does its main thread handle an exception that leaves the program for certain after that? */
static void look_at_handled(struct ri_python *python, struct ri_python_raised *raised,
	struct ri_course_seen *seen)
{
	static struct ri_python_threads threads;
	static struct ri_python_frame frames[FRAMES];
	struct ri_python_stack stack = { .frames = frames, .room = FRAMES };
	struct ri_python_stack again = { .room = 0 };
	const struct ri_python_thread *main;
	struct ri_text held = ri_text_of(seen->held, sizeof(seen->held));
	size_t handler = 0, called;

	ri_python_threads(python, NULL, &threads);
	if (threads.count == 0)
		return;
	main = &threads.list[threads.count - 1];
	if (ri_python_stack(python, main, &stack) != RI_PYTHON_OK ||
		ri_python_raised(python, main, raised) != RI_PYTHON_OK || raised->exception == 0 ||
		is_order(raised->type) || !ri_python_leaves(python, &stack, raised) ||
		ri_python_stack(python, main, &again) != RI_PYTHON_OK || again.hash != stack.hash)
		return;
	while (stack.frames[handler].address != raised->handler)
		handler++;
	/*
	 * What the handler calls says more than what that ends in: it itself, or behind decorators
	 * (torch/distributed/c10d_logger.py, wrapper).
	 */
	for (called = handler; called > 0 && (called == handler ||
		strcmp(ri_wait_name(stack.frames[called].function), "wrapper") == 0);)
		called--;
	seen->handled = true;
	seen->exception = raised->exception;
	add_held(&held, &stack.frames[handler], &stack.frames[called]);
}

/*
 * A shell in front of a rank may go on after its python has failed, so what is seen there of an
 * exception is told, and proves nothing of the rank.
 */
static void look_at(pid_t rank, struct ri_course_seen *seen)
{
	static struct ri_python_raised raised;
	static struct ri_python python;
	pid_t pid = rank;
	const struct ri_python_memory memory = ri_look_memory(&pid);
	struct ri_text held = ri_text_of(seen->held, sizeof(seen->held));
	bool runs;

	/* it, or the python that a shell in front of it waits for */
	for (int depth = 0; pid != 0 && !is_python(pid); depth++)
		pid = depth < DEEPEST ? find_child(pid) : 0;
	*seen = (struct ri_course_seen){
		.course = RI_COURSE_UNKNOWN, .foreign = pid != rank && maps.count > 0,
	};
	if (pid == 0)
		return;
	if (ri_python_find(&python, &memory, &maps) != RI_PYTHON_OK) {
		seen->over = python.over && pid == rank;
		return;
	}
	if (ri_python_left(&python, &raised) != RI_PYTHON_OK)
		return;
	if (raised.exception != 0 && !is_order(raised.type)) {
		seen->course = RI_COURSE_LEFT;
		seen->exception = raised.exception;
		say_held(&python, &held);
	} else if (raised.exception == 0 &&
		ri_python_runs(&python, &runs) == RI_PYTHON_OK && runs) {
		seen->course = RI_COURSE_RUNNING;
		look_at_handled(&python, &raised, seen);
	}
	if (pid != rank) {
		seen->inner = pid;
		seen->course = RI_COURSE_UNKNOWN;
	}
	if (seen->exception == 0)
		return;
	write_words(&raised, seen);
	seen->by_person = is_held_by_person(pid);
}

/* For a moment only: the helper has a copy. */
struct job {
	const struct ri_children *children;
	const struct ri_launched *others;
	size_t count;
};

/* The process of that index, which is to be looked at; 0: it is not. */
static pid_t find_process(const struct job *job, size_t index)
{
	const struct ri_launched *other;
	struct ri_procstat process;

	if (index < job->children->started)
		return job->children->items[index].doubtful ? job->children->items[index].pid : 0;
	if (index < RI_MAX_LOCAL || index >= RI_MAX_LOCAL + job->count)
		return 0;
	other = &job->others[index - RI_MAX_LOCAL];
	/* its number may be another process's by now */
	return other->is_rank && other->order == 0 && ri_proc_read(other->pid, &process) &&
		process.started == other->born ? other->pid : 0;
}

static void note(size_t index, const struct ri_course_seen *seen)
{
	own.page->of[index].seen = *seen;
	own.page->of[index].round = own.round;
}

static void look(void *context)
{
	static uint64_t exceptions[PROCESSES];
	static struct ri_course_seen seen;
	const struct job *job = context;
	pid_t pid;

	for (size_t i = 0; i < PROCESSES; i++) {
		if ((pid = find_process(job, i)) == 0)
			continue;
		look_at(pid, &seen);
		exceptions[i] = seen.exception;
		if (seen.exception == 0)
			note(i, &seen);
		else
			own.page->looks_again = true;
	}
	if (!own.page->looks_again)
		return;
	nanosleep(&(struct timespec){ .tv_sec = AGAIN_S }, NULL);
	for (size_t i = 0; i < PROCESSES; i++) {
		if (exceptions[i] == 0 || (pid = find_process(job, i)) == 0)
			continue;
		look_at(pid, &seen);
		if (seen.exception != exceptions[i])
			seen = (struct ri_course_seen){ .course = RI_COURSE_UNKNOWN };
		note(i, &seen);
	}
}

void ri_course_ask(struct ri_children *children, const struct ri_launched *others, size_t count)
{
	struct job job = { children, others, count };
	pid_t child = count > 0 && children->living > 0 ? children->items[0].pid : 0;

	/* whose user the helper becomes: that of others is their launcher's */
	for (size_t i = children->started; i-- > 0;)
		if (children->items[i].doubtful)
			child = children->items[i].pid;
	if (child == 0 || own.helper != 0)
		return;
	if (own.page == NULL)
		own.page = ri_pages_shared(sizeof(*own.page));
	if (own.page == NULL)
		return;
	ri_clock_read(CLOCK_REALTIME, &own.begun);
	own.round++;
	own.page->looks_again = false;
	own.helper = ri_helper_start(&(struct ri_helper_task){
		.body = look, .context = &job, .signal = SIGIO, .user = RI_HELPER_OWNER,
		.name = "rankinit-look", .owned = child, .seconds = MOST_S,
	});
}

int64_t ri_course_due(void)
{
	return ri_helper_due(own.helper);
}

bool ri_course_is_asked(void)
{
	return own.helper != 0;
}

bool ri_course_looks_again(void)
{
	return own.helper != 0 && own.page->looks_again;
}

bool ri_course_take(struct ri_children *children)
{
	if (!ri_helper_reap(&own.helper, NULL))
		return false;
	own.answered = own.round;
	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];
		const struct ri_course_seen *seen = ri_course_of(i);

		if (!child->doubtful)
			continue;
		child->doubtful = false;
		child->course_at = own.begun;
		if (seen == NULL)
			continue;
		/* of one that ends meanwhile nothing is read: then it is what it was before */
		if (seen->course != RI_COURSE_UNKNOWN || seen->foreign)
			child->course = seen->course;
		child->handled = seen->handled && seen->inner == 0;
		if (seen->exception == 0 || seen->inner != 0)
			child->raised_at.tv_sec = 0;
		else if (child->raised_at.tv_sec == 0)
			child->raised_at = own.begun;
	}
	return true;
}

const struct ri_course_seen *ri_course_of(size_t index)
{
	struct ri_course_seen *seen;

	if (own.page == NULL || own.page->of[index].round == 0 ||
		own.page->of[index].round < own.answered)
		return NULL;
	seen = &own.page->of[index].seen;
	if ((unsigned)seen->course > RI_COURSE_LEFT)
		seen->course = RI_COURSE_UNKNOWN;
	seen->held[sizeof(seen->held) - 1] = seen->words[sizeof(seen->words) - 1] =
		seen->shown[sizeof(seen->shown) - 1] = '\0';
	return seen;
}

void ri_course_end(void)
{
	ri_helper_leave(&own.helper);
}
