/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file for each rank in which torch may say why it failed: the path that
 * TORCHELASTIC_ERROR_FILE names (torch/distributed/elastic/multiprocessing/
 * errors/error_handler.py), in a folder of our own below TMPDIR, or
 * /dev/shm or /tmp. Without a place to write there are none, and nothing is
 * said about it.
 */
#ifndef RI_SHIM_SAY_TORCH_FILE_H
#define RI_SHIM_SAY_TORCH_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "base/env.h"
#include "base/text.h"
#include "system/held_path.h"

#define RI_TORCH_FILE "TORCHELASTIC_ERROR_FILE"

struct ri_torch_files {
	const char *folder;	/* NULL: there are none */
	const char *tmpdir;	/* TMPDIR, or NULL */
	struct ri_held_path spot;	/* the folder's, held open as it is itself */
	int fd;
	size_t count;		/* of ranks; the caller's to say, as the next two */
	uid_t uid;		/* which may write there; -1: as rankinit is */
	gid_t gid;
	struct ri_torch_read *read;	/* what was read of each rank; NULL: nothing yet */
};

enum { RI_TORCH_FILE_SIZE = 262144 };	/* a larger file is not read */

struct ri_torch_read {
	size_t length;		/* 0: there is nothing that can be used */
	char bytes[RI_TORCH_FILE_SIZE];
};

/*
 * Make the folder. None is made where the variable is set already: then the file is the user's.
 * The three functions that go to TMPDIR give up after some seconds where its mount does not
 * answer; there are no files from then on. Returns 0, or -1 for a stop that came meanwhile.
 */
int ri_torch_files_make(struct ri_torch_files *files, const struct ri_env *env,
	struct ri_arena *arena);

/* The path for a local rank; NULL: there are no files, or no memory. */
const char *ri_torch_files_path(const struct ri_torch_files *files, size_t local_rank,
	struct ri_arena *arena);

/*
 * Read such a file whole, which has a path from that folder on (AT_FDCWD: ours). Returns its
 * length, 0 where it is none of regular form and one name, is larger than size or empty, or was
 * written after that end (CLOCK_REALTIME), by another. owner: of this user alone; -1: of any.
 */
size_t ri_torch_file_take(int folder, const char *path, struct timespec ended, uid_t owner,
	char *out, size_t size);

/*
 * When the ranks are gone: what a local rank wrote, which ended then (CLOCK_REALTIME). Returns
 * false where that is nothing, too large, no regular file or one with other names, or where it was
 * written after that end: by another rank. stopped: a stop came, and another one changes nothing.
 */
bool ri_torch_files_read(struct ri_torch_files *files, size_t local_rank, struct timespec ended,
	bool stopped, struct ri_span *out);

/*
 * What a judge reads of them another one finds again, though the files have gone since. Without
 * memory each reads them for itself.
 */
void ri_torch_files_keep(struct ri_torch_files *files);

/* Take the files and their folder away; somebody else's in it stay. */
void ri_torch_files_remove(struct ri_torch_files *files, bool stopped);

#endif
