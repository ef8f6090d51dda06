/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor COMMAND [ARG]...: the least that an init has to do, as a yardstick.
 * It blocks every signal, starts COMMAND, forwards, reaps, and passes the
 * status on. No options, no PATH search, no terminal, no error messages.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct start {
	char **argv;
	sigset_t mask;
};

/* Runs on our memory until exec, so it may only make system calls. */
static int child_main(void *data)
{
	struct start *start = data;

	setpgid(0, 0);
	sigprocmask(SIG_SETMASK, &start->mask, NULL);
	execve(start->argv[0], start->argv, environ);
	_exit(127);
}

static int exit_status(int status)
{
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status);
}

static void reap(pid_t child)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == child)
			_exit(exit_status(status));
}

int main(int argc, char **argv)
{
	static char stack[16384] __attribute__((aligned(16)));
	struct start start = {.argv = argv + 1};
	sigset_t all;
	pid_t child;
	int sig;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &start.mask);
	if (argc < 2)
		return 125;
	child = clone(child_main, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &start);
	if (child < 0)
		return 125;
	for (;;) {
		sig = sigwaitinfo(&all, NULL);
		if (sig == SIGCHLD)
			reap(child);
		else if (sig > 0)
			kill(child, sig);
	}
}
