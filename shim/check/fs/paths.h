/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths that the environment and the command name as the job's data or as the
 * place of its results, and what they are mounted from. The table of mounts
 * tells that; no file below a mount is touched, which may not answer.
 */
#ifndef RI_SHIM_CHECK_FS_PATHS_H
#define RI_SHIM_CHECK_FS_PATHS_H

#include "base/mounts.h"
#include "check/check.h"

enum ri_path_use {
	RI_PATH_DATA,
	RI_PATH_OUTPUT,
};

struct ri_named_path {
	const char *subject;	/* the variable or the option, of length bytes */
	size_t length;
	const char *path;	/* as it is named, absolute or not */
	bool guessed;		/* a word of the command that may be data, by our guess alone */
	bool relative;		/* it was named so, and may be no path but a name */
};

/* The next one from *at on, which is 0 at first. No system call. False when there is none left. */
bool ri_path_next(const struct ri_checking *checking, enum ri_path_use use, size_t *at,
	struct ri_named_path *out);

/*
 * The same, with a path that is absolute: the working directory's goes before
 * it, and is that of the command. Those for which nothing tells it, as on a
 * recorded machine, are passed over. The path lasts until the next call.
 */
bool ri_path_find(const struct ri_checking *checking, enum ri_path_use use, size_t *at,
	struct ri_named_path *out);

/* The subject as a result shows it. */
const char *ri_path_subject(const struct ri_named_path *named, char out[64]);

/*
 * The mount that a path is on, also where a link of it leads into one. False
 * where nothing tells. The strings last until the next call.
 */
bool ri_path_mount(const struct ri_checking *checking, const char *path, struct ri_mount *out);

#endif
