/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the other process, for the files of this folder alone. */
#ifndef RI_PYTHON_REMOTE_H
#define RI_PYTHON_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "python/python.h"

/* All of these bytes, or false. The first page is never asked for: no pointer leads there. */
bool ri_python_read(struct ri_python *python, uint64_t address, void *out, size_t size);

/*
 * At least so many bytes, and as many of size as lie in the same page, since what is there is
 * there as a whole. Returns how many, 0: not even the least.
 */
size_t ri_python_read_some(
	struct ri_python *python, uint64_t address, void *out, size_t least, size_t size);

/* One word of a struct that lies at an address. */
struct ri_python_word {
	uint32_t offset;	/* RI_PYTHON_NO: it is 0 and not read */
	uint64_t value;
};

/* All of them, in one read where they lie together. */
bool ri_python_words(
	struct ri_python *python, uint64_t address, struct ri_python_word *words, size_t count);

/* A way along a list of the process's, which may lead in a circle (R. P. Brent, 1980). */
struct ri_python_way {
	uint64_t mark;
	size_t steps, turn;
};

/* The way has come to this address. False: it was there before, or goes on for too long. */
bool ri_python_way_on(struct ri_python_way *way, uint64_t address, size_t most);

#endif
