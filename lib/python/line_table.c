/* SPDX-License-Identifier: Apache-2.0 */
#include "python/remote.h"

enum {
	NO_LINE = -128,		/* in 3.10, as the difference of lines */
};

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
