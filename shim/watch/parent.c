/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/parent.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "command/words.h"
#include "watch/descendants.h"

/* proc(5), "exe"; ptrace(2): not shown of a process of another user to one without privileges. */
static bool read_program(const struct ri_procstat *process, char *out, size_t size)
{
	char link[32];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)process->pid);
	length = readlink(link, out, size - 1);
	if (length < 0)
		return false;
	out[length] = '\0';
	return true;
}

const char *ri_parent_shell(const struct ri_procstat *process)
{
	char program[PATH_MAX];

	return ri_word_shell(read_program(process, program, sizeof(program)) ? program :
			     process->name);
}

/*
 * A shell without job control lets what it starts with "&" ignore SIGINT (POSIX, Shell Command
 * Language, 2.11), unless it ignores that itself.
 */
static bool runs_in_background(const struct ri_procstat *process, const struct ri_procstat *shell)
{
	const uint64_t bit = UINT64_C(1) << (SIGINT - 1);

	return (process->ignored & bit) != 0 && (shell->ignored & bit) == 0;
}

bool ri_parent_stops(const struct ri_procstat *process)
{
	char program[PATH_MAX];
	struct ri_procstat parent;

	if (!ri_descendants_read_parent(process, &parent) || parent.dying ||
		!read_program(&parent, program, sizeof(program)))
		return false;
	return ri_word_shell(program) == NULL || runs_in_background(process, &parent);
}
