/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a rank that a launcher started: torch's error file, and what it has open as stderr
 * where that is a file, as torchrun's --redirects and --tee make it. The helper that watches the
 * ranks asks for them, as their user: a mount that does not answer holds that alone.
 */
#ifndef RI_SHIM_INIT_RANK_FILES_H
#define RI_SHIM_INIT_RANK_FILES_H

#include <sys/types.h>

#include "report/launched.h"

enum { RI_RANK_PATH = 512 };	/* bytes of a path, and its end; a longer one is left out */

struct ri_rank_files {
	char error[RI_RANK_PATH];	/* torch's, absolute; or "" */
	char said[RI_RANK_PATH];	/* a regular file that it has open as stderr; or "" */
	dev_t device;		/* of that */
	ino_t inode;
	off_t from;		/* what stood there before may be another job's */
};

/*
 * Find them while the rank lives. A relative name in TORCHELASTIC_ERROR_FILE counts from the folder
 * of its parent, which made the name (torch/distributed/elastic/multiprocessing/api.py).
 */
void ri_rank_files_find(pid_t pid, pid_t parent, struct ri_rank_files *out);

/*
 * Read the last whole lines that the file has got since. Sets all of *out but .item. Returns false
 * where there is no such file, or it is another one by now.
 */
bool ri_rank_files_read(const struct ri_rank_files *files, struct ri_launched_stream *out);

#endif
