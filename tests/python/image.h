/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded image: lines as in /proc/PID/maps, "%%", and then "ADDRESS SIZE\n", so many bytes
 * and "\n" for each piece of memory (image.py writes them). Anything that is none is an image
 * with less in it.
 */
#ifndef RI_TESTS_PYTHON_IMAGE_H
#define RI_TESTS_PYTHON_IMAGE_H

#include <stdlib.h>
#include <string.h>

#include "python/python.h"

enum { IMAGE_PIECES = 1024 };

struct image {
	struct ri_python_maps maps;
	struct { uint64_t address; size_t size; unsigned char *bytes; } pieces[IMAGE_PIECES];
	size_t count;
	unsigned long reads;
};

/* All bytes must lie in one piece. */
static bool image_read(void *context, uint64_t address, void *out, size_t size)
{
	struct image *image = context;

	image->reads++;
	for (size_t i = 0; i < image->count; i++) {
		uint64_t offset = address - image->pieces[i].address;

		if (offset < image->pieces[i].size && size <= image->pieces[i].size - offset) {
			memcpy(out, image->pieces[i].bytes + offset, size);
			return true;
		}
	}
	return false;
}

/* The pieces lie in text, which ends in '\0'. */
static void image_open(struct image *image, char *text, size_t size)
{
	char *end = text + size, *at = strstr(text, "%%\n");

	memset(&image->maps, 0, sizeof(image->maps));
	image->count = 0;
	image->reads = 0;
	if (at == NULL)
		at = end;
	for (char *line = text, *stop; line < at; line = stop + 1) {
		stop = line + strcspn(line, "\n");
		stop = stop < at ? stop : at;
		/* the '%' of what follows has been found already */
		*stop = '\0';
		ri_python_maps_add(&image->maps, line);
	}
	at += at < end ? 3 : 0;
	while (at < end && image->count < IMAGE_PIECES) {
		char *rest, *line = memchr(at, '\n', (size_t)(end - at));
		uint64_t address = strtoull(at, &rest, 16), length = strtoull(rest, NULL, 10);

		if (line == NULL || length >= (size_t)(end - line))
			break;
		image->pieces[image->count].address = address;
		image->pieces[image->count].size = length;
		image->pieces[image->count++].bytes = (unsigned char *)line + 1;
		at = line + 1 + length + 1;
	}
}

#endif
