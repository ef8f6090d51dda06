/* SPDX-License-Identifier: Apache-2.0 */
#include "command/meeting.h"

#include <stddef.h>
#include <string.h>

bool ri_meeting_is_here(const struct ri_command *command, const struct ri_env *env)
{
	/* parsed as a number (PyTorch torch/distributed/argparse_util.py, check_env) */
	const char *variable = ri_env_get(env, "PET_STANDALONE"), *nodes = NULL;

	if (command == NULL || command->launcher == NULL || !command->launcher->reads_pet)
		return false;
	if (variable != NULL && strcmp(variable, "1") == 0)
		return true;
	if (ri_command_has(command, "--standalone", NULL))
		return true;
	return ri_command_has(command, "--nnodes", &nodes) && nodes != NULL &&
		(strcmp(nodes, "1") == 0 || strcmp(nodes, "1:1") == 0);
}

bool ri_meeting_is_told(const struct ri_command *command, const struct ri_env *env)
{
	/* of torchrun, composer and deepspeed; accelerate; fabric */
	static const char *const words[] = {
		"--master-addr", "--rdzv-endpoint", "--rdzv-conf", "--main-process-ip",
		"--main-address",
	};
	static const char *const variables[] = { "PET_RDZV_ENDPOINT", "PET_RDZV_CONF" };

	if (command == NULL || command->launcher == NULL)
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (ri_command_mentions(command, words[i]))
			return true;
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (command->launcher->reads_pet && ri_env_get(env, variables[i]) != NULL)
			return true;
	return false;
}
