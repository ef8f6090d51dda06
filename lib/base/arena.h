/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One region for everything that lives until the command is started. Nothing is freed singly; the
 * first RI_ARENA_FIRST bytes, enough for an ordinary start, cost no system call.
 */
#ifndef RI_BASE_ARENA_H
#define RI_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

enum { RI_ARENA_FIRST = 32768 };

struct ri_arena_chunk;

/* Initialise with zeroes (static storage will do); release to reuse. */
struct ri_arena {
	struct ri_arena_chunk *chunks;	/* mapped ones, newest first */
	size_t used;			/* of the newest chunk, or of first[] */
	_Alignas(16) unsigned char first[RI_ARENA_FIRST];
};

/* size bytes, zeroed, aligned to 16. NULL only when out of memory. */
void *ri_arena_alloc(struct ri_arena *arena, size_t size);

/* count objects of size bytes; NULL when out of memory or past SIZE_MAX. */
void *ri_arena_array(struct ri_arena *arena, size_t count, size_t size);

/* A copy of length bytes of text, and a '\0' after them. */
char *ri_arena_copy(struct ri_arena *arena, const char *text, size_t length);

/* A number in decimal: a start writes dozens, and printf() is slow. NULL when out of memory. */
char *ri_arena_number(struct ri_arena *arena, uint64_t number);

/* A string made by a format. NULL only when out of memory. */
char *ri_arena_format(struct ri_arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* How much memory it takes beside its own. */
size_t ri_arena_size(const struct ri_arena *arena);

/* Give everything back; all pointers into the arena are dead. */
void ri_arena_release(struct ri_arena *arena);

/*
 * Zeroed memory for what is large and seldom needed, which as a static array would belong to every
 * start, and count for RLIMIT_AS. It is never given back; a page of it is taken when it is written
 * to. NULL where there is none. Not while ranks run: what they need is reserved before. What is
 * shared is so with processes that are forked from now on.
 */
void *ri_pages(size_t size);
void *ri_pages_shared(size_t size);

#endif
