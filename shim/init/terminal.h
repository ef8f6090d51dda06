/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job control: the terminal goes to the command's process group while ours
 * would have it, and comes back when it stops or ends. A terminal that is not
 * ours to give (a background start, another session) is left alone, and every
 * error is harmless.
 *
 * Where we are a part of somebody's pipeline (not PID 1, and the terminal is
 * not both stdin and stdout), taking the terminal would stop the others: then
 * the command shares our process group, and gets what the terminal sends
 * without our help.
 */
#ifndef RI_SHIM_INIT_TERMINAL_H
#define RI_SHIM_INIT_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

struct ri_terminal {
	int fd;			/* 0, 1 or 2; -1: there is none to give, now or later */
	bool is_front;		/* our process group has it now */
	pid_t own_group;
	bool shared;		/* the command stays in our process group */
	bool keeps;		/* it is stdin, and had these modes while we had it */
	struct termios modes;
};

/* Look for the controlling terminal, and whether our process group has it. */
void ri_terminal_find(struct ri_terminal *terminal, pid_t self);

/* Leave it with our own process group, in which the ranks shall stay. */
void ri_terminal_share(struct ri_terminal *terminal);

/* Give it to a group, if we still have it. */
void ri_terminal_lend(const struct ri_terminal *terminal, pid_t group);

/* Take it back from that group, unless somebody else gave it on meanwhile. */
void ri_terminal_take(const struct ri_terminal *terminal, pid_t group);

/*
 * Give it the modes that it had when it was found, unless another job of our shell has it by
 * now: the reader was killed, perhaps in a line editor or a debugger, whose own modes echo
 * nothing.
 */
void ri_terminal_reset(const struct ri_terminal *terminal);

/* Take it back from a child that was given it and failed to start. */
void ri_terminal_restore(const struct ri_terminal *terminal);

/*
 * Stop this process as the terminal's suspend character would. Returns true
 * when it was continued, and false at once where no process could do so: the kernel
 * does not stop an orphaned process group.
 */
bool ri_terminal_suspend_self(void);

/*
 * Where it is wanted, stop this process after one of the stops of job control was
 * forwarded, until somebody continues it; the kernel never stops process 1.
 */
void ri_terminal_stop_too(bool wanted, int number);

/*
 * A child stopped, by this signal: Ctrl-Z. The terminal goes back to our parent, and we stop as
 * well. Where no process could continue us, as never process 1, none could continue the command
 * either: then the key does nothing. Other stops are the sender's own business, and so is a SIGTSTP
 * that was sent to us (asked). A process that wants a terminal without an owner gets it from
 * process 1, since there is no shell to do so.
 */
void ri_terminal_follow(const struct ri_terminal *terminal, pid_t group, bool asked, int number);

#endif
