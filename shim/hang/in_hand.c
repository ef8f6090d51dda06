/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/in_hand.h"

#include <string.h>

#include "base/procstat.h"
#include "hang/facts.h"
#include "hang/held.h"
#include "hang/judge.h"
#include "hang/look.h"

enum {
	/* a child may upload a checkpoint, and a person may look at what there is */
	TAKES_TIME = 1 << RI_WAIT_CHILD | 1 << RI_WAIT_DEBUGGER,
	FOR_PEERS = 1 << RI_WAIT_COLLECTIVE | 1 << RI_WAIT_BACKWARD | 1 << RI_WAIT_PEERS,
	FRAMES = 128,		/* of a deeper stack it is not known whether one catches it */
	COLUMNS = 200,		/* of a file, a function, and a message */
};

static char text[RI_AUTOPSY_FILE + 1];	/* of whatever file of /proc is read just now */

/* What asks a program or a generator to end (Lib's "Built-in Exceptions", "Base classes"). */
static bool is_order(const char *type)
{
	static const char *const names[] = { "SystemExit", "KeyboardInterrupt", "GeneratorExit" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(type, names[i]) == 0)
			return true;
	return false;
}

/* Is what the handler calls, or that in turn, a wait of these kinds? */
static bool waits(const struct ri_python_stack *stack, size_t handler, unsigned kinds)
{
	for (size_t i = 0; i < handler; i++) {
		const struct ri_python_frame *frame = &stack->frames[i];
		const struct ri_wait_row *row = ri_wait_find(frame->file, frame->function, i);

		if (row != NULL && (kinds & 1u << row->kind) != 0)
			return true;
	}
	return false;
}

/* Does the main thread wait in a call for a file, a pipe or a socket? */
static bool waits_for_file(pid_t pid)
{
	const struct ri_call_row *row;
	struct ri_call call;

	if (ri_autopsy_read(text, "/proc/%d/syscall", (int)pid) <= 0 ||
		!ri_call_read(text, &call))
		return false;
	row = ri_call_row(&call);
	return row != NULL && (row->kind == RI_CALL_FILE ||
		(row->kind == RI_CALL_EVENT && !ri_call_sleeps(&call)));
}

/* Does any of its threads wait for a disk or a file server ('D'), or is it stopped? */
static bool is_held_up(pid_t pid)
{
	static int32_t tasks[RI_AUTOPSY_TASKS];
	size_t count = ri_autopsy_list_tasks(pid, tasks);
	struct ri_procstat thread;

	for (size_t i = 0; i < count; i++)
		if (ri_autopsy_read(text, "/proc/%d/task/%d/stat", (int)pid, (int)tasks[i]) > 0 &&
			ri_procstat_read(text, &thread) && strchr("DTt", thread.state) != NULL)
			return true;
	return false;
}

/* Linux Documentation/filesystems/proc.rst, 3.3 */
static uint64_t count_bytes(pid_t pid)
{
	uint64_t in, out;

	return ri_autopsy_read(text, "/proc/%d/io", (int)pid) > 0 &&
		ri_hang_read_field(text, "rchar", &in) &&
		ri_hang_read_field(text, "wchar", &out) ? in + out : 0;
}

/*
 * Does it leave a function whose exceptions Python's own C code takes? Those of a destructor
 * (Objects/typeobject.c, slot_tp_finalize), the end of an iterator (Objects/iterobject.c,
 * iter_iternext), an attribute or a length that is not there (Objects/object.c,
 * PyObject_GetOptionalAttr; Objects/abstract.c, PyObject_LengthHint).
 */
static bool is_taken(const struct ri_python_stack *stack, size_t handler, const char *type)
{
	static const struct {
		const char *function, *type;	/* NULL: any, as subclasses are taken, too */
	} rows[] = {
		{ "__del__", NULL }, { "__next__", "StopIteration" },
		{ "__getitem__", "StopIteration" }, { "__getitem__", "IndexError" },
		{ "__getattr__", NULL }, { "__getattribute__", NULL }, { "__get__", NULL },
		{ "__len__", NULL }, { "__length_hint__", NULL },
	};

	for (size_t i = handler; i < stack->count; i++) {
		const char *name = ri_wait_name(stack->frames[i].function);

		for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
			if (strcmp(name, rows[k].function) == 0 && (rows[k].type == NULL ||
				strcmp(type, rows[k].type) == 0))
				return true;
	}
	return false;
}

/*
 * What the handler calls, which says more than what that ends in: it itself, or behind decorators
 * (torch/distributed/c10d_logger.py, wrapper).
 */
static size_t find_called(const struct ri_python_stack *stack, size_t handler)
{
	size_t called = handler;

	while (called > 0 && (called == handler ||
		strcmp(ri_wait_name(stack->frames[called].function), "wrapper") == 0))
		called--;
	return called;
}

/* Of a message the first line. */
static void write_words(const struct ri_python_raised *raised, struct ri_text *words)
{
	char message[RI_PYTHON_NAME];

	ri_text_copy(message, sizeof(message), raised->message);
	message[strcspn(message, "\n")] = '\0';
	ri_text_add(words, "Traceback (most recent call last):\n  File \"");
	ri_text_add_shown(words, raised->at.file, COLUMNS);
	ri_text_addf(words, "\", line %u, in ", raised->at.line);
	ri_text_add_shown(words, raised->at.function, COLUMNS);
	ri_text_add(words, "\n");
	ri_text_add_shown(words, raised->type, COLUMNS);
	ri_text_add(words, message[0] == '\0' ? "" : ": ");
	ri_text_add_shown(words, message, RI_PYTHON_NAME);
	ri_text_add(words, "\n");
}

struct ri_in_hand ri_in_hand_read(pid_t pid, struct ri_python *python,
	const struct ri_python_thread *thread, uint64_t hash, struct ri_text *words,
	struct ri_text *held)
{
	static struct ri_python_frame frames[FRAMES];
	static struct ri_python_raised raised;
	struct ri_python_stack stack = { .frames = frames, .room = FRAMES };
	struct ri_in_hand out = { .exception = 0 };
	size_t handler = 0;

	if (ri_python_raised(python, thread, &raised) != RI_PYTHON_OK || raised.exception == 0 ||
		is_order(raised.type) ||
		ri_python_stack(python, thread, &stack) != RI_PYTHON_OK || stack.hash != hash ||
		!ri_python_leaves(python, &stack, &raised))
		return out;
	while (stack.frames[handler].address != raised.handler)
		handler++;
	if (is_taken(&stack, handler, raised.type))
		return out;
	out.exception = raised.exception;
	out.for_peers = waits(&stack, handler, FOR_PEERS);
	out.works = waits(&stack, handler, TAKES_TIME) || is_held_up(pid) ||
		(!out.for_peers && waits_for_file(pid));
	out.bytes = count_bytes(pid);
	write_words(&raised, words);
	ri_held_add(held, &stack.frames[handler], &stack.frames[find_called(&stack, handler)]);
	return out;
}
