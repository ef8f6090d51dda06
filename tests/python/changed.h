/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded image, what lib/python finds in it, and how a unit test changes it. */
#ifndef RI_TESTS_PYTHON_CHANGED_H
#define RI_TESTS_PYTHON_CHANGED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "image.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct image image;
static char text[65536];
static struct ri_python python;
static struct ri_python_threads threads;
static struct ri_python_frame frames[32];

static void open_image(const char *name)
{
	char path[128];
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "tests/fuzz/corpus/python/%s", name);
	file = fopen(path, "rbe");
	assert_non_null(file);
	size = fread(text, 1, sizeof(text) - 1, file);
	text[size] = '\0';
	assert_int_equal(fclose(file), 0);
	image_open(&image, text, size);
}

static inline enum ri_python_answer find(void)
{
	const struct ri_python_memory memory = { image_read, &image };

	return ri_python_find(&python, &memory, &image.maps);
}

/* The bytes of an image from an address on. */
static inline unsigned char *at(uint64_t address)
{
	for (size_t i = 0; i < image.count; i++)
		if (address - image.pieces[i].address < image.pieces[i].size)
			return image.pieces[i].bytes + (address - image.pieces[i].address);
	fail_msg("nothing at %#lx", (unsigned long)address);
	return NULL;
}

static inline void put(uint64_t address, uint64_t value)
{
	memcpy(at(address), &value, sizeof(value));
}

static inline void open_found(const char *name)
{
	open_image(name);
	assert_int_equal(find(), RI_PYTHON_OK);
	assert_int_equal(ri_python_threads(&python, NULL, &threads), RI_PYTHON_OK);
}

/* The word at an offset of what lies at an address. */
static inline uint64_t word_at(uint64_t address)
{
	uint64_t word;

	memcpy(&word, at(address), sizeof(word));
	return word;
}

#endif
