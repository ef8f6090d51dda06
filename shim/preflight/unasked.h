/* SPDX-License-Identifier: Apache-2.0 */
/* What was required of this node and is not checked: a warning says so. */
#ifndef RI_SHIM_PREFLIGHT_UNASKED_H
#define RI_SHIM_PREFLIGHT_UNASKED_H

#include "command/command.h"
#include "model/topology.h"
#include "options/options.h"

/*
 * This process is not one of a job, so the node is not looked at. An image's
 * RANKINIT_REQUIRE is not for a shell in it, and goes on to a rankinit that the
 * command is or starts: then there is no warning. A --require on the command line is
 * for this process. Of all services of a container the first one says it.
 */
void ri_unasked_say(const struct ri_options *options, const struct ri_topology *topology,
	const struct ri_command *command);

/*
 * --checks=none turns off all checks, or a level of off one that is required by its
 * id: a user who does so is told what that leaves out.
 */
void ri_unasked_say_off(const struct ri_check_wishes *wishes);

#endif
