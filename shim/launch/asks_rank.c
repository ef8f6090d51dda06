/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/asks_rank.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launch/script_text.h"

static char folder[PATH_MAX];	/* "": unknown */

void ri_asks_rank_prepare(const struct ri_command *command)
{
	if (command->is_python && getcwd(folder, sizeof(folder)) == NULL)
		folder[0] = '\0';
}

static bool has_one(struct ri_span text, const char *const *words)
{
	for (; *words != NULL; words++)
		if (memmem(text.at, text.length, *words, strlen(*words)) != NULL)
			return true;
	return false;
}

/*
 * torch's init_process_group() without arguments for its place takes that from RANK
 * (torch/distributed/rendezvous.py, _env_rendezvous_handler).
 */
static bool asks_rank(struct ri_span text)
{
	static const char *const asks[] = {
		"init_process_group(", "environ[\"RANK\"]", "environ['RANK']", NULL,
	};
	/* looks whether it is there, sets it, or hands the place on by itself */
	static const char *const copes[] = {
		"\"RANK\" in", "'RANK' in", "\"RANK\" not in", "'RANK' not in",
		"get(\"RANK\"", "get('RANK'", "getenv(\"RANK\"", "getenv('RANK'",
		"setdefault(\"RANK\"", "setdefault('RANK'",
		"environ[\"RANK\"] =", "environ['RANK'] =",
		"(rank=", ",rank=", " rank=", "\nrank=", "spawn(", "except KeyError", NULL,
	};

	return has_one(text, asks) && !has_one(text, copes);
}

static bool script_asks_rank(const char *word)
{
	char path[PATH_MAX];

	if (word[0] == '/')
		return ri_script_holds(word, asks_rank);
	return folder[0] != '\0' &&
		snprintf(path, sizeof(path), "%s/%s", folder, word) < (int)sizeof(path) &&
		ri_script_holds(path, asks_rank);
}

const char *ri_asks_rank(const struct ri_command *command)
{
	const char *script = command->script;

	return command->is_python && script != NULL && script_asks_rank(script) ? script : NULL;
}
