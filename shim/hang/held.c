/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/held.h"

#include <string.h>

#include "base/path.h"
#include "hang/wording.h"

enum {
	FRAMES = 64,
	COLUMNS = 60,		/* of a file, and of a function */
	NAMED = 2,		/* threads */
};

static bool is_of(const struct ri_python_frame *frame, const char *file)
{
	return strcmp(ri_path_name(frame->file), file) == 0;
}

/* "work (train.py:5)" */
static void add_frame(struct ri_text *out, const struct ri_python_frame *frame)
{
	ri_text_add_shown(out, frame->function, COLUMNS);
	ri_text_add(out, " (");
	ri_text_add_shown(out, ri_hang_short_file(frame->file), COLUMNS);
	if (frame->line > 0)
		ri_text_addf(out, ":%u", frame->line);
	ri_text_add(out, ")");
}

static void read_stack(struct ri_python *python, const struct ri_python_thread *thread,
	struct ri_python_stack *stack)
{
	static struct ri_python_frame frames[FRAMES];

	*stack = (struct ri_python_stack){ .frames = frames, .room = FRAMES };
	ri_python_stack(python, thread, stack);
}

/* What a thread was started for: the outermost frame that is not of threading itself. */
static const struct ri_python_frame *find_work(const struct ri_python_stack *stack)
{
	for (size_t i = stack->count; i > 0; i--)
		if (!is_of(&stack->frames[i - 1], "threading.py"))
			return &stack->frames[i - 1];
	return NULL;
}

/* Which of them are daemons, for which it does not wait, is not known. */
static void add_threads(struct ri_python *python, const struct ri_python_threads *threads,
	struct ri_text *out)
{
	const struct ri_python_frame *frame;
	struct ri_python_stack stack;
	uint64_t code = 0;
	size_t named = 0;

	ri_text_add(out, threads->count == 2 ? " for a thread" : " for one of its threads");
	for (size_t i = threads->count - 1; i > 0 && named < NAMED; i--) {
		read_stack(python, &threads->list[i - 1], &stack);
		frame = find_work(&stack);
		if (frame == NULL || frame->code == code)
			continue;
		code = frame->code;
		ri_text_add(out, named++ == 0 ? " in " : " or ");
		add_frame(out, frame);
	}
}

void ri_held_add(struct ri_text *out, const struct ri_python_frame *outer,
	const struct ri_python_frame *inner)
{
	ri_text_add(out, "it is in ");
	add_frame(out, outer);
	if (outer->code == inner->code && outer->line == inner->line)
		return;
	ri_text_add(out, ", and there in ");
	add_frame(out, inner);
}

void ri_held_say(struct ri_python *python, struct ri_text *out)
{
	static struct ri_python_threads threads;
	const struct ri_python_frame *outer, *inner;
	struct ri_python_stack stack;

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
		add_threads(python, &threads, out);
		return;
	}
	ri_held_add(out, outer, inner);
}
