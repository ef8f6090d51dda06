/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host files as launchers and schedulers write them: on each line a host, and
 * how many ranks it takes as "slots=8" (Open MPI, DeepSpeed), "host:8" (Hydra,
 * Intel MPI) or by as many lines (PBS, LSF); a '#' starts a comment. A host
 * that stands on several lines is one host, at its first place.
 */
#ifndef RI_FROM_HOSTFILE_H
#define RI_FROM_HOSTFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct ri_hostfile {
	const char *const *hosts;	/* in order, each once */
	size_t count;
	const uint32_t *slots;	/* of each of them */
	size_t bad_line;	/* counted from 1; 0 where all lines are good */
};

/*
 * Read the text. A line that does not say how many slots there are stands for
 * one. Returns 0, or -1 when out of memory. Where a line is neither host nor
 * comment, count is 0 and bad_line says which. The names live in the arena.
 */
int ri_hostfile_read(struct ri_hostfile *out, const char *text, struct ri_arena *arena);

/* The slots that each host from that index on has; 0 where they differ or there is none. */
uint32_t ri_hostfile_share(const struct ri_hostfile *file, size_t from);

#endif
