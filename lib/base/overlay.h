/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What --simulate gives each rankinit that it starts, in the variable RANKINIT_SIMULATED:
 * the machine that it plays. A JSON object; what else stands in it is left alone.
 *
 *     name       of the machine, instead of its host name
 *     files      an object: the text of each path, read instead of the machine's own file;
 *                /proc/net/fib_trie and /proc/net/if_inet6 say which address is its own
 *     from       when it comes, in milliseconds of CLOCK_MONOTONIC; 0: it is there
 *     job        what tells this job from others that are simulated here; or left out
 *     unfit      the start of the ranks, 1 the first, for which it is not fit; or left out
 *
 * It stays in the environment of what they start: another rankinit below them plays
 * the same machine.
 */
#ifndef RI_BASE_OVERLAY_H
#define RI_BASE_OVERLAY_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/host.h"

#define RI_OVERLAY_VARIABLE "RANKINIT_SIMULATED"

struct ri_overlay {
	const char *name;
	const struct ri_host_file *files;	/* end with a NULL path */
	uint64_t from_ms;
	const char *job;			/* or NULL */
	uint64_t unfit;				/* 0: it is always fit */
};

/* Read its value. RI_CODE_OPTION_VALUE where it is none; its texts live in the arena. */
int ri_overlay_read(struct ri_overlay *out, const char *text, struct ri_arena *arena,
	struct ri_error *err);

/* Read it, and play that machine from here on. */
int ri_overlay_play(struct ri_host *host, struct ri_overlay *out, const char *text,
	struct ri_arena *arena, struct ri_error *err);

/* The same as text, in the arena; NULL when out of memory. */
char *ri_overlay_write(const struct ri_overlay *overlay, struct ri_arena *arena);

#endif
