/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables in the command's arguments. A container's CMD is no shell, so
 * `--local_rank $LOCAL_RANK` arrives as it was written.
 */
#ifndef RI_COMMAND_EXPAND_H
#define RI_COMMAND_EXPAND_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/env.h"

enum ri_expand {
	/* "$NAME" and "${NAME}" alone, and what ends in "=$NAME" or "=${NAME}" */
	RI_EXPAND_AUTO,
	RI_EXPAND_ALL,	/* wherever they stand in an argument */
	RI_EXPAND_OFF,
};

/*
 * The words of a command with each NAME that stands in variables, and is not
 * removed there, replaced by its value. All other text stays, byte for byte:
 * there is no quoting, "$$" and "\$" mean nothing, and what was put in is not
 * looked at again. argv[0], the command itself, stays. Returns argv where
 * nothing changes, else a new list; NULL when out of memory.
 */
char *const *ri_expand_words(char *const *argv, enum ri_expand how,
	const struct ri_env_edits *variables, struct ri_arena *arena);

#endif
