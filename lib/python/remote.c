/* SPDX-License-Identifier: Apache-2.0 */
#include "python/python.h"

#include <string.h>

enum {
	PAGE = 4096,		/* the smallest of any machine; larger ones are made of these */
	TOGETHER = 512,		/* bytes of a struct that are read at once */
	LARGEST = 1 << 20,	/* bytes of a bytes object that are looked at */
	BYTES_HEADER = 64,	/* bytes before them; CPython has 32 */
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

bool ri_python_word(struct ri_python *python, uint64_t address, uint32_t offset, uint64_t *value)
{
	struct ri_python_word word = { .offset = offset };

	if (!ri_python_words(python, address, &word, 1))
		return false;
	*value = word.value;
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
