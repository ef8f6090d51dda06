/* SPDX-License-Identifier: Apache-2.0 */
#include "python/remote.h"

#include <string.h>

enum {
	PAGE = 4096,		/* the smallest of any machine; larger ones are made of these */
	TOGETHER = 512,		/* bytes of a struct that are read at once */
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

static bool read_each(
	struct ri_python *python, uint64_t address, struct ri_python_word *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (words[i].offset != RI_PYTHON_NO &&
			!ri_python_read(python, address + words[i].offset, &words[i].value,
				sizeof(words[i].value)))
			return false;
	return true;
}

bool ri_python_words(
	struct ri_python *python, uint64_t address, struct ri_python_word *words, size_t count)
{
	uint32_t first = UINT32_MAX, last = 0;
	unsigned char bytes[TOGETHER];

	for (size_t i = 0; i < count; i++) {
		words[i].value = 0;
		if (words[i].offset == RI_PYTHON_NO)
			continue;
		first = words[i].offset < first ? words[i].offset : first;
		last = words[i].offset > last ? words[i].offset : last;
	}
	if (first > last || last - first > TOGETHER - sizeof(uint64_t))
		return read_each(python, address, words, count);
	if (!ri_python_read(python, address + first, bytes, last - first + sizeof(uint64_t)))
		return false;
	for (size_t i = 0; i < count; i++)
		if (words[i].offset != RI_PYTHON_NO)
			memcpy(&words[i].value, bytes + (words[i].offset - first),
				sizeof(words[i].value));
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
