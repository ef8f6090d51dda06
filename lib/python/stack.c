/* SPDX-License-Identifier: Apache-2.0 */
#include "python/python.h"

#include "base/limits.h"

enum {
	LARGEST_CODE = 1 << 28,	/* bytes of one function, past which a pointer is torn */
	NO_LINE = -128,		/* in 3.10, as the difference of lines */
};

/*
 * Where the C library keeps the kernel's id of a thread, from pthread_self() on: glibc's struct
 * pthread (nptl/descr.h) after a header of 704 bytes on x86-64, of 192 on aarch64, and a list;
 * musl's (src/internal/pthread_impl.h) after its pointers. Neither is promised, so it counts
 * only if it is a thread of the process.
 */
static const uint32_t tid_places[] = { 720, 208, 48, 32 };

static int32_t find_tid(
	struct ri_python *python, uint64_t pthread, const struct ri_python_tasks *tasks)
{
	int32_t tid;

	for (size_t i = 0; i < RI_ARRAY_SIZE(tid_places); i++) {
		if (!ri_python_read(python, pthread + tid_places[i], &tid, sizeof(tid)))
			continue;
		for (size_t task = 0; task < tasks->count; task++)
			if (tid == tasks->ids[task])
				return tid;
	}
	return 0;
}

static enum ri_python_answer walk_threads(struct ri_python *python, uint64_t interpreter,
	uint64_t state, struct ri_python_threads *out)
{
	const struct ri_python_layout *layout = &python->layout;
	struct ri_python_walk walk = { .steps = 0 };

	while (state != 0) {
		struct ri_python_word words[] = { { .offset = layout->thread_next },
			{ .offset = layout->thread_pthread }, { .offset = layout->thread_tid } };

		if (out->all >= RI_PYTHON_CROWD ||
			!ri_python_walk_on(&walk, state, RI_PYTHON_CROWD) ||
			!ri_python_words(python, state, words, 3))
			return RI_PYTHON_CHANGED;
		/* where there is no room any more, the last one is replaced: the oldest stays */
		out->all++;
		out->count += out->count < RI_PYTHON_THREADS;
		out->list[out->count - 1] = (struct ri_python_thread){ .state = state,
			.interpreter = interpreter, .pthread = words[1].value,
			.tid = words[2].value > INT32_MAX ? 0 : (int32_t)words[2].value };
		state = words[0].value;
	}
	return RI_PYTHON_OK;
}

enum ri_python_answer ri_python_threads(struct ri_python *python,
	const struct ri_python_tasks *tasks, struct ri_python_threads *out)
{
	const struct ri_python_layout *layout = &python->layout;
	enum ri_python_answer answer = RI_PYTHON_OK;
	struct ri_python_walk walk = { .steps = 0 };
	uint64_t interpreter;

	python->reads = 0;
	out->count = out->all = 0;
	if (!ri_python_read(python, python->runtime + layout->interpreters, &interpreter,
		sizeof(interpreter)))
		return RI_PYTHON_CHANGED;
	while (interpreter != 0 && answer == RI_PYTHON_OK) {
		struct ri_python_word words[] = { { .offset = layout->interpreter_next },
			{ .offset = layout->threads } };

		if (!ri_python_walk_on(&walk, interpreter, RI_PYTHON_INTERPRETERS) ||
			!ri_python_words(python, interpreter, words, 2))
			answer = RI_PYTHON_CHANGED;
		else
			answer = walk_threads(python, interpreter, words[1].value, out);
		interpreter = words[0].value;
	}
	for (size_t i = 0; layout->thread_tid == RI_PYTHON_NO && tasks != NULL && i < out->count;
		i++)
		if (out->list[i].pthread != 0)
			out->list[i].tid = find_tid(python, out->list[i].pthread, tasks);
	return answer;
}

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

/* How far the instruction's own entry is: where the next one begins, and its line. */
struct place {
	int64_t end;
	int64_t line;
	bool none;		/* the entry belongs to no line */
};

/* 3.9: the line changes by so much after so many bytes. */
static bool take_lnotab(struct ri_python_bytes *stream, int64_t instruction, struct place *place)
{
	int bytes, lines;

	while ((bytes = ri_python_take(stream)) >= 0 && (lines = ri_python_take(stream)) >= 0) {
		place->end += bytes;
		if (place->end > instruction)
			return true;
		place->line += (signed char)lines;
	}
	return true;
}

/* 3.10: so many bytes belong to a line that differs by so much from the last. */
static bool take_pairs(struct ri_python_bytes *stream, int64_t instruction, struct place *place)
{
	int bytes, lines;

	while ((bytes = ri_python_take(stream)) >= 0 && (lines = ri_python_take(stream)) >= 0) {
		place->end += bytes;
		place->none = (signed char)lines == NO_LINE;
		if (!place->none)
			place->line += (signed char)lines;
		if (place->end > instruction)
			return true;
	}
	return false;
}

/* Six bits a byte, the least first; 0x40: more follow. The lowest bit of all is the sign. */
static int64_t take_signed(struct ri_python_bytes *stream)
{
	uint64_t value = 0;
	int byte = 0x40;

	for (unsigned shift = 0; shift < 36 && (byte & 0x40) != 0; shift += 6) {
		byte = ri_python_take(stream);
		if (byte < 0)
			return 0;
		value |= (uint64_t)(byte & 0x3f) << shift;
	}
	return (value & 1) != 0 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* From 3.11 on: 0x80, four bits for the form of the entry, and units of two bytes less one. */
static bool take_entries(struct ri_python_bytes *stream, int64_t instruction, struct place *place)
{
	int head;

	while ((head = ri_python_take(stream)) >= 0) {
		int form = head >> 3 & 0xf;

		place->none = form == 15;
		if (form >= 10 && form <= 12)
			place->line += form - 10;
		else if (form == 13 || form == 14)
			place->line += take_signed(stream);
		place->end += ((head & 7) + 1) * 2;
		if (place->end > instruction)
			return true;
		/* columns, which no other entry begins with */
		while (ri_python_peek(stream) >= 0 && (ri_python_peek(stream) & 0x80) == 0)
			ri_python_take(stream);
	}
	return false;
}

bool ri_python_line(struct ri_python *python, uint64_t table, uint32_t first_line,
	int64_t instruction, uint32_t *line)
{
	struct place place = { .line = (int32_t)first_line };
	struct ri_python_bytes stream;
	bool found;

	*line = first_line;
	if (instruction < 0)
		return true;
	*line = 0;
	if (!ri_python_open(&stream, python, table))
		return false;
	found = python->minor <= 9 ? take_lnotab(&stream, instruction, &place) :
		python->minor == 10 ? take_pairs(&stream, instruction, &place) :
		take_entries(&stream, instruction, &place);
	if (found && !place.none && place.line > 0 && place.line <= INT32_MAX)
		*line = (uint32_t)place.line;
	return found;
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
		!ri_python_read(python, address + layout->cframe_frame, &address, sizeof(address))))
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
