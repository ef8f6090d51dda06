/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "python/remote.h"
#include "python/python.h"

enum {
	LARGEST_CODE = 1 << 28,	/* bytes of one function, past which a pointer is torn */
};

bool ri_python_place(struct ri_python *python, uint64_t address, struct ri_python_place *out)
{
	const struct ri_python_layout *layout = &python->layout;
	struct ri_python_word words[] = { { .offset = layout->frame_previous },
		{ .offset = layout->frame_code }, { .offset = layout->frame_instruction },
		{ .offset = layout->frame_owner }, { .offset = layout->frame_entry } };

	if (!ri_python_words(python, address, words, 5))
		return false;
	*out = (struct ri_python_place){ .address = address, .previous = words[0].value,
		.code = words[1].value & ~(uint64_t)layout->code_tag,
		.owner = words[3].value & 0xff, .entered = (words[4].value & 0xff) != 0 };
	out->inner = layout->owner_inner != RI_PYTHON_NO && out->owner >= layout->owner_inner;
	if (layout->code_first == RI_PYTHON_NO) {
		out->instruction = (int32_t)words[2].value;
		/* 3.10 counts units of two bytes (gh-71376), 3.9 bytes */
		if (python->minor == 10 && out->instruction > 0)
			out->instruction *= 2;
	} else {
		out->instruction =
			(int64_t)(words[2].value - out->code - layout->code_first);
	}
	return out->inner ||
		(out->instruction >= -8 && out->instruction <= LARGEST_CODE);
}

bool ri_python_describe(struct ri_python *python, uint64_t code, int64_t instruction,
	struct ri_python_frame *out)
{
	const struct ri_python_layout *layout = &python->layout;
	struct ri_python_word words[] = { { .offset = layout->code_file },
		{ .offset = layout->code_name }, { .offset = layout->code_table },
		{ .offset = layout->code_line } };
	bool good;

	*out = (struct ri_python_frame){ .code = code,
		.instruction = instruction < 0 ? 0 : (uint32_t)instruction };
	if (!ri_python_words(python, code, words, 4))
		return false;
	good = ri_python_name(python, words[0].value, true, out->file);
	good = ri_python_name(python, words[1].value, false, out->function) && good;
	return ri_python_line(python, words[2].value, (uint32_t)words[3].value,
		instruction, &out->line) && good;
}

/* FNV-1a */
static void add_to_hash(uint64_t *hash, uint64_t value)
{
	for (int byte = 0; byte < 8; byte++)
		*hash = (*hash ^ (value >> 8 * byte & 0xff)) * 0x100000001b3;
}

enum ri_python_answer ri_python_stack(struct ri_python *python,
	const struct ri_python_thread *thread, struct ri_python_stack *stack)
{
	const struct ri_python_layout *layout = &python->layout;
	enum ri_python_answer answer = RI_PYTHON_OK;
	struct ri_python_walk walk = { .steps = 0 };
	struct ri_python_place frame;
	struct ri_python_frame *out;
	uint64_t address;

	stack->count = stack->depth = 0;
	stack->outermost = 0;
	stack->interpreter = thread->interpreter;
	stack->hash = 0xcbf29ce484222325;
	stack->cut = false;
	/* the innermost frame; 0: the thread runs no Python */
	if (!ri_python_read(python, thread->state + layout->thread_frame, &address,
		    sizeof(address)) ||
		(layout->cframe_frame != RI_PYTHON_NO && address != 0 &&
			!ri_python_read(python, address + layout->cframe_frame, &address,
				sizeof(address))))
		return RI_PYTHON_CHANGED;
	while (address != 0) {
		stack->cut = walk.steps == RI_PYTHON_WALK;
		if (stack->cut)
			return answer;
		if (!ri_python_walk_on(&walk, address, RI_PYTHON_WALK) ||
			!ri_python_place(python, address, &frame))
			return RI_PYTHON_CHANGED;
		address = frame.previous;
		if (frame.inner && stack->count > 0 && stack->count == stack->depth)
			stack->frames[stack->count - 1].entered = true;
		if (frame.inner)
			continue;
		stack->depth++;
		stack->outermost = frame.code;
		add_to_hash(&stack->hash, frame.code);
		add_to_hash(&stack->hash, (uint64_t)frame.instruction);
		if (stack->count == stack->room)
			continue;
		out = &stack->frames[stack->count++];
		if (!ri_python_describe(python, frame.code, frame.instruction, out))
			answer = RI_PYTHON_CHANGED;
		out->address = frame.address;
		out->entered = frame.entered;
	}
	return answer;
}
