/* SPDX-License-Identifier: Apache-2.0 */
/* Is the command a program for several ranks, which was started as any other one? */
#ifndef RI_SHIM_LAUNCH_ASKS_RANK_H
#define RI_SHIM_LAUNCH_ASKS_RANK_H

#include "command/command.h"

/* Note the working folder, which rankinit leaves, if this is a program of Python's. */
void ri_asks_rank_prepare(const struct ri_command *command);

/*
 * The script of Python among its words, if that takes RANK from its environment and does not do
 * without it; or NULL, also in doubt. Reads the file, which takes half a second at most.
 * A relative path is one of the noted folder.
 */
const char *ri_asks_rank(const struct ri_command *command);

#endif
