/* SPDX-License-Identifier: Apache-2.0 */
/* An option of rankinit's behind the command: is it perhaps the script's? */
#ifndef RI_SHIM_LAUNCH_SCRIPT_OPTION_H
#define RI_SHIM_LAUNCH_SCRIPT_OPTION_H

#include <stdbool.h>

#include "command/command.h"

/*
 * Can the option "--log-prefix" among the words of the command be meant for rankinit
 * alone? Yes where its scripts, of Python or a shell, do not mention the option and
 * hand their arguments on to no other program, or are not there. In doubt it is no.
 * Looks at few words, and for half a second at most.
 */
bool ri_script_option_is_for_us(const struct ri_command *command, const char *option);

#endif
