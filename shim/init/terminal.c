/* SPDX-License-Identifier: Apache-2.0 */
#include "init/terminal.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "system/mask.h"

void ri_terminal_find(struct ri_terminal *terminal, pid_t self)
{
	bool is_tty[3] = { false };

	*terminal = (struct ri_terminal){ .fd = -1 };
	for (int fd = 0; fd <= 2; fd++) {
		pid_t group;

		/* fails for everything but our session's controlling terminal */
		is_tty[fd] = ioctl(fd, TIOCGPGRP, &group) == 0;
		if (!is_tty[fd] || terminal->own_group != 0)
			continue;
		terminal->own_group = getpgrp();
		terminal->is_front = group == terminal->own_group;
		terminal->fd = fd;
	}
	terminal->keeps = terminal->fd == STDIN_FILENO && terminal->is_front &&
		tcgetattr(STDIN_FILENO, &terminal->modes) == 0;
	if (self != 1 && !(is_tty[0] && is_tty[1]))
		ri_terminal_share(terminal);
}

void ri_terminal_share(struct ri_terminal *terminal)
{
	terminal->shared = terminal->fd >= 0;
	terminal->fd = -1;
	terminal->is_front = false;
}

/* Move the terminal from one process group to another, if the first has it. */
static void pass_on(const struct ri_terminal *terminal, pid_t from, pid_t to)
{
	pid_t now;

	if (terminal->fd >= 0 && ioctl(terminal->fd, TIOCGPGRP, &now) == 0 && now == from)
		ioctl(terminal->fd, TIOCSPGRP, &to);
}

void ri_terminal_lend(const struct ri_terminal *terminal, pid_t group)
{
	pass_on(terminal, terminal->own_group, group);
}

void ri_terminal_take(const struct ri_terminal *terminal, pid_t group)
{
	pass_on(terminal, group, terminal->own_group);
}

/* After a shell's bg another job has it, with modes of its own; below process 1 there is none. */
void ri_terminal_reset(const struct ri_terminal *terminal)
{
	pid_t now;

	if (terminal->keeps && (getpid() == 1 ||
		(ioctl(STDIN_FILENO, TIOCGPGRP, &now) == 0 && now == terminal->own_group)))
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal->modes);
}

void ri_terminal_restore(const struct ri_terminal *terminal)
{
	if (terminal->is_front)
		ioctl(terminal->fd, TIOCSPGRP, &terminal->own_group);
}

bool ri_terminal_suspend_self(void)
{
	/* a shell's fg came first: stopping now would throw its SIGCONT away */
	if ((ri_mask_pending() & RI_MASK_OF(SIGCONT)) != 0)
		return true;
	kill(getpid(), SIGTSTP);
	ri_mask_set(RI_MASK_ALL & ~RI_MASK_OF(SIGTSTP));
	ri_mask_set(RI_MASK_ALL);
	/* what continued us is in the queue */
	return (ri_mask_pending() & RI_MASK_OF(SIGCONT)) != 0;
}

void ri_terminal_stop_too(bool wanted, int number)
{
	if (wanted && (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU))
		kill(getpid(), SIGSTOP);
}

void ri_terminal_follow(const struct ri_terminal *terminal, pid_t group, bool asked, int number)
{
	bool goes_on = number == SIGTSTP && !asked;
	pid_t now;

	if (terminal->fd < 0)
		return;
	if (getpid() == 1) {
		/* it gets it where we have it, or no process is left in the group that does */
		if (number == SIGTTIN || number == SIGTTOU)
			goes_on = ioctl(terminal->fd, TIOCGPGRP, &now) == 0 && now > 0 &&
				(now == terminal->own_group ||
				(kill(-now, 0) < 0 && errno == ESRCH)) &&
				ioctl(terminal->fd, TIOCSPGRP, &group) == 0;
	} else {
		ri_terminal_take(terminal, group);
		goes_on = ri_terminal_suspend_self() || goes_on;
		ri_terminal_lend(terminal, group);
	}
	if (goes_on)
		kill(-group, SIGCONT);
}
