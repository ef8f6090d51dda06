/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exception table of a code object (CPython InternalDocs/exception_handling.md; from 3.11 on):
 * for each range of instructions where an exception from there goes on. A finally, and an except
 * that ends in raise, has one more range: all of it, up to the instruction that hands the exception
 * on, and the range's own target stands right behind that. A way out of it without the exception
 * has to take it off the stack, and that instruction (POP_EXCEPT) belongs to no range of it.
 */
#include "python/python.h"

enum {
	RANGES = 512,		/* of one function; the largest of the standard library has 160 */
	GAP = 16,		/* bytes between ranges that may do nothing */
	STEPS = 64,		/* from handler to handler within one function */
	BEGINS = 0x80,		/* of a byte: an entry begins with it */
	CONTINUES = 0x40,	/* six more bits follow */
};

/* Bytes from the first instruction on. */
struct range {
	uint32_t begin, end, target, depth;
};

struct table {
	struct ri_python *python;
	uint64_t code;
	struct range ranges[RANGES];	/* by their beginnings */
	size_t count;
};

/* The most significant bits come first. */
static bool take_number(struct ri_python_bytes *stream, uint32_t *number)
{
	int byte = CONTINUES;

	*number = 0;
	while ((byte & CONTINUES) != 0) {
		byte = ri_python_take(stream);
		if (byte < 0 || *number > UINT32_MAX >> 8)
			return false;
		*number = *number << 6 | (uint32_t)(byte & (CONTINUES - 1));
	}
	return true;
}

static bool read_table(struct ri_python *python, uint64_t code, struct table *table)
{
	struct ri_python_bytes stream;
	uint32_t size, depth;
	uint64_t object;
	int byte;

	table->python = python;
	table->code = code;
	table->count = 0;
	if (python->layout.code_handlers == RI_PYTHON_NO ||
		!ri_python_read(python, code + python->layout.code_handlers, &object,
			sizeof(object)) || !ri_python_open(&stream, python, object))
		return false;
	while ((byte = ri_python_peek(&stream)) >= 0) {
		struct range *range = &table->ranges[table->count++];

		if ((byte & BEGINS) == 0 || table->count == RANGES ||
			!take_number(&stream, &range->begin) || !take_number(&stream, &size) ||
			!take_number(&stream, &range->target) || !take_number(&stream, &depth))
			return false;
		/* the lowest bit says what else is put on the stack */
		range->depth = depth >> 1;
		range->end = 2 * (range->begin + size);
		range->begin *= 2;
		range->target *= 2;
	}
	return true;
}

static bool read_code(const struct table *table, uint32_t at, unsigned char *out, size_t size)
{
	return ri_python_read(table->python, table->code + table->python->layout.code_first + at,
		out, size);
}

/* What begins a try belongs to no range. */
static bool does_nothing(const struct table *table, uint32_t begin, uint32_t end)
{
	unsigned char code[GAP];

	if (end - begin > GAP || !read_code(table, begin, code, end - begin))
		return false;
	for (uint32_t i = 0; i < end - begin; i += 2)
		if (code[i] != table->python->layout.does_nothing)
			return false;
	return true;
}

/*
 * Do the ranges with the target of the last one, and those within them, leave no gap from the first
 * one to the target? Then *begin is where the first begins. In 3.11 the way out of a with stands
 * behind its target, in one more range.
 */
static bool is_closed(const struct table *table, const struct range *last, uint32_t *begin)
{
	uint32_t end = 0;

	*begin = 0;
	for (const struct range *range = last + 1; range < table->ranges + table->count; range++)
		if (range->target == last->target)
			return false;
	for (const struct range *range = table->ranges; range <= last; range++) {
		if (end == 0 && range->target != last->target)
			continue;
		if (end == 0)
			*begin = end = range->begin;
		if (range->depth < last->depth ||
			(range->begin > end && !does_nothing(table, end, range->begin)))
			return false;
		end = range->end > end ? range->end : end;
	}
	return end == last->target;
}

/*
 * The handler from whose instruction the exception that it handles can only be handed on: its end,
 * *target, and, where begin is not NULL, only one that begins there.
 */
static bool find_closed(const struct table *table, uint32_t instruction, const uint32_t *begin,
	uint32_t *target)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct range *last = &table->ranges[i];
		uint32_t first;

		if (last->end != last->target || last->end <= instruction ||
			!is_closed(table, last, &first) || first > instruction ||
			(begin != NULL && first != *begin))
			continue;
		*target = last->target;
		return true;
	}
	return false;
}

bool ri_python_leaves_frame(
	struct ri_python *python, const struct ri_python_frame *frame, bool handles)
{
	static struct table table;
	uint32_t instruction = frame->instruction;

	if (!read_table(python, frame->code, &table) ||
		(handles && !find_closed(&table, instruction, NULL, &instruction)))
		return false;
	for (int step = 0; step < STEPS; step++) {
		const struct range *range = table.ranges, *end = table.ranges + table.count;
		unsigned char begins;

		while (range < end && (range->begin > instruction || range->end <= instruction))
			range++;
		if (range == end)
			return true;
		if (!read_code(&table, range->target, &begins, 1))
			return false;
		/* else it takes the old exception off the stack, and raises the new one again */
		instruction = range->target;
		if (begins == python->layout.handler_begins &&
			!find_closed(&table, range->target, &range->target, &instruction))
			return false;
	}
	return false;
}
