/* SPDX-License-Identifier: Apache-2.0 */
/* May the command start ranks that are no children of ours, and who starts them? */
#ifndef RI_SHIM_LAUNCH_STARTS_RANKS_H
#define RI_SHIM_LAUNCH_STARTS_RANKS_H

#include <stdbool.h>

#include "command/command.h"

enum ri_starter {
	RI_STARTER_NONE,
	RI_STARTER_LAUNCHER,
	RI_STARTER_RAY,		/* the command is a driver, whose last exception says who failed */
};

/*
 * A launcher may, and so may a shell whose line or script names one: "bash -c 'torchrun train.py'".
 * A program of Python's that imports ray is a driver of Ray. Reads the first bytes of a script,
 * which takes half a second at most.
 */
enum ri_starter ri_starts_ranks(const struct ri_command *command);

#endif
