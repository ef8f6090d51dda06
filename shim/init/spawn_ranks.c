/* SPDX-License-Identifier: Apache-2.0 */
#include "init/spawn_ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "init/terminal.h"
#include "system/held_path.h"

int ri_ranks_open_input(struct ri_error *err)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		int why = errno;

		ri_fail(err, RI_CODE_FILE_UNREADABLE, "/dev/null", "cannot be opened: %s",
			strerror(why));
		ri_fail_hint(err, "start the container with an engine, which gives it a /dev, or "
			"in a root of your own: mount --rbind /dev ROOT/dev");
		return ri_fail_errno(err, why);
	}
	/* a closed standard input is closed for the first rank, too */
	fd = ri_fd_move_up(fd);
	if (fd < 0)
		ri_fail(err, RI_CODE_FILE_UNREADABLE, "/dev/null", "cannot be kept open: %s",
			strerror(errno));
	return fd;
}

static pid_t spawn(const struct ri_ranks_start *start, size_t index, struct ri_error *err)
{
	const struct ri_rank *rank = start->ranks == NULL ? NULL : &start->ranks[index];
	char *const *argv = start->launch->argv;
	char **envp = start->launch->envp;
	pid_t pid;

	ri_output_give(start->output, index, start->launch);
	if (rank != NULL)
		start->launch->cpus = rank->cpus;
	if (index > 0) {
		start->launch->argv = rank->argv;
		start->launch->envp = rank->envp;
	}
	pid = ri_launch_spawn(start->launch, err);
	if (!start->launch->hangs) {
		start->launch->argv = argv;
		start->launch->envp = envp;
	}
	return pid;
}

int ri_ranks_spawn(const struct ri_ranks_start *start, struct ri_error *err)
{
	int others_read = start->launch->input;
	pid_t pid = 0;

	/* the first one may have ours, the others would fight over it */
	if (start->children->count > 1 && ri_terminal_may_read())
		start->launch->input = -1;
	for (size_t i = 0; i < start->children->count && pid >= 0 && !start->launch->hangs; i++) {
		pid = spawn(start, i, err);
		start->launch->input = others_read;
		if (pid > 0)
			ri_children_add(start->children, pid);
	}
	ri_output_given(start->output);
	return pid < 0 ? -1 : 0;
}
