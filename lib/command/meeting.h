/* SPDX-License-Identifier: Apache-2.0 */
/* Where the nodes of a launcher meet, by its own words and variables. */
#ifndef RI_COMMAND_MEETING_H
#define RI_COMMAND_MEETING_H

#include <stdbool.h>

#include "base/env.h"
#include "command/command.h"

/* Both take NULL for a command that is no launcher. */

/*
 * Was torchrun told not to look beyond this process: --standalone, or
 * --nnodes=1, or PET_STANDALONE=1?
 */
bool ri_meeting_is_here(const struct ri_command *command, const struct ri_env *env);

/*
 * Was the launcher told where to meet by its words, or torchrun by PET_RDZV_*?
 * Then no other launcher has to know.
 */
bool ri_meeting_is_told(const struct ri_command *command, const struct ri_env *env);

#endif
