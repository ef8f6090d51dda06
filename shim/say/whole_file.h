/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of ours that others read: the report, the state. A regular file is
 * replaced in one step, so that no reader finds half of one. Nothing here
 * waits for a reader longer than RI_PATIENCE_MS, and no failure does more than
 * to return -1 with errno.
 */
#ifndef RI_SHIM_SAY_WHOLE_FILE_H
#define RI_SHIM_SAY_WHOLE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "model/topology.h"
#include "options/options.h"
#include "system/held_path.h"

enum { RI_PATIENCE_MS = 1000 };

struct ri_whole_file {
	const char *path;	/* absolute, for messages */
	struct ri_held_path spot;
	bool in_place;		/* a device, a pipe, /dev/stderr: never replaced */
	dev_t device;		/* of these, so that nothing else is written to */
	ino_t inode;
	mode_t mode;		/* 0: by the umask; else a new one has it, and is on the disk */
};

/*
 * The path that an option names: %r, %l, %n and %h stand for what is known
 * of this process (output/output.h), and a relative name counts from where
 * rankinit was started. NULL with RI_CODE_OPTION_VALUE, REPORT_REFUSED or
 * MEMORY.
 */
const char *ri_whole_file_name(const struct ri_given *option, const struct ri_topology *topology,
	struct ri_arena *arena, struct ri_error *err);

/*
 * Find it, and see whether it could be written now. Its folder is held open
 * from here on (held_path.h, watch/supervise.c). RI_CODE_REPORT_REFUSED.
 */
int ri_whole_file_find(struct ri_whole_file *file, const char *path, const char *subject,
	struct ri_arena *arena, struct ri_error *err);

/*
 * Give what stands there another name, with ".before" or such behind it, so that no reader takes
 * an earlier start's file for the one that this start will write. A file that is written in place
 * stays, and so does one that cannot be renamed.
 */
void ri_whole_file_set_aside(const struct ri_whole_file *file, const char *suffix);

/*
 * Write it: replace a regular file, add to what is none. It is written where
 * it was found, whatever became of the names on the way there; a folder that
 * was removed since is looked for again, as ri_held_path_renew has it.
 */
int ri_whole_file_write(struct ri_whole_file *file, const char *bytes, size_t length);

/* Write to a descriptor that is already open, which may be a pipe or a socket. */
int ri_write_patiently(int fd, const char *bytes, size_t length);

#endif
