/* SPDX-License-Identifier: Apache-2.0 */
#include "python/remote.h"

#include <string.h>

enum {
	LARGEST = 1 << 20,	/* bytes of one that are looked at */
	HEADER = 64,		/* bytes before them; CPython has 32 */
};

bool ri_python_open(struct ri_python_bytes *stream, struct ri_python *python, uint64_t object)
{
	const struct ri_python_layout *layout = &python->layout;
	uint64_t size;

	*stream = (struct ri_python_bytes){ .python = python };
	if (layout->bytes_data > HEADER ||
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
