/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root/ of a capture: copies of what was opened below the root of a machine, with
 * the symbolic links on the way, and an entry for what a listed folder holds. A file
 * that was not read is empty there; a device node is a file with the mode by which
 * base/host.h knows whether it could be opened. Nothing is written through a link.
 */
#ifndef RI_SHIM_SAY_CAPTURE_TREE_H
#define RI_SHIM_SAY_CAPTURE_TREE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/host.h"

/* Make it in this folder, which stays the caller's. Fails with RI_CODE_CAPTURE_REFUSED. */
int ri_capture_tree_begin(int folder, const char *subject, struct ri_error *err);

/* A file with this line in it, in place of what may be there. Path is without ".." here. */
void ri_capture_put(const char *path, const char *line);

/* A symbolic link. What cannot be made is left out. */
void ri_capture_link(const char *path, const char *target);

/* struct ri_host's tell: what was opened is copied. */
void ri_capture_tell(const struct ri_host *host, const char *path, int flags, int error);

/* How many files and links were made; *left_out: how many lines left-out has. */
size_t ri_capture_count(size_t *left_out);

#endif
