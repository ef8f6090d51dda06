/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pidns < VARIANTS: starts every variant as PID 1 of a PID namespace of its
 * own, all at once, prints "NAME<tab>PID" for each as seen from outside, and
 * ends them all when SIGTERM or SIGINT says so. With the one argument "wait"
 * there is one variant only, and it is waited for.
 */
#include "bench.h"

static void block(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigprocmask(SIG_BLOCK, set, NULL);
}

int main(int argc, char **argv)
{
	struct bench_child children[BENCH_VARIANTS];
	struct variant *variants;
	int count = bench_read_variants(&variants);
	int wait_only = argc > 1 && !strcmp(argv[1], "wait");
	int status = 0, null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	sigset_t set;

	/* Whoever started us may be killed; then nobody would end us. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	for (int i = 0; i < count; i++) {
		children[i] = bench_start(&variants[i], null, NULL);
		bench_release(&children[i]);
		printf("%s\t%d\n", variants[i].name, children[i].pid);
	}
	fflush(stdout);
	if (wait_only) {
		waitpid(children[0].pid, &status, 0);
		return !!status;
	}
	/* After the starts: a blocked signal would be inherited. */
	block(&set);
	sigwaitinfo(&set, NULL);
	for (int i = 0; i < count; i++)
		bench_kill(&children[i]);
	return 0;
}
