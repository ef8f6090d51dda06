/* SPDX-License-Identifier: Apache-2.0 */
#include "python/python.h"

#include <string.h>

enum {
	PAGE = 4096,		/* the smallest of any machine; larger ones are made of these */
	TOGETHER = 512,		/* bytes of a struct that are read at once */
	LARGEST = 1 << 20,	/* bytes of a bytes object that are looked at */
	BYTES_HEADER = 64,	/* bytes before them; CPython has 32 */
	HEADER = 96,		/* bytes before the characters of a str; CPython has 72 at most */
	UNITS = RI_PYTHON_NAME,	/* characters that are read: each becomes a byte at least */
	WIDEST = 4,		/* bytes of a character */
	/* bits of PyASCIIObject.state (Include/cpython/unicodeobject.h) */
	KIND_SHIFT = 2,
	KIND_MASK = 7,		/* bytes of a character: 1, 2 or 4 */
	COMPACT = 1 << 5,	/* the characters follow the header */
	ASCII = 1 << 6,
	/* what Python makes of a byte 0x80 to 0xff that it cannot decode (PEP 383) */
	ESCAPED_FIRST = 0xdc80,
	ESCAPED_LAST = 0xdcff,
};

bool ri_python_read(struct ri_python *python, uint64_t address, void *out, size_t size)
{
	if (address < PAGE || address > UINT64_MAX - size || python->reads >= RI_PYTHON_READS)
		return false;
	python->reads++;
	return python->memory.read(python->memory.context, address, out, size);
}

size_t ri_python_read_some(
	struct ri_python *python, uint64_t address, void *out, size_t least, size_t size)
{
	size_t left = PAGE - address % PAGE;

	if (size > left)
		size = left > least ? left : least;
	return ri_python_read(python, address, out, size) ? size : 0;
}

bool ri_python_words(
	struct ri_python *python, uint64_t address, struct ri_python_word *words, size_t count)
{
	uint32_t first = UINT32_MAX, last = 0;
	unsigned char bytes[TOGETHER];
	bool together;

	for (size_t i = 0; i < count; i++) {
		words[i].value = 0;
		if (words[i].offset == RI_PYTHON_NO)
			continue;
		first = words[i].offset < first ? words[i].offset : first;
		last = words[i].offset > last ? words[i].offset : last;
	}
	together = first <= last && last - first <= TOGETHER - sizeof(uint64_t);
	if (together &&
		!ri_python_read(python, address + first, bytes, last - first + sizeof(uint64_t)))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (words[i].offset == RI_PYTHON_NO)
			continue;
		if (together)
			memcpy(&words[i].value, bytes + (words[i].offset - first),
				sizeof(words[i].value));
		else if (!ri_python_read(python, address + words[i].offset, &words[i].value,
			sizeof(words[i].value)))
			return false;
	}
	return true;
}

bool ri_python_walk_on(struct ri_python_walk *walk, uint64_t address, size_t most)
{
	if ((walk->steps > 0 && address == walk->mark) || walk->steps >= most)
		return false;
	if (walk->steps++ == walk->turn) {
		walk->mark = address;
		walk->turn = 2 * walk->turn + 1;
	}
	return true;
}

bool ri_python_open(struct ri_python_bytes *stream, struct ri_python *python, uint64_t object)
{
	const struct ri_python_layout *layout = &python->layout;
	uint64_t size;

	*stream = (struct ri_python_bytes){ .python = python };
	if (layout->bytes_data > BYTES_HEADER ||
		layout->bytes_size + sizeof(size) > layout->bytes_data)
		return false;
	stream->used = layout->bytes_data;
	stream->count = ri_python_read_some(
		python, object, stream->piece, layout->bytes_data, RI_PYTHON_PIECE);
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

int ri_python_peek(struct ri_python_bytes *stream)
{
	size_t size = stream->left < RI_PYTHON_PIECE ? stream->left : RI_PYTHON_PIECE;

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

int ri_python_take(struct ri_python_bytes *stream)
{
	int byte = ri_python_peek(stream);

	if (byte >= 0)
		stream->used++;
	return byte;
}

struct text {
	uint64_t characters;	/* their address */
	uint64_t length;	/* of all of them */
	unsigned width;		/* bytes of each */
	const unsigned char *bytes;	/* of those that were read, */
	size_t count;			/* as many */
};

static bool read_header(struct ri_python *python, uint64_t address, struct text *text,
	unsigned char *bytes, size_t *count)
{
	const struct ri_python_layout *layout = &python->layout;
	uint32_t state, begin;

	if (layout->str_ascii > HEADER || layout->str_compact > HEADER ||
		layout->str_state + sizeof(state) > layout->str_ascii ||
		layout->str_length + sizeof(text->length) > layout->str_ascii)
		return false;
	*count = ri_python_read_some(python, address, bytes, layout->str_ascii,
		HEADER + UNITS);
	if (*count == 0)
		return false;
	memcpy(&state, bytes + layout->str_state, sizeof(state));
	memcpy(&text->length, bytes + layout->str_length, sizeof(text->length));
	text->width = state >> KIND_SHIFT & KIND_MASK;
	begin = (state & ASCII) != 0 ? layout->str_ascii : layout->str_compact;
	text->characters = address + begin;
	return (state & COMPACT) != 0 && text->length <= INT32_MAX &&
		(text->width == 1 || text->width == 2 || text->width == 4);
}

static uint32_t character_at(const unsigned char *bytes, unsigned width, size_t index)
{
	uint32_t character = 0;

	/* both machines are little-endian */
	memcpy(&character, bytes + index * width, width);
	return character;
}

/* Into at most four bytes of UTF-8; returns how many. */
static size_t encode(uint32_t character, char *out)
{
	size_t more;

	if (character >= ESCAPED_FIRST && character <= ESCAPED_LAST) {
		out[0] = (char)(character & 0xff);
		return 1;
	}
	if (character == 0 || character > 0x10ffff ||
		(character >= 0xd800 && character <= 0xdfff))
		character = '?';
	more = character < 0x80 ? 0 : character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
	/* the first byte says by its highest bits how many there are: 0xc0, 0xe0 or 0xf0 */
	out[0] = (char)((more == 0 ? 0 : 0xff00 >> (more + 1) & 0xff) | character >> 6 * more);
	for (size_t i = 1; i <= more; i++)
		out[i] = (char)(0x80 | (character >> 6 * (more - i) & 0x3f));
	return more + 1;
}

static size_t bytes_of(const struct text *text, size_t first, size_t end)
{
	char four[4];
	size_t bytes = 0;

	for (size_t i = first; i < end; i++)
		bytes += encode(character_at(text->bytes, text->width, i), four);
	return bytes;
}

static void write_name(const struct text *text, bool end_matters, char name[RI_PYTHON_NAME])
{
	size_t first = 0, end = text->count, length = 0, room = RI_PYTHON_NAME - 1;
	bool cut = text->count < text->length || bytes_of(text, 0, text->count) > room;

	if (cut)
		room -= 3;
	while (cut && bytes_of(text, first, end) > room) {
		if (end_matters)
			first++;
		else
			end--;
	}
	/* a part of a folder's name may be a part of a secret, without the word that says so */
	for (size_t i = first; cut && end_matters && i < end; i++)
		if (character_at(text->bytes, text->width, i) == '/') {
			first = i;
			break;
		}
	if (cut && end_matters)
		length += 3;
	for (size_t i = first; i < end; i++)
		length += encode(character_at(text->bytes, text->width, i), name + length);
	if (cut)
		memcpy(end_matters ? name : name + length, "...", 3);
	name[cut && !end_matters ? length + 3 : length] = '\0';
}

bool ri_python_name(
	struct ri_python *python, uint64_t address, bool end_matters, char name[RI_PYTHON_NAME])
{
	unsigned char head[HEADER + UNITS], characters[UNITS * WIDEST];
	struct text text = { .bytes = characters };
	uint64_t first, before;
	size_t there;

	name[0] = '\0';
	if (!read_header(python, address, &text, head, &there))
		return false;
	text.count = text.length < UNITS ? text.length : UNITS;
	first = end_matters ? text.length - text.count : 0;
	before = text.characters - address + first * text.width;
	if (before + text.count * text.width <= there)
		text.bytes = head + before;
	else if (!ri_python_read(python, address + before, characters, text.count * text.width))
		return false;
	write_name(&text, end_matters, name);
	return true;
}
