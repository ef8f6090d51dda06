/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of ours that others read: the report, the state. A regular file is
 * replaced in one step, so that no reader finds half of one. Nothing here
 * waits for a reader longer than RI_PATIENCE_MS, and no failure does more than
 * to return -1 with errno.
 */
#ifndef RI_SHIM_WHOLE_FILE_H
#define RI_SHIM_WHOLE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "model/topology.h"
#include "options.h"

enum { RI_PATIENCE_MS = 1000 };

struct ri_whole_file {
	const char *path;	/* absolute, no symbolic link */
	const char *new_path;	/* beside it; what is written before it is renamed */
	bool in_place;		/* a device, a pipe, /dev/stderr: never replaced */
};

/*
 * The file that an option names: %r, %l, %n and %h stand for what is known
 * of this process (output/pattern.h), and a relative name counts from where
 * rankinit was started. RI_CODE_OPTION_VALUE, REPORT_REFUSED or MEMORY.
 */
int ri_whole_file_prepare(struct ri_whole_file *file, const struct ri_word *option,
	const struct ri_topology *topology, struct ri_arena *arena, struct ri_error *err);

/* Could it be written now? RI_CODE_REPORT_REFUSED if not. */
int ri_whole_file_check(const struct ri_whole_file *file, const struct ri_word *option,
	struct ri_error *err);

/* Write it: replace a regular file, add to what is none. */
int ri_whole_file_write(const struct ri_whole_file *file, const char *bytes, size_t length);

/* Write to a descriptor that is already open, which may be a pipe or a socket. */
int ri_write_patiently(int fd, const char *bytes, size_t length);

#endif
