/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/in_hand.h"

#include <string.h>

#include "hang/held.h"
#include "hang/judge.h"

enum {
	FRAMES = 128,		/* of a deeper stack it is not known whether one catches it */
	COLUMNS = 200,		/* of a file, a function, and a message */
};

/* What asks a program or a generator to end (Lib's "Built-in Exceptions", "Base classes"). */
static bool is_order(const char *type)
{
	static const char *const names[] = { "SystemExit", "KeyboardInterrupt", "GeneratorExit" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(type, names[i]) == 0)
			return true;
	return false;
}

/* A child may upload a checkpoint, and a person may look at what there is. */
static bool may_take_time(const struct ri_python_stack *stack, size_t handler)
{
	for (size_t i = 0; i < handler; i++) {
		const struct ri_python_frame *frame = &stack->frames[i];
		const struct ri_wait_row *row = ri_wait_find(frame->file, frame->function, i);

		if (row != NULL && (row->kind == RI_WAIT_CHILD || row->kind == RI_WAIT_DEBUGGER))
			return true;
	}
	return false;
}

/* Python ignores what leaves a destructor (Objects/typeobject.c, slot_tp_finalize). */
static bool is_ignored(const struct ri_python_stack *stack, size_t handler)
{
	for (size_t i = handler; i < stack->count; i++)
		if (strcmp(ri_wait_name(stack->frames[i].function), "__del__") == 0)
			return true;
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

uint64_t ri_in_hand_read(struct ri_python *python, const struct ri_python_thread *thread,
	uint64_t hash, struct ri_text *words, struct ri_text *held)
{
	static struct ri_python_frame frames[FRAMES];
	static struct ri_python_raised raised;
	struct ri_python_stack stack = { .frames = frames, .room = FRAMES };
	size_t handler = 0;

	if (ri_python_raised(python, thread, &raised) != RI_PYTHON_OK || raised.exception == 0 ||
		is_order(raised.type) ||
		ri_python_stack(python, thread, &stack) != RI_PYTHON_OK || stack.hash != hash ||
		!ri_python_leaves(python, &stack, &raised))
		return 0;
	while (stack.frames[handler].address != raised.handler)
		handler++;
	if (may_take_time(&stack, handler) || is_ignored(&stack, handler))
		return 0;
	write_words(&raised, words);
	ri_held_add(held, &stack.frames[handler], &stack.frames[find_called(&stack, handler)]);
	return raised.exception;
}
