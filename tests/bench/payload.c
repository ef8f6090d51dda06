/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payload [hear | sleep]: the command that every init is measured with.
 *
 * Without an argument it writes the time of its main() to descriptor 3, 8
 * bytes of CLOCK_MONOTONIC, and exits. "hear" says R, then one letter for
 * each signal that arrives: U (USR1, goes on), T (TERM, ends), W (WINCH,
 * ends). "sleep" sleeps until it is killed.
 */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void say(const void *data, size_t size)
{
	/* There may be nobody listening, as in a count of system calls. */
	if (write(3, data, size) < 0)
		return;
}

static void stamp(void)
{
	struct timespec ts;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	say(&now, sizeof(now));
}

/*
 * sigwaitinfo() takes the lowest pending number first, so a WINCH (28) that
 * was sent after a TERM (15) is never seen before it.
 */
static int hear(void)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
	say("R", 1);
	for (;;) {
		sig = sigwaitinfo(&set, NULL);
		if (sig == SIGUSR1)
			say("U", 1);
		else if (sig > 0)
			break;
	}
	say(sig == SIGTERM ? "T" : "W", 1);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		stamp();
	else if (!strcmp(argv[1], "hear"))
		return hear();
	else
		for (;;)
			pause();
	return 0;
}
