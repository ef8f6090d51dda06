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

int ri_ranks_spawn(const struct ri_rank *ranks, struct ri_launch *launch,
	struct ri_children *children, struct ri_output *output, struct ri_error *err)
{
	char *const *argv = launch->argv;
	char **envp = launch->envp;
	int others_read = launch->input;
	pid_t pid = 0;

	/* the first one may have ours, the others would fight over it */
	if (children->count > 1 && ri_terminal_may_read())
		launch->input = -1;
	for (size_t i = 0; i < children->count && pid >= 0 && !launch->hangs; i++) {
		ri_output_give(output, i, launch);
		if (ranks != NULL)
			launch->cpus = ranks[i].cpus;
		if (i > 0) {
			launch->argv = ranks[i].argv;
			launch->envp = ranks[i].envp;
		}
		pid = ri_launch_spawn(launch, err);
		launch->input = others_read;
		if (pid > 0)
			ri_children_add(children, pid);
	}
	/* one that hangs before its exec reads them yet */
	if (!launch->hangs) {
		launch->argv = argv;
		launch->envp = envp;
	}
	ri_output_given(output);
	return pid < 0 ? -1 : 0;
}
