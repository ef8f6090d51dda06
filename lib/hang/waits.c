/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/judge.h"

#include <stdbool.h>
#include <string.h>

static const struct ri_wait_row rows[] = {
#define RI_WAIT(kind_, file_, function_, reach_) \
	{ RI_WAIT_##kind_, file_, function_, reach_ },
#include "hang/waits.def"
#undef RI_WAIT
};

const char *ri_wait_name(const char *function)
{
	const char *dot = strrchr(function, '.');

	return dot == NULL ? function : dot + 1;
}

/* The end of a path, or a folder in it. */
static bool is_file(const char *path, const char *part)
{
	size_t length = strlen(path), tail = strlen(part);

	if (part[tail - 1] == '/')
		return strstr(path, part) != NULL;
	return length >= tail && strcmp(path + length - tail, part) == 0;
}

const struct ri_wait_row *ri_wait_find(const char *file, const char *function, size_t inner)
{
	const char *name = ri_wait_name(function);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ri_wait_row *row = &rows[i];

		if (inner <= row->reach && is_file(file, row->file) &&
			(row->function[0] == '*' || strcmp(row->function, name) == 0))
			return row;
	}
	return NULL;
}
