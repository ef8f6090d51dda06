/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 16, CHUNK = 262144 };

struct ri_arena_chunk {
	struct ri_arena_chunk *next;
	size_t size;	/* of the mapping, this header included */
};

static size_t round_up(size_t size, size_t unit)
{
	return (size + unit - 1) / unit * unit;
}

static void *from_new_chunk(struct ri_arena *arena, size_t size)
{
	size_t header = round_up(sizeof(struct ri_arena_chunk), ALIGN);
	struct ri_arena_chunk *chunk;
	size_t mapped;

	if (size > SIZE_MAX / 2)
		return NULL;
	mapped = round_up(header + size, CHUNK);
	chunk = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (chunk == MAP_FAILED)
		return NULL;
	*chunk = (struct ri_arena_chunk){ .next = arena->chunks, .size = mapped };
	arena->chunks = chunk;
	arena->used = header + round_up(size, ALIGN);
	return (unsigned char *)chunk + header;
}

void *ri_arena_alloc(struct ri_arena *arena, size_t size)
{
	unsigned char *base = arena->chunks ? (unsigned char *)arena->chunks : arena->first;
	size_t room = (arena->chunks ? arena->chunks->size : sizeof(arena->first)) - arena->used;
	void *result = base + arena->used;

	if (size > room)
		return from_new_chunk(arena, size);
	arena->used += round_up(size, ALIGN);
	return result;
}

void *ri_arena_array(struct ri_arena *arena, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	return ri_arena_alloc(arena, bytes);
}

char *ri_arena_copy(struct ri_arena *arena, const char *text, size_t length)
{
	char *copy = ri_arena_alloc(arena, length + 1);

	if (copy != NULL)
		memcpy(copy, text, length);
	return copy;
}

char *ri_arena_number(struct ri_arena *arena, uint64_t number)
{
	char digits[20];	/* of UINT64_MAX */
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	return ri_arena_copy(arena, digits + at, sizeof(digits) - at);
}

char *ri_arena_format(struct ri_arena *arena, const char *format, ...)
{
	va_list args;
	char *result;
	int length;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	result = length < 0 ? NULL : ri_arena_alloc(arena, (size_t)length + 1);
	if (result == NULL)
		return NULL;
	va_start(args, format);
	vsnprintf(result, (size_t)length + 1, format, args);
	va_end(args);
	return result;
}

size_t ri_arena_size(const struct ri_arena *arena)
{
	size_t size = 0;

	for (const struct ri_arena_chunk *chunk = arena->chunks; chunk; chunk = chunk->next)
		size += chunk->size;
	return size;
}

void ri_arena_release(struct ri_arena *arena)
{
	struct ri_arena_chunk *chunk, *next;
	/* what was not given out is zero still */
	size_t given = arena->chunks == NULL ? arena->used : sizeof(arena->first);

	for (chunk = arena->chunks; chunk != NULL; chunk = next) {
		next = chunk->next;
		munmap(chunk, chunk->size);
	}
	memset(arena, 0, offsetof(struct ri_arena, first) + given);
}

static void *map(size_t size, int flags)
{
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
		flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

void *ri_pages(size_t size)
{
	return map(size, MAP_PRIVATE);
}

void *ri_pages_shared(size_t size)
{
	return map(size, MAP_SHARED);
}
