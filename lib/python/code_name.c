/* SPDX-License-Identifier: Apache-2.0 */
#include "python/python.h"

#include <string.h>

enum {
	HEADER = 96,		/* bytes before the characters; CPython has 72 at most */
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
