/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host files as mpirun, DeepSpeed and schedulers write them: on each line a
 * host and perhaps words such as slots=8; a '#' starts a comment. A host that
 * stands on several lines (one for each slot) is one host, at its first place.
 */
#ifndef RI_FROM_HOSTFILE_H
#define RI_FROM_HOSTFILE_H

#include <stddef.h>

#include "base/arena.h"

struct ri_hostfile {
	const char *const *hosts;	/* in order, each once */
	size_t count;
	size_t bad_line;	/* counted from 1; 0 where all lines are good */
};

/*
 * Read the text. Returns 0, or -1 when out of memory. Where a line is neither
 * host nor comment, count is 0 and bad_line says which. The names live in the
 * arena.
 */
int ri_hostfile_read(struct ri_hostfile *out, const char *text, struct ri_arena *arena);

#endif
