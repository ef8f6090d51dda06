/* SPDX-License-Identifier: Apache-2.0 */
#include "python/remote.h"

#include <string.h>

enum {
	PIECE = 256,		/* bytes of a table that are read at once, its header included */
	LARGEST = 1 << 20,	/* bytes of a table that are looked at */
	HEADER = 64,		/* bytes before those of a bytes object; CPython has 32 */
	NO_LINE = -128,		/* in 3.10, as the difference of lines */
};

/* Bytes of the other process, one after the other. */
struct stream {
	struct ri_python *python;
	uint64_t address;	/* of the next piece */
	uint64_t left;		/* bytes after those of the piece */
	size_t used, count;
	unsigned char piece[PIECE];
};

/* Its bytes begin after its header, which says how many there are. */
static bool open_bytes(struct stream *stream, struct ri_python *python, uint64_t object)
{
	const struct ri_python_layout *layout = &python->layout;
	uint64_t size;

	*stream = (struct stream){ .python = python };
	if (layout->bytes_data > HEADER ||
		layout->bytes_size + sizeof(size) > layout->bytes_data)
		return false;
	stream->used = layout->bytes_data;
	stream->count = ri_python_read_some(
		python, object, stream->piece, layout->bytes_data, PIECE);
	if (stream->count == 0)
		return false;
	memcpy(&size, stream->piece + layout->bytes_size, sizeof(size));
	if (size > LARGEST)
		size = LARGEST;
	if (stream->count - stream->used > size)
		stream->count = stream->used + size;
	stream->left = size - (stream->count - stream->used);
	stream->address = object + stream->count;
	return true;
}

/* The next byte, which stays the next one; -1: there is none. */
static int peek(struct stream *stream)
{
	size_t size = stream->left < PIECE ? stream->left : PIECE;

	if (stream->used < stream->count)
		return stream->piece[stream->used];
	if (size == 0)
		return -1;
	stream->used = 0;
	stream->count = ri_python_read_some(
		stream->python, stream->address, stream->piece, 1, size);
	stream->address += stream->count;
	stream->left = stream->count == 0 ? 0 : stream->left - stream->count;
	return stream->count == 0 ? -1 : stream->piece[0];
}

static int take(struct stream *stream)
{
	int byte = peek(stream);

	if (byte >= 0)
		stream->used++;
	return byte;
}

/* How far the instruction's own entry is: where the next one begins, and its line. */
struct place {
	int64_t end;
	int64_t line;
	bool none;		/* the entry belongs to no line */
};

/* 3.9: the line changes by so much after so many bytes. */
static bool take_lnotab(struct stream *stream, int64_t instruction, struct place *place)
{
	int bytes, lines;

	while ((bytes = take(stream)) >= 0 && (lines = take(stream)) >= 0) {
		place->end += bytes;
		if (place->end > instruction)
			return true;
		place->line += (signed char)lines;
	}
	return true;
}

/* 3.10: so many bytes belong to a line that differs by so much from the last. */
static bool take_pairs(struct stream *stream, int64_t instruction, struct place *place)
{
	int bytes, lines;

	while ((bytes = take(stream)) >= 0 && (lines = take(stream)) >= 0) {
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
static int64_t take_signed(struct stream *stream)
{
	uint64_t value = 0;
	int byte = 0x40;

	for (unsigned shift = 0; shift < 36 && (byte & 0x40) != 0; shift += 6) {
		byte = take(stream);
		if (byte < 0)
			return 0;
		value |= (uint64_t)(byte & 0x3f) << shift;
	}
	return (value & 1) != 0 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* From 3.11 on: 0x80, four bits for the form of the entry, and units of two bytes less one. */
static bool take_entries(struct stream *stream, int64_t instruction, struct place *place)
{
	int head;

	while ((head = take(stream)) >= 0) {
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
		while (peek(stream) >= 0 && (peek(stream) & 0x80) == 0)
			take(stream);
	}
	return false;
}

bool ri_python_line(struct ri_python *python, uint64_t table, uint32_t first_line,
	int64_t instruction, uint32_t *line)
{
	struct place place = { .line = (int32_t)first_line };
	struct stream stream;
	bool found;

	*line = first_line;
	if (instruction < 0)
		return true;
	*line = 0;
	if (!open_bytes(&stream, python, table))
		return false;
	found = python->minor <= 9 ? take_lnotab(&stream, instruction, &place) :
		python->minor == 10 ? take_pairs(&stream, instruction, &place) :
		take_entries(&stream, instruction, &place);
	if (found && !place.none && place.line > 0 && place.line <= INT32_MAX)
		*line = (uint32_t)place.line;
	return found;
}
