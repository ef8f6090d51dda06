/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight/unasked.h"

#include <string.h>

#include "check/choose.h"
#include "command/words.h"
#include "system/log.h"
#include "system/said.h"

/* As a command: what stands around it is a blank, a sign of the shell's, or '/' before it. */
static bool has_rankinit(const char *word)
{
	static const char name[] = "rankinit", signs[] = " \t\n;&|(){}'\"`$";
	const char *at = word;

	for (; (at = strstr(at, name)) != NULL; at++) {
		char after = at[strlen(name)];

		if ((at == word || at[-1] == '/' || strchr(signs, at[-1]) != NULL) &&
			strchr(signs, after) != NULL)	/* the end, too */
			return true;
	}
	return false;
}

/* A rankinit among the words, the text of sh -c too: it gets what was not looked at. */
static bool names_rankinit(char *const *words)
{
	for (; words != NULL && *words != NULL; words++)
		if (has_rankinit(*words))
			return true;
	return false;
}

/* A shell that is given nothing to run, as in docker run -it IMAGE bash. */
static bool is_plain_shell(char *const *words)
{
	if (words == NULL || ri_word_shell(*words) == NULL)
		return false;
	for (words++; *words != NULL; words++)
		if ((*words)[0] != '-')
			return false;
	return true;
}

/* Why nothing is looked at, and what to do about it. */
static const char *explain(const struct ri_topology *topology, const struct ri_command *command)
{
	if (ri_topology_is_beside(topology))
		return "this process is not a rank of the job; check the node with rankinit "
			"--check";
	if (command->mode == RI_MODE_NONE)
		return "this process starts the ranks of the whole job and is not a rank itself; "
		       "put rankinit before the program that it starts";
	return "this process is not recognised as part of a job; check the node with rankinit "
	       "--check, or make a job of one rank with --nproc-per-node=1";
}

void ri_unasked_say(const struct ri_options *options, const struct ri_topology *topology,
	const struct ri_command *command)
{
	const struct ri_given *require = &options->checks.require;
	bool always = !require->twin || options->action != RI_ACTION_LAUNCH;

	if (require->value == NULL || (require->twin && is_plain_shell(options->command)) ||
		options->wishes.source.value != NULL || names_rankinit(options->command))
		return;
	ri_log(always || !ri_was_said("unchecked") ? RI_LEVEL_WARNING : RI_LEVEL_NOTE,
		"%s: requirements not checked: %s [%s]", require->subject,
		explain(topology, command), ri_code_name(RI_CODE_CHECK_UNASKED));
}

void ri_unasked_say_off(const struct ri_check_wishes *wishes)
{
	const char *id;

	if (wishes->pick == RI_CHECK_PICK_NONE) {
		ri_log(RI_LEVEL_WARNING, "%s: requirements not checked, because %s=none turns "
			"off all checks; this node may be unfit [%s]", wishes->require.subject,
			wishes->checks.subject, ri_code_name(RI_CODE_CHECK_UNASKED));
		return;
	}
	id = ri_checks_turned_off(wishes);
	if (id != NULL)
		ri_log(RI_LEVEL_WARNING, "%s: %s is not checked, because %s turns it off [%s]",
			wishes->require.subject, id, wishes->checks.subject,
			ri_code_name(RI_CODE_CHECK_UNASKED));
}
