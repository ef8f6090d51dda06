/* SPDX-License-Identifier: Apache-2.0 */
/* May the command start ranks that are no children of ours? */
#ifndef RI_SHIM_LAUNCH_STARTS_RANKS_H
#define RI_SHIM_LAUNCH_STARTS_RANKS_H

#include <stdbool.h>

#include "command/command.h"

/*
 * A launcher may, and so may a shell whose line or script names one: "bash -c 'torchrun train.py'".
 * Reads the first bytes of a script, which takes half a second at most.
 */
bool ri_starts_ranks(const struct ri_command *command);

#endif
