/* SPDX-License-Identifier: Apache-2.0 */
/* What --simulate cannot be used with, and what is not as on the platform. */
#ifndef RI_SHIM_PLAY_REFUSE_H
#define RI_SHIM_PLAY_REFUSE_H

#include "base/env.h"
#include "base/finding.h"
#include "command/command.h"
#include "options/options.h"

/*
 * Refuse a simulation inside a real job, other options and commands that have no meaning
 * beside it; *command is what the command is. RI_CODE_OPTION_CONFLICT or COMMAND_MISSING.
 */
int ri_simulate_check(const struct ri_options *options, const struct ri_env *env,
	struct ri_command *command, struct ri_error *err);

/* A warning of files that the nodes share here alone, and of requirements that are not checked. */
void ri_simulate_judge(const struct ri_options *options, struct ri_findings *findings);

#endif
